"""The status page as people have it: by eye, by keyboard, by screen reader, on a telephone."""
import os
import pathlib
import re

import pytest

from browser import Keys
from installation import TOKEN

SECTIONS = ['overview', 'requests', 'nodes', 'labels', 'providers', 'images', 'hosts', 'failures', 'daemons']


@pytest.mark.smoke
def test_a_request_comes_waits_with_its_reason_and_goes(site, browser, request_of_three):
    browser.open(site, '#/requests')
    waiting = site.ask('fedora', lease='1h')
    browser.wait('the request is there', lambda: waiting in browser.ids())
    browser.wait('it is said why it waits', lambda: any('the pool is full: instances: 3 used + 1 needed, limit 3' in text
                                                        for text in browser.texts('.rows tbody tr')))
    browser.open(site, f'#/requests/{waiting}')
    browser.wait('its queue position', lambda: '1 of 1' in browser.text('#detail'))
    browser.wait('its explanation', lambda: 'Explanation' in browser.texts('#detail h3'))
    browser.wait('its history', lambda: 'requested' in browser.text('#detail'))
    site.withdraw(waiting)
    browser.wait('it has gone', lambda: waiting not in browser.ids())
    browser.wait('that is said', lambda: 'Not found' in browser.text('#detail'))


def test_a_node_is_shown_with_its_holder_and_the_stages_of_its_launch(site, browser, request_of_three):
    browser.open(site, '#/nodes?provider=cloud-north&state=in-use')
    browser.wait('three nodes are in use', lambda: len(browser.ids()) == 3)
    assert 'the nightly build' in browser.text('.rows tbody')
    browser.find('.rows tbody a').click()
    browser.wait('the stages', lambda: browser.texts('.stages li > span:first-child')
                 == ['requested', 'accepted', 'reserved', 'launch started', 'ready', 'in use'])
    assert request_of_three in browser.text('#detail')
    browser.wait('the explanation', lambda: 'next: ' in browser.texts('#detail .statements .name'))
    assert 'labels: ' not in browser.texts('#detail .statements .name')  # the panel has them above


def test_nodes_are_filtered_by_words_and_choices_and_the_address_keeps_it(site, browser, request_of_three):
    browser.open(site, '#/nodes')
    browser.wait('all nodes', lambda: browser.text('.found') == '9 nodes')
    browser.find('input[type=search]').send_keys('nightly north')
    browser.wait('the words count', lambda: browser.text('.found') == '3 of 9 nodes')
    assert browser.address() == '#/nodes?q=nightly+north'
    browser.open(site, '#/nodes?label=bare-metal&q=127.0.0.2')
    browser.wait('as the address says', lambda: browser.text('.found') == '2 of 9 nodes')
    assert browser.find('select[aria-label=Label]').get_property('value') == 'bare-metal'
    browser.find('input[type=search]').clear()
    browser.find('input[type=search]').send_keys('nobody')
    browser.wait('nothing is left', lambda: browser.text('.empty') == 'No matches. Change the filter.')


def test_rows_are_sorted_by_any_column_and_back(site, browser):
    browser.open(site, '#/hosts')
    browser.wait('the hosts', lambda: len(browser.ids()) == 4)

    def sort_by(title):
        browser.run('''[...document.querySelectorAll('th button')].find((b) => b.textContent === arguments[0]).click()''', title)

    sort_by('Provider / pool')
    browser.wait('ascending', lambda: browser.text('.rows tbody tr:not(.gap) td:nth-child(3)') == 'cellar / main')
    assert browser.find('th[aria-sort=ascending]').text.startswith('Provider')
    sort_by('Provider / pool')
    browser.wait('descending', lambda: browser.text('.rows tbody tr:not(.gap) td:nth-child(3)') == 'rack / main')
    assert browser.find('th[aria-sort=descending]').text.startswith('Provider')
    assert browser.address() == '#/hosts?sort=-provider'


