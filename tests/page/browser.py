"""Headless Chromium, and what the tests ask of a page in it."""
import contextlib
import json

from launcher import wait_until
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.chrome.service import Service

__all__ = ['Browser', 'Keys']

NARROW = 500  # pixels: below that it is a telephone


class Browser:
    def __init__(self):
        options = webdriver.ChromeOptions()
        options.binary_location = '/usr/bin/chromium'
        # Tests may run as root, and where /dev/shm is small.
        for argument in ('--headless=new', '--no-sandbox', '--disable-dev-shm-usage', '--disable-background-networking',
                         '--disable-component-update', '--disable-sync', '--no-first-run'):
            options.add_argument(argument)
        options.set_capability('goog:loggingPrefs', {'browser': 'ALL', 'performance': 'ALL'})
        self.driver = webdriver.Chrome(service=Service('/usr/bin/chromedriver'), options=options)
        self.driver.set_script_timeout(60)
        self.size()

    def size(self, width=1280, height=860):
        self.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', {
            'width': width, 'height': height, 'deviceScaleFactor': 1, 'mobile': width < NARROW})

    def dress(self, scheme):
        """'light' or 'dark'."""
        self.driver.execute_cdp_cmd('Emulation.setEmulatedMedia', {
            'features': [{'name': 'prefers-color-scheme', 'value': scheme}]})

    def open(self, site, address='', live=True):
        self.driver.get('about:blank')
        self.driver.get(site.url + address)
        if live:
            self.wait('the page is live', lambda: self.text('#connection') == 'Live')

    @contextlib.contextmanager
    def before_pages(self, script):
        """Runs the script before the scripts of each page."""
        added = self.driver.execute_cdp_cmd('Page.addScriptToEvaluateOnNewDocument', {'source': script})
        try:
            yield
        finally:
            self.driver.execute_cdp_cmd('Page.removeScriptToEvaluateOnNewDocument', added)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return self.run('return document.querySelector(arguments[0])?.textContent ?? null', selector)

    def texts(self, selector):
        return self.run('return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)', selector)

    def count(self, selector):
        return self.run('return document.querySelectorAll(arguments[0]).length', selector)

    def ids(self):
        """Of the rows that stand in the document."""
        return self.texts('.rows tbody tr:not(.gap) td:first-child a')

    def wait(self, what, condition):
        try:
            return wait_until(what, condition)
        except TimeoutError:
            raise TimeoutError(f'{what}: {self.run("return document.body.innerText")[:2000]}') from None

    def press(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def focused(self):
        """The text or the name of what has the focus."""
        return self.run('const e = document.activeElement; return e.getAttribute("aria-label") ?? e.textContent')

    def address(self):
        return self.run('return location.hash')

    def logged(self):
        """What the page has written to the console since the last call; refused answers of the server are told by the
        browser itself."""
        return [entry['message'] for entry in self.driver.get_log('browser') if 'Failed to load resource' not in entry['message']]

    def hosts(self):
        """Those that requests were made to since the last call."""
        hosts = set()
        for entry in self.driver.get_log('performance'):
            message = json.loads(entry['message'])['message']
            if message['method'] != 'Network.requestWillBeSent':
                continue
            url = message['params']['request']['url']
            if url.startswith(('http:', 'https:', 'ws:', 'wss:')):
                hosts.add(url.split('/')[2])
        return hosts

    def controls(self):
        """The accessible name and role of all that can be operated, as the browser tells a screen reader."""
        nodes = self.driver.execute_cdp_cmd('Accessibility.getFullAXTree', {})['nodes']
        roles = {'button', 'link', 'searchbox', 'textbox', 'combobox', 'PopUpButton', 'MenuListPopup', 'meter', 'table',
                 'columnheader', 'navigation', 'main', 'dialog', 'heading', 'complementary'}
        return [(node['role']['value'], node.get('name', {}).get('value', '')) for node in nodes
                if not node.get('ignored') and node['role']['value'] in roles]

    def picture(self, path):
        self.driver.save_screenshot(str(path))

    def close(self):
        self.driver.quit()
