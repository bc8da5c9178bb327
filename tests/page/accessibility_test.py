"""What axe-core, a checker of the rules of WCAG, finds on the page: nothing."""
import pathlib
import subprocess

import pytest

SUPPORT = pathlib.Path(__file__).parents[1] / 'support'
ROUTES = ['overview', 'requests', 'nodes', 'labels', 'providers', 'images', 'hosts', 'failures', 'daemons',
          'nodes/0000000000', 'labels/debian', 'nodes?q=nothing-has-this']


@pytest.fixture(scope='module')
def axe():
    """The checker's program."""
    modules = subprocess.run([SUPPORT / 'node_packages', 'page'], check=True, stdout=subprocess.PIPE,
                             text=True).stdout.strip()
    return (pathlib.Path(modules) / 'axe-core/axe.min.js').read_text()


def findings(browser):
    """One line for each element that breaks a rule. axe runs in the world of the test, as the page's policy allows
    no script but its own."""
    result = browser.driver.execute_async_script('''
        const done = arguments[arguments.length - 1];
        axe.run(document, {resultTypes: ['violations']}).then(done, (error) => done({error: String(error)}));''')
    assert 'error' not in result, result['error']
    assert len(result['passes']) > 10  # it has looked at the page
    return [f'{rule["id"]}: {rule["help"]}: {node["target"]} {node["failureSummary"]}' for rule in result['violations']
            for node in rule['nodes']]


def check(browser, axe):
    browser.run(axe)
    return findings(browser)


@pytest.mark.parametrize('width', [390, 1280])
@pytest.mark.parametrize('scheme', ['light', 'dark'])
def test_axe_finds_nothing(site, browser, request_of_three, axe, scheme, width):
    browser.size(width, 860)
    browser.dress(scheme)
    found = {}
    for route in ROUTES:
        browser.open(site, f'#/{route}')
        browser.wait('something is there', lambda: browser.text('#main h1'))
        found[route] = check(browser, axe)
    assert {route: list_ for route, list_ in found.items() if list_} == {}


def test_axe_finds_what_is_wrong(site, browser, axe):
    browser.open(site)
    browser.run('''const image = document.createElement('img');
                   document.querySelector('main').append(image);''')
    assert any(line.startswith('image-alt') for line in check(browser, axe))