@pytest.mark.smoke
def test_unhealthy_hosts_come_first_with_the_reason(site, browser):
    browser.open(site, '#/hosts')
    browser.wait('the host', lambda: browser.count('.rows tbody tr:not(.gap)') == 4)
    browser.wait('what is wrong', lambda: 'Connection refused' in (browser.text('.rows tbody tr:not(.gap)') or ''))
    browser.open(site, '#/overview')
    browser.wait('it is said on the first page', lambda: 'Connection refused' in browser.text('[aria-label="Needs attention"]'))


def test_a_slot_of_a_machine_is_no_static_host(site, browser):
    browser.open(site)
    assert browser.driver.execute_async_script('''
        const done = arguments[arguments.length - 1];
        import('/page/records.js').then(({isOfStaticHost}) => done(
            [{slot: true, host: 'h', machine: 'h'}, {slot: true}, {slot: true, host: 'h', machine: '0000000007'},
             {host: 'h', machine: 'h'}].map((node) => Boolean(isOfStaticHost(node)))));''') == [True, True, False, False]


STREAM_OF_THE_TEST = r"""
    const ask = window.fetch;
    window.fetch = async (path, options) => {
      if (!String(path).startsWith('page/changes')) return ask(path, options);
      return new Response(new ReadableStream({start(controller) {
        window.tell = (name, data) => controller.enqueue(new TextEncoder().encode(`event: ${name}\ndata: ${data}\n\n`));
      }}));
    };"""


def test_an_odd_record_does_not_hide_the_others(site, browser, request_of_three):
    """As another program may have written it: without labels, at a time that no date has."""
    with browser.before_pages(r"""
            const ask = window.fetch;
            window.fetch = async (path, options) => {
              const response = await ask(path, options);
              if (!String(path).startsWith('page/rows') || !response.ok) return response;
              const all = await response.json();
              const odd = ['requested', 'pending'].map((state, i) => ({id: `100-000000000${i}`, state, since: 1e300, created: 1e300}));
              (all.rows.request ??= []).push(...odd);
              return Response.json(all);
            };"""):
        waiting = site.ask('fedora', lease='1h')
        browser.open(site, '#/requests')
        browser.wait('all requests', lambda: {'100-0000000000', '100-0000000001', waiting} <= set(browser.ids()))
        site.withdraw(waiting)
        browser.open(site, '#/requests/100-0000000001')
        browser.wait('its details', lambda: browser.text('#detail-title') == '100-0000000001')


SHADE = 'return getComputedStyle(document.querySelector("main")).filter'


def test_data_of_a_launcher_that_is_gone_are_grey_with_their_time(site, browser):
    with browser.before_pages(r"""
            const ask = window.fetch;
            window.fetch = (path, options) => {
              if (window.isGone) return Promise.reject(new TypeError('no response'));
              if (!String(path).startsWith('page/changes')) return ask(path, options);
              return Promise.resolve(new Response(new ReadableStream({start(controller) {
                controller.enqueue(new TextEncoder().encode(':\n\n'));
                window.leave = () => { window.isGone = true; controller.error(new TypeError('gone')); };
              }})));
            };"""):
        browser.open(site)
        assert browser.run(SHADE) == 'none'
        browser.run('window.leave()')
        browser.wait('that is said', lambda: browser.text('#connection').startswith('No response, retrying; as of '))
        assert re.fullmatch(r'\d\d:\d\d:\d\d', browser.text('#connection').split('as of ')[1])
        assert browser.run(SHADE) == 'grayscale(1)'


def test_a_lost_store_is_not_live(site, browser):
    with browser.before_pages(STREAM_OF_THE_TEST):
        browser.open(site)
        browser.run('window.tell("stale", JSON.stringify({reason: "The launcher has lost its store"}))')
        browser.wait('that is said', lambda: browser.text('#connection') == 'The launcher has lost its store')
        assert 'lost' in browser.find('#connection').get_attribute('class')
        browser.run('window.tell("current", "{}")')
        browser.wait('the store is back', lambda: browser.text('#connection') == 'Live')


