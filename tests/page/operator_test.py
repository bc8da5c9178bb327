"""What an administrator does from the page, and what others cannot."""
import http.client

import pytest

from browser import Keys
from installation import ADMIN_TOKEN, TOKEN


@pytest.fixture
def admin(site, browser):
    """The tab has an administrator's token, until the end of the test."""
    browser.open(site)
    sign_in(browser, ADMIN_TOKEN)
    browser.wait('the page knows whose it is', lambda: browser.text('#client') == 'boss (admin)')
    yield
    browser.run('sessionStorage.clear()')


def sign_in(browser, token):
    browser.find('#token').click()
    browser.wait('it asks', lambda: browser.find('#token-dialog').is_displayed())
    browser.press(token, Keys.ENTER)


def buttons(browser):
    return browser.texts('#detail .actions button')


def select(browser, label):
    """Selects the action; returns what its dialog says."""
    browser.run('[...document.querySelectorAll("#detail .actions button")].find((b) => b.textContent === arguments[0]).click()', label)
    browser.wait('it asks for confirmation', lambda: browser.count('dialog.action[open]') == 1)
    return browser.text('dialog.action form')


def act(browser, label, *reason):
    """Selects the action, and confirms it; returns what its dialog said."""
    text = select(browser, label)
    if reason:
        browser.press(*reason)
    browser.find('dialog.action button[type=submit]').click()
    return text


def audited(site, text):
    return any('nodepool.audit' in line and text in line for line in site.log.read_text().splitlines())


def free_node(site):
    return next(node['id'] for node in site.call('GET', 'nodes?label=bare-metal&state=ready')['nodes'])


def test_whose_the_token_is_is_asked_again_after_a_refusal(site, browser):
    """The first answer is that of an overloaded server. Instead of 10 seconds, the page waits for none."""
    with browser.before_pages(r"""
            const later = window.setTimeout;
            window.setTimeout = (call, time, ...rest) => later(call, time === 10000 ? 0 : time, ...rest);
            const ask = window.fetch;
            let isFirst = true;
            window.fetch = (path, options) => {
              if (!isFirst || !String(path).startsWith('api/v1/client')) return ask(path, options);
              isFirst = false;
              return Promise.resolve(new Response('', {status: 503}));
            };"""):
        browser.open(site)
        try:
            sign_in(browser, ADMIN_TOKEN)
            browser.wait('the page knows whose it is', lambda: browser.text('#client') == 'boss (admin)')
        finally:
            browser.run('sessionStorage.clear()')


@pytest.mark.smoke
def test_without_a_token_nothing_can_be_done(site, browser):
    browser.open(site, f'#/nodes/{free_node(site)}')
    browser.wait('details', lambda: 'ready' in browser.text('#detail'))
    assert buttons(browser) == []
    assert browser.text('#token') == 'Enter token'


def test_a_token_that_may_only_read_has_no_actions(site, browser):
    browser.open(site, f'#/nodes/{free_node(site)}')
    sign_in(browser, TOKEN)
    browser.wait('the page knows whose it is', lambda: browser.text('#client') == 'viewer (read)')
    assert buttons(browser) == []
    assert 'Scope read: no actions on this page, scope admin is needed.' in browser.texts('#detail p')
    browser.find('#token').click()
    browser.wait('it is forgotten', lambda: browser.text('#token') == 'Enter token' and browser.text('#client') == '')


def test_no_token_is_asked_for_where_it_would_be_sent_unencrypted(site, browser):
    """As over plain HTTP from another host."""
    with browser.before_pages('Object.defineProperty(window, "isSecureContext", {value: false})'):
        browser.open(site)
        browser.find('#token').click()
        browser.wait('the dialog', lambda: browser.find('#token-dialog').is_displayed())
        assert 'https://127.0.0.1:PORT/' in browser.text('#token-refusal')
        assert not browser.find('#token-input').is_displayed()
        assert not browser.find('#token-continue').is_displayed()
        browser.press(Keys.ESCAPE)
        browser.wait('it is closed', lambda: not browser.find('#token-dialog').is_displayed())


