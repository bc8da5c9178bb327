"""Ten thousand nodes."""
import pytest

from browser import Keys
from installation import Site, hosts
from launcher import wait_until

NODES = 10_000


@pytest.fixture(scope='module')
def large_site(tmp_path_factory):
    site = Site(tmp_path_factory.mktemp('large') / 'site', [hosts('rack', 100, 'small', jobs=100)], ['small'])
    site.start()
    wait_until('all nodes are registered', lambda: site.get('/node-list?fields=id')[1].count('| 0') == NODES, 300)
    yield site
    site.stop()


def test_rows_in_the_document_are_few_and_scrolling_is_smooth(large_site, browser):
    browser.open(large_site, '#/nodes')
    browser.wait('all nodes are known', lambda: browser.text('.found') == '10,000 nodes')
    assert browser.find('.rows table').get_attribute('aria-rowcount') == '10001'
    # To the end in 60 steps: what is seen is there in the frame after next, and never more than fits, or little more.
    steps = browser.driver.execute_async_script('''
        const done = arguments[arguments.length - 1];
        const box = document.querySelector('.rows');
        const steps = [];
        const frame = () => new Promise(requestAnimationFrame);
        (async () => {
          for (let i = 0; i <= 60; i += 1) {
            box.scrollTop = (box.scrollHeight - box.clientHeight) * i / 60;
            await frame();
            await frame();
            const area = box.getBoundingClientRect();
            const seen = document.elementFromPoint(area.left + 60, area.top + area.height / 2).closest('tr');
            steps.push([document.querySelectorAll('.rows tbody tr').length, seen?.getAttribute('aria-rowindex') ?? '']);
          }
          done(steps);
        })();''')
    assert max(rows for rows, _ in steps) < 100
    middles = [int(index) for _, index in steps]
    assert middles == sorted(middles)
    assert middles[0] < 50 and middles[-1] > NODES - 50
    assert browser.ids()[-1] == browser.run('return document.querySelector(".rows tbody tr:nth-last-child(2) a").textContent')


def test_the_keyboard_reaches_the_last_row(large_site, browser):
    browser.open(large_site, '#/nodes')
    browser.wait('the nodes', lambda: browser.ids())
    browser.run('document.querySelector(".rows tbody a").focus()')
    browser.press(Keys.END)
    browser.wait('the last one', lambda: browser.run('return document.activeElement.closest("tr").ariaRowIndex') == str(NODES + 1))
    browser.press(Keys.PAGE_UP, Keys.ARROW_UP)
    assert int(browser.run('return document.activeElement.closest("tr").ariaRowIndex')) > NODES - 60
    browser.press(Keys.HOME)
    browser.wait('the first one', lambda: browser.run('return document.activeElement.closest("tr").ariaRowIndex') == '2')


def test_the_keyboard_begins_at_the_first_visible_row(large_site, browser):
    browser.open(large_site, '#/nodes')
    browser.wait('the nodes', lambda: browser.ids())
    browser.run('document.querySelector(".rows").scrollTop = 3400')
    browser.wait('others are seen', lambda: '0000000100' in browser.ids())
    browser.press(Keys.PAGE_DOWN)
    assert int(browser.run('return document.activeElement.closest("tr").ariaRowIndex')) > 100


def test_a_change_among_them_is_shown_and_keeps_the_scroll_position(large_site, browser):
    browser.open(large_site, '#/nodes?sort=-state')
    browser.wait('the nodes', lambda: len(browser.ids()) > 10)
    browser.run('document.querySelector(".rows").scrollTop = 3400')
    browser.wait('others are seen', lambda: '0000000100' in browser.ids())
    before = browser.run('return document.querySelector(".rows").scrollTop')
    request = large_site.ask('small', lease='1h')
    large_site.wait_for_state(request, 'fulfilled')
    node = large_site.call('GET', f'requests/{request}')['lease']['nodes'][0]['id']
    browser.wait('that is counted', lambda: '1 in use' in browser.text('#summary'))
    assert browser.run('return document.querySelector(".rows").scrollTop') == before
    browser.open(large_site, '#/nodes?state=in-use')
    browser.wait('only that one', lambda: browser.ids() == [node])
    large_site.withdraw(request)