def test_a_server_that_never_answers_is_noticed(site, browser):
    """Instead of 40 seconds, the page waits for one."""
    with browser.before_pages(r"""
            const later = window.setTimeout;
            window.setTimeout = (call, time, ...rest) => later(call, time === 40000 ? 1000 : time, ...rest);
            const ask = window.fetch;
            window.fetch = (path, options) => (String(path).startsWith('page/rows') ? new Promise((resolve, reject) => {
              options.signal?.addEventListener('abort', () => reject(options.signal.reason));
            }) : ask(path, options));"""):
        browser.open(site, live=False)
        browser.wait('that is said', lambda: browser.text('#connection') == 'No response, retrying')


def test_failures_have_their_reason(site, browser):
    request = site.ask('broken', lease='1h')
    site.wait_for_state(request, 'failed')
    browser.open(site, '#/failures')
    browser.wait('the failures', lambda: request in browser.ids())
    assert 'the fake cloud fails on purpose' in browser.text('.rows tbody')
    browser.run('[...document.querySelectorAll(".rows tbody a")].find((a) => a.textContent === arguments[0]).click()', request)
    browser.wait('the whole reason', lambda: 'the fake cloud fails on purpose' in browser.text('#detail .note'))
    assert browser.text('#detail-title') == f'request {request}'
    browser.open(site, f'#/requests/{request}')
    browser.wait('by whom it was declined', lambda: 'Every pool has declined it' in browser.text('#detail'))
    assert 'Decisions of the pools' not in browser.texts('#detail h3')  # the explanation has them


def test_providers_have_bars_for_what_they_may_take(site, browser, request_of_three):
    browser.open(site, '#/providers')
    browser.wait('the limits', lambda: '3 of 3' in browser.text('#provider-cloud-north'))
    meters = {name for role, name in browser.controls() if role == 'meter'}
    assert {'instances', 'volumes'} <= meters
    assert 'allocates static hosts' in browser.text('#provider-rack')


LATE_TRENDS = r"""
    const ask = window.fetch;
    const due = new Promise((resolve) => { window.sendTrends = resolve; });
    window.fetch = async (path, options) => {
      if (!String(path).startsWith('page/trends')) return ask(path, options);
      await due;
      const begin = Math.floor(Date.now() / 1000) - 1200;
      const [waiting, in_use, ready, launching, failed] = [[0, 0], [1, 2], [3, 1], [0, 1], [0, 1]];
      const series = ['cellar', 'cloud-north', 'cloud-south', 'rack'].map((name) => ({name, waiting, in_use, ready, launching, failed}));
      return Response.json({begin, first: begin, steps: 2, step: 600, series});
    };"""


def test_a_link_to_a_provider_shows_its_card(site, browser):
    """Also after the charts have arrived, with which all cards grow."""
    browser.size(390, 844)
    with browser.before_pages(LATE_TRENDS):
        browser.open(site, '#/providers/rack')
        browser.wait('the card is marked', lambda: browser.texts('.card.chosen h2') == ['rack'])
        assert browser.focused() == 'rack'
        assert browser.count('.card.chosen .chart') == 0
        browser.run('window.sendTrends()')
        browser.wait('the charts', lambda: browser.count('.card.chosen .chart') == 2)
        place = browser.run('return document.querySelector(".card.chosen").getBoundingClientRect()')
        assert 0 <= place['top'] and place['bottom'] <= 844
        browser.run('location.hash = "#/providers/cellar"')
        browser.wait('the other card', lambda: browser.texts('.card.chosen h2') == ['cellar'])
        assert browser.focused() == 'cellar'


