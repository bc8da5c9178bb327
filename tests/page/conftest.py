import pytest

from browser import Browser
from installation import Site, cloud, hosts, token_file

LABELS = ['debian', 'fedora', 'broken', 'bare-metal', 'arm64']


def unreachable_hosts(name, label):
    nodes = [{'name': '127.0.0.1', 'connection-port': 1, 'labels': [label], 'username': 'ci'}]
    return {'name': name, 'driver': 'static', 'pools': [{'name': 'main', 'nodes': nodes}]}


@pytest.fixture(scope='session')
def browser():
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture(autouse=True)
def quiet_page(browser):
    """Whatever a test does, the page writes nothing to the console, and talks to nobody else."""
    browser.size()
    browser.dress('light')
    browser.logged()
    browser.hosts()
    yield
    assert browser.logged() == []
    assert {host.split(':')[0] for host in browser.hosts()} <= {'127.0.0.1'}


@pytest.fixture(scope='module')
def site(tmp_path_factory):
    """Two clouds, one of which cannot make anything; hosts, one of which cannot be reached; an image."""
    north = cloud('cloud-north', ['debian', 'fedora'], max_servers=3)
    north['diskimages'] = [{'name': 'debian-image'}]
    directory = tmp_path_factory.mktemp('page')
    site = Site(directory / 'site',
                [north, cloud('cloud-south', ['broken'], failures={'create-error': 1}),
                 hosts('rack', 3, 'bare-metal', jobs=2), unreachable_hosts('cellar', 'arm64')], LABELS,
                api={'tokens': token_file(directory)},
                diskimages=[{'name': 'debian-image', 'elements': ['debian'], 'rebuild-age': 86400}])
    site.start()
    yield site
    site.stop()
    print(f'--- {site.log}\n{site.log.read_text()}')


@pytest.fixture
def request_of_three(site):
    """All that the cloud can have, for as long as the test."""
    request = site.ask('debian', 'debian', 'debian', lease='1h', holder='the nightly build')
    site.wait_for_state(request, 'fulfilled')
    yield request
    site.withdraw(request)