def test_a_wrong_token_is_refused_and_can_be_cancelled(site, browser):
    browser.open(site)
    sign_in(browser, 'nonsense')
    browser.wait('that was not it', lambda: 'unknown' in browser.text('#token-problem')
                 and browser.find('#token-dialog').is_displayed())
    browser.find('#token-dialog button[value=cancel]').click()
    browser.wait('it is closed', lambda: not browser.find('#token-dialog').is_displayed())
    assert browser.run('return sessionStorage.length') == 0
    browser.wait('the page goes on', lambda: browser.text('#connection') == 'Live')


@pytest.mark.smoke
def test_a_node_is_held_with_a_reason_and_its_hold_is_ended(site, browser, admin):
    node = free_node(site)
    browser.open(site, f'#/nodes/{node}')
    browser.wait('the actions', lambda: buttons(browser) == ['Hold', 'Delete'])
    assert 'Reason (optional)' in act(browser, 'Hold', 'strange clock')
    browser.wait('it is held', lambda: 'strange clock' in browser.text('#detail') and buttons(browser) == ['End hold', 'Delete'])
    assert browser.text('#detail [role=status]') == 'Hold: done.'
    assert 'its host becomes ready again' in act(browser, 'End hold')
    browser.wait('it is not held any more', lambda: 'strange clock' not in browser.text('#detail'))
    assert audited(site, f'boss from 127.0.0.1: POST /api/v1/nodes/{node}/hold: 204, held {node}')
    assert audited(site, f'boss from 127.0.0.1: DELETE /api/v1/nodes/{node}/hold: 204')
    assert ADMIN_TOKEN not in site.log.read_text()


def test_a_node_is_released_from_its_lease(site, browser, admin, request_of_three):
    browser.open(site, '#/nodes?provider=cloud-north&state=in-use')
    browser.wait('three nodes are in use', lambda: len(browser.ids()) == 3)
    node = browser.ids()[0]
    browser.find('.rows tbody a').click()
    browser.wait('the actions', lambda: buttons(browser) == ['Hold', 'Release'])
    assert 'its machine is deleted' in act(browser, 'Release')
    browser.wait('it is gone', lambda: len(browser.ids()) == 2 and node not in browser.ids())


def test_a_waiting_request_is_withdrawn(site, browser, admin, request_of_three):
    waiting = site.ask('fedora', lease='1h')
    browser.open(site, f'#/requests/{waiting}')
    browser.wait('the action', lambda: buttons(browser) == ['Withdraw'])
    act(browser, 'Withdraw')
    browser.wait('it is gone', lambda: waiting not in browser.ids())


def test_a_refusal_is_shown_with_its_reason_and_cancelling_does_nothing(site, browser, admin):
    node = free_node(site)
    browser.open(site, f'#/nodes/{node}')
    browser.wait('the actions', lambda: 'Delete' in buttons(browser))
    select(browser, 'Delete')
    request = site.ask(*['bare-metal'] * 6, lease='1h')
    site.wait_for_state(request, 'fulfilled')
    try:
        browser.find('dialog.action button[type=submit]').click()
        browser.wait('the reason', lambda: 'is leased: release it from lease' in browser.text('dialog.action [role=alert]'))
        browser.press(Keys.ESCAPE)
        browser.wait('it is closed', lambda: browser.count('dialog') == 1)
        assert site.call('GET', f'nodes/{node}')['state'] == 'in-use'
    finally:
        site.withdraw(request)