def test_an_image_that_was_never_built_is_listed_with_the_next_step(site, browser):
    browser.open(site, '#/images/debian-image')
    browser.wait('the image', lambda: 'never built' in browser.text('.rows tbody'))
    assert 'nodepool image-build debian-image' in browser.text('#detail')


def test_the_dashboard_is_linked(site, browser):
    browser.open(site)
    assert browser.find('#dashboard').get_attribute('href') == 'https://grafana.example.org/d/nodepool'


def test_images_have_their_builds_uploads_and_logs(site, browser):
    site.builder.start()
    try:
        browser.open(site, '#/images/debian-image')
        browser.wait('it is uploaded', lambda: '1 ready' in browser.text('.rows tbody'))
        browser.wait('details', lambda: 'cloud-north' in browser.text('#detail'))
        browser.wait('its log', lambda: browser.count('#detail .build button') > 0)
        browser.find('#detail .build button').click()
        browser.wait('it needs a token', lambda: browser.find('#token-dialog').is_displayed())
        browser.press(TOKEN, Keys.ENTER)
        browser.wait('the log is shown', lambda: 'token' not in (browser.text('#detail .log') or 'token')
                     and browser.text('#detail .log') != 'Reading…')
        assert 'does not have' not in browser.text('#detail .log')
        browser.run('sessionStorage.clear()')
        browser.open(site, '#/daemons')
        browser.wait('the builder is alive', lambda: 'builder' in browser.text('.rows tbody'))
    finally:
        site.builder.stop(number=15)
    browser.wait('the builder has gone', lambda: 'builder' not in browser.text('.rows tbody'))


def test_a_label_has_its_pools_nodes_and_requests(site, browser, request_of_three):
    waiting = site.ask('debian', lease='1h')
    browser.open(site, '#/labels/debian')
    browser.wait('who waits', lambda: waiting in browser.text('#detail'))
    assert 'cloud-north' in browser.text('#detail')
    assert '3 nodes, 0 of them free' in browser.text('#detail')
    site.withdraw(waiting)


@pytest.mark.smoke
def test_everything_is_done_by_keyboard(site, browser, request_of_three):
    browser.open(site)
    browser.press(Keys.TAB)
    assert browser.focused() == 'Skip to the content'
    before = browser.driver.current_url
    browser.press(Keys.ENTER)
    assert browser.run('return document.activeElement.id') == 'main'
    assert browser.driver.current_url == before
    browser.run("document.querySelector('.skip').focus()")
    browser.press(*[Keys.TAB] * 6)  # past the name, the dashboard and the button for a token
    assert browser.focused().startswith('Nodes')
    browser.press(Keys.ENTER)
    browser.wait('the nodes', lambda: len(browser.ids()) == 9)
    browser.press('/')
    assert browser.focused() == 'Filter nodes'
    browser.press('cloud-north')
    browser.wait('they are filtered', lambda: len(browser.ids()) == 3)
    # Past the choices and the heads of the columns to the rows, which are one stop.
    first, second = browser.ids()[:2]
    for _ in range(30):
        browser.press(Keys.TAB)
        if browser.focused() == first:
            break
    assert browser.focused() == first
    browser.press(Keys.ARROW_DOWN)
    assert browser.focused() == second
    browser.press(Keys.ENTER)
    browser.wait('its details', lambda: browser.text('#detail-title') == second)
    assert browser.focused() == second  # the heading of the details
    browser.press(Keys.ESCAPE)
    browser.wait('they are closed', lambda: not browser.find('#detail').is_displayed())
    assert browser.focused() == second
    browser.press(Keys.END)
    assert browser.focused() == browser.ids()[-1]


