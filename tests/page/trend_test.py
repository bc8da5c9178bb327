"""The last hours: their charts, and where they are shown."""
import pytest

DRAW = '''
    const [series, steps, step, missing, done] = arguments;
    import('/page/chart.js').then(({trendCharts}) => {
      const begin = 1699999980;  // 22:13 UTC
      const trends = {begin, first: begin + missing, step, steps, series: new Map(series ? [['x', series]] : [])};
      const element = trendCharts(trends, 'x');
      done({paths: [...element.querySelectorAll('path:not(.known)')].map((path) => path.getAttribute('d')),
            boxes: [...element.querySelectorAll('svg')].map((plot) => plot.getAttribute('viewBox')),
            names: [...element.querySelectorAll('[role=img]')].map((plot) => plot.getAttribute('aria-label')),
            text: element.textContent});
    }, (error) => done(String(error)));'''


def draw(browser, steps, step=60, missing=0, **series):
    """`missing`: seconds of the first step before the first count."""
    values = {key: [0] * steps for key in ('waiting', 'in_use', 'ready', 'launching', 'failed')}
    return browser.driver.execute_async_script(DRAW, {**values, **series} if series else None, steps, step, missing)


def test_a_chart_has_steps_layers_and_gaps(site, browser):
    browser.open(site)
    none = {'launching': [0, None, 0], 'failed': [0, None, 0]}
    drawn = draw(browser, 3, waiting=[1, None, 2], in_use=[1, None, 0], ready=[0, None, 3], **none)
    waiting, in_use, ready, launching, failed = drawn['paths']
    assert waiting == 'M0 2V1H1V2H0ZM2 2V0H3V2H2Z'
    assert in_use == 'M0 3V2H1V3H0ZM2 3V3H3V3H2Z'
    assert ready == 'M0 2V2H1V2H0ZM2 3V0H3V3H2Z'  # above the ones in use
    assert 'now 2, highest 2 at ' in drawn['names'][0] and drawn['names'][0].startswith('Requests waiting since ')
    assert drawn['names'][2].endswith('now 0, highest 0')
    assert '2 waiting, 0 in use, 3 ready, 0 launching, 0 failed' in drawn['text']


def test_values_of_long_steps_have_the_time_of_their_count(site, browser):
    browser.open(site)
    drawn = draw(browser, 2, step=600, missing=300, in_use=[1, 4])
    first, highest = browser.run("""return [1700000280, 1700001120].map((time) =>
        new Date(time * 1000).toLocaleTimeString([], {hour: '2-digit', minute: '2-digit', hour12: false}))""")
    assert f'Since {first}; at {highest}: 0 waiting, 4 in use' in drawn['text']
    assert drawn['names'][1] == f'Nodes since {first}: now 4, highest 4 at {highest}'
    assert drawn['boxes'][1] == '0.5 0 1.5 4'


def test_what_is_not_known_is_said(site, browser):
    browser.open(site)
    assert 'No waiting requests and no nodes since' in draw(browser, 5)['text']
    assert 'as soon as' in draw(browser, 0)['text']
    unknown = [None, None]
    drawn = draw(browser, 2, waiting=unknown, in_use=unknown, ready=unknown, launching=unknown, failed=unknown)
    assert drawn['paths'] == [''] * 5
    assert drawn['names'][0].endswith('now unknown, highest 0')


@pytest.mark.smoke
def test_the_last_hours_are_on_the_overview_and_with_labels_and_providers(site, browser):
    browser.open(site)
    browser.wait('the charts', lambda: browser.count('[aria-label="Last hours"] .plot path:not(.known)') == 5)
    assert browser.texts('[aria-label="Last hours"] h3') == ['Requests waiting', 'Nodes', 'Nodes failed']
    browser.open(site, '#/labels/bare-metal')
    browser.wait('the charts of the label', lambda: browser.count('#detail .plot path:not(.known)') == 5)
    browser.open(site, '#/labels')
    browser.wait('a small chart', lambda: browser.count('.sparkline path') > 0)
    browser.open(site, '#/providers')
    browser.wait('the charts of the provider', lambda: browser.count('#provider-rack .plot path:not(.known)') == 4)


def test_the_pointer_reads_values(site, browser):
    browser.open(site)
    browser.wait('the charts', lambda: browser.count('[aria-label="Last hours"] .plot') == 3)
    browser.run('''const plot = document.querySelector('.plot');
                   const {left, top} = plot.getBoundingClientRect();
                   plot.dispatchEvent(new PointerEvent('pointermove', {clientX: left + 1, clientY: top + 1}));''')
    assert browser.count('.crosshair:not([hidden])') == 3
    assert ' waiting, ' in browser.text('.readout') and not browser.text('.readout').startswith('Since')
    browser.run("document.querySelector('.plot').dispatchEvent(new PointerEvent('pointerleave'))")
    assert browser.text('.readout').startswith('Since')