def test_an_image_is_built_paused_and_unpaused(site, browser, admin):
    site.builder.start()
    try:
        browser.open(site, '#/images/debian-image')
        browser.wait('it is uploaded', lambda: '1 ready' in browser.text('.rows tbody'))
        browser.wait('the actions', lambda: buttons(browser) == ['Build', 'Pause'])
        act(browser, 'Pause')
        browser.wait('it is paused', lambda: buttons(browser) == ['End pause'] and 'by an operator' in browser.text('#detail'))
        act(browser, 'End pause')
        browser.wait('it is not', lambda: buttons(browser) == ['Build', 'Pause'])
        act(browser, 'Build')
        browser.wait('that is said', lambda: browser.text('#detail [role=status]') == 'Build: requested.')
        browser.wait('it is built', lambda: browser.count('#detail .build') == 2)
    finally:
        site.builder.stop(number=15)
    assert audited(site, 'POST /api/v1/images/debian-image/build: 204, requested a build of debian-image')


def test_a_build_without_a_builder_is_only_requested(site, browser, admin):
    browser.open(site, '#/images/debian-image')
    browser.wait('the actions', lambda: 'Build' in buttons(browser))
    assert 'No builder is registered' in select(browser, 'Build')
    browser.press(Keys.ESCAPE)


def texts_of_deletion(browser, *nodes):
    """What the dialog says of each, if "cloud", "shares" and "rack" are providers of this launcher."""
    return browser.driver.execute_async_script("""
        const [nodes, done] = arguments;
        Promise.all([import('/page/operator.js'), import('/page/records.js')]).then(([{Operator}, {Records}]) => {
          const operator = Object.assign(new Operator(), {client: {scope: 'admin'}});
          const records = new Records();
          records.change({revision: 1, gone: {}, set: {provider: [{id: 'cloud', makes_machines: true},
                                                                  {id: 'shares', makes_machines: true}, {id: 'rack'}]}});
          done(nodes.map((node) => operator.actions('nodes', {id: '1', state: 'ready', ...node}, records)
            .find(({label}) => label === 'Delete').text));
        }, (error) => done(String(error)));""", nodes)


def test_the_request_of_a_held_node_is_over(browser, site):
    browser.open(site)
    node = {'provider': 'cloud', 'request': '200-1'}
    assert texts_of_deletion(browser, node, {**node, 'state': 'hold'}) == [
        'The node is reclaimed: its machine is deleted. It is allocated to request 200-1.',
        'The node is reclaimed: its machine is deleted.']


def test_what_happens_to_the_machine_depends_on_the_provider(browser, site):
    browser.open(site)
    nodes = [{'provider': 'shares', 'slot': True}, {'provider': 'rack', 'slot': True}, {'provider': 'elsewhere', 'slot': True}]
    assert texts_of_deletion(browser, *nodes) == ['The node is reclaimed: its slot on a machine becomes free.',
                                                  'The node is reclaimed: its host becomes ready again.',
                                                  'The node is reclaimed.']


@pytest.mark.smoke
def test_the_token_is_in_the_tab_only_and_other_origins_get_nothing(site, browser, admin):
    assert ADMIN_TOKEN not in browser.driver.current_url
    assert browser.run('return localStorage.length + document.cookie.length') == 0
    for method, path in (('POST', f'/api/v1/nodes/{free_node(site)}/hold'), ('DELETE', f'/api/v1/nodes/{free_node(site)}'),
                         ('POST', '/api/v1/images/debian-image/build'), ('GET', '/page/rows'), ('GET', '/page/trends?of=all')):
        connection = http.client.HTTPConnection('127.0.0.1', site.port, timeout=30)
        connection.request('OPTIONS', path, headers={'Origin': 'https://elsewhere.example', 'Access-Control-Request-Method': method,
                                                     'Access-Control-Request-Headers': 'authorization'})
        preflight = connection.getresponse()
        preflight.read()
        assert preflight.status >= 400, path
        assert preflight.getheader('Access-Control-Allow-Origin') is None
        connection.request(method, path, headers={'Origin': 'https://elsewhere.example'})
        response = connection.getresponse()
        response.read()
        assert response.status == (200 if method == 'GET' else 401), path
        assert response.getheader('Access-Control-Allow-Origin') is None