def test_the_keyboard_leads_to_the_rows(site, browser):
    browser.open(site, '#/nodes?provider=rack')
    browser.wait('the nodes', lambda: browser.ids())
    first, last = browser.ids()[0], browser.ids()[-1]
    browser.press(Keys.END)
    assert browser.focused() == last
    browser.open(site, '#/nodes?provider=rack')
    browser.wait('the nodes', lambda: browser.ids())
    browser.press(Keys.ARROW_DOWN)
    assert browser.focused() == first
    for key in (Keys.ARROW_DOWN, Keys.ENTER):
        browser.press('/')
        assert browser.focused() == 'Filter nodes'
        browser.press(key)
        assert browser.focused() == first
    browser.press('/', 'no-such-node', Keys.ARROW_DOWN)
    assert browser.focused() == 'Filter nodes'
    browser.press(Keys.ESCAPE)
    assert browser.run('return document.activeElement === document.body')
    assert browser.address() == '#/nodes?provider=rack&q=no-such-node'


def test_keys_belong_to_open_details(site, browser):
    browser.open(site, '#/nodes?provider=rack')
    browser.wait('the nodes', lambda: browser.ids())
    browser.open(site, f'#/nodes/{browser.ids()[0]}?provider=rack')
    browser.wait('its details', lambda: browser.find('#detail').is_displayed() and browser.ids())
    browser.press(Keys.PAGE_DOWN)
    assert browser.run('return document.activeElement === document.body')


@pytest.mark.parametrize('width', [390, 1280])
def test_a_click_anywhere_in_a_row_opens_it(site, browser, width):
    browser.size(width, 844)
    browser.open(site, '#/nodes?provider=rack')
    browser.wait('the nodes', lambda: browser.ids())
    second = browser.ids()[1]
    cell = '.rows tbody tr[aria-rowindex="3"] td:nth-child(2)'
    browser.run('getSelection().selectAllChildren(document.querySelector(arguments[0])); document.querySelector(arguments[0]).click()', cell)
    assert not browser.find('#detail').is_displayed()  # text is selected
    browser.run('getSelection().removeAllRanges()')
    browser.find(cell).click()
    browser.wait('its details', lambda: browser.text('#detail-title') == second)
    assert browser.address() == f'#/nodes/{second}?provider=rack'
    browser.press(Keys.ESCAPE)
    browser.wait('they are closed', lambda: not browser.find('#detail').is_displayed())
    assert browser.focused() == second


def test_the_section_is_visible_on_a_telephone(site, browser):
    browser.size(390, 844)
    browser.open(site, '#/daemons')

    def is_visible(after=''):
        """Also at once `after` a script, before the page can do anything."""
        return browser.run(after + """
            const {left, right} = document.querySelector('nav [aria-current]').getBoundingClientRect();
            return left >= 0 && right <= innerWidth;""")
    browser.wait('the section is in the window', is_visible)
    assert not is_visible("document.querySelector('nav a span').textContent = 'An overview that is wider than before';")
    browser.wait('the section is in the window again', is_visible)


def test_the_time_of_a_failed_launch_ends(site, browser):
    browser.open(site)
    texts = browser.driver.execute_async_script("""
        const done = arguments[0];
        import('/page/story.js').then(({stages}) => {
          const text = (...events) => stages(events, [], 1000).at(-1).textContent;
          const begun = [{event: 'init', time: 100}, {event: 'building', time: 101}];
          done([text(...begun), text(...begun, {event: 'failed', time: 246}, {event: 'deleting', time: 247}),
                text(...begun, {event: 'ready', time: 130}, {event: 'deleting', time: 247})]);
        }, (error) => done(String(error)));""")
    assert texts == ['15 min 00 s from the first to now', '2 min 26 s from the first to the end of the launch',
                     '30 s from the first to the last']


def test_names_of_commands_are_code(site, browser):
    browser.open(site)
    html = browser.driver.execute_async_script("""
        const done = arguments[0];
        import('/page/format.js').then(({h, prose}) => done(h('p', {}, prose('see `nodepool explain 1`, or `it')).innerHTML),
                                       (error) => done(String(error)));""")
    assert html == 'see <code>nodepool explain 1</code>, or `it'


