"""Where the site wants a token."""
import pytest

from browser import Keys
from installation import TOKEN, Site, hosts, token_file


@pytest.fixture
def private_site(tmp_path):
    site = Site(tmp_path / 'site', [hosts('rack', 2, 'small')], ['small'],
                api={'tokens': token_file(tmp_path), 'anonymous-read': False})
    site.start()
    yield site
    site.stop()


@pytest.mark.smoke
def test_the_page_asks_for_a_token_and_keeps_it_for_the_tab(private_site, browser):
    for path in ('/page/rows', '/page/changes', '/page/build-log?image=a&build=b'):
        assert private_site.get(path)[0] == 401
    browser.open(private_site, '#/nodes', live=False)
    browser.wait('it asks', lambda: browser.find('#token-dialog').is_displayed())
    assert browser.text('#token-problem') == 'A token is required'
    assert browser.count('.rows tbody tr:not(.gap)') == 0
    browser.press('nonsense', Keys.ENTER)
    browser.wait('that was not it', lambda: 'unknown' in browser.text('#token-problem')
                 and browser.find('#token-dialog').is_displayed())
    browser.press(TOKEN, Keys.ENTER)
    browser.wait('the nodes', lambda: len(browser.ids()) == 2)
    browser.open(private_site, '#/nodes')
    browser.wait('it is kept', lambda: len(browser.ids()) == 2)
    assert TOKEN not in browser.driver.current_url
    assert browser.run('return localStorage.length + document.cookie.length') == 0
    browser.find('#token').click()
    browser.wait('it was forgotten', lambda: browser.find('#token-dialog').is_displayed())