def test_the_focus_is_seen(site, browser):
    browser.open(site, '#/nodes')
    browser.wait('the nodes', lambda: browser.ids())
    browser.press(Keys.TAB, Keys.TAB)
    assert browser.run('return getComputedStyle(document.activeElement).outlineStyle') == 'solid'


@pytest.mark.parametrize('section', SECTIONS)
def test_a_screen_reader_has_a_name_for_everything(site, browser, section, request_of_three):
    browser.open(site, f'#/{section}')
    browser.wait('something is there', lambda: browser.text('#main h1'))
    controls = browser.controls()
    assert [role for role, name in controls if not name.strip() and role not in ('main', 'MenuListPopup')] == []
    roles = {role for role, _ in controls}
    assert {'main', 'navigation', 'heading', 'link'} <= roles
    if section not in ('overview', 'providers'):
        assert {'table', 'columnheader', 'searchbox'} <= roles
        assert browser.find('.rows table').get_attribute('aria-rowcount').isdigit()
    assert browser.find('nav [aria-current=page]').get_attribute('data-section') == section


def test_changes_are_announced_politely(site, browser):
    browser.open(site)
    browser.wait('how things stand', lambda: 'waiting' in browser.text('#announcement'))
    assert browser.find('#announcement').get_attribute('aria-live') == 'polite'


@pytest.mark.smoke
def test_data_are_never_markup(site, browser):
    holder = '<img src=x onerror="console.error(1)"><b>bold</b>'
    request = site.ask('bare-metal', lease='1h', holder=holder)
    site.wait_for_state(request, 'fulfilled')
    browser.open(site, '#/nodes?state=in-use')
    browser.wait('it is shown as it is', lambda: holder in browser.text('.rows tbody'))
    assert browser.count('.rows img') == 0
    site.withdraw(request)


def luminance(color):
    parts = [int(part) / 255 for part in color[color.index('(') + 1:-1].split(',')[:3]]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize('scheme', ['light', 'dark'])
def test_both_dresses_can_be_read(site, browser, scheme, request_of_three):
    browser.dress(scheme)
    browser.open(site, '#/nodes')
    browser.wait('the nodes', lambda: browser.ids())
    ground = luminance(browser.run('return getComputedStyle(document.querySelector(".rows")).backgroundColor'))
    assert (ground > 0.8) == (scheme == 'light')
    for selector in ['.rows td', '.rows a', '.badge', '.rows th button', '.found']:
        text = luminance(browser.run('return getComputedStyle(document.querySelector(arguments[0])).color', selector))
        contrast = (max(text, ground) + 0.05) / (min(text, ground) + 0.05)
        assert contrast >= 4.5, (selector, contrast)  # WCAG 2, AA


def test_nothing_is_wider_than_a_telephone(site, browser, request_of_three):
    browser.size(390, 844)
    for section in [*SECTIONS, 'nodes/0000000000', 'labels/debian']:
        browser.open(site, f'#/{section}')
        browser.wait('something is there', lambda: browser.text('#main h1'))
        assert browser.run('return document.documentElement.scrollWidth') <= 390, section


def test_pictures(site, browser, request_of_three, tmp_path):
    """For people to look at; that they can be taken is all that is tested."""
    directory = os.environ.get('PAGE_PICTURES', tmp_path)
    site.ask('fedora', 'debian', lease='1h')
    for width, height in ((1280, 860), (390, 844)):
        for scheme in ('light', 'dark'):
            browser.size(width, height)
            browser.dress(scheme)
            for section in [*SECTIONS, 'nodes/0000000000', 'labels/debian']:
                browser.open(site, f'#/{section}')
                browser.wait('something is there', lambda: browser.text('#main h1'))
                browser.picture(pathlib.Path(directory) / f'{width}-{scheme}-{section.replace("/", "-")}.png')
