import signal

import pytest

from catalog import PROJECT
from cloud_launcher import launchers
from gce_cloud import REGION, ZONE, GceCloud


def pytest_configure():
    # Whoever ends the suite lets the fixtures end what they have started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.fixture(scope='session')
def server(tmp_path_factory):
    cloud = GceCloud(tmp_path_factory.mktemp('gce'))
    try:
        yield cloud
    finally:
        cloud.stop()


@pytest.fixture
def any_calls(server):
    """The cloud with nothing of the tests in it, for tests that make calls which it refuses."""
    server.reset()
    return server


@pytest.fixture
def cloud(any_calls):
    """Whatever a test does, all calls and answers are in order."""
    yield any_calls
    assert any_calls.problems() == []


@pytest.fixture
def nodepool(cloud, tmp_path):
    """Starts launchers: nodepool(provider, …). `environment`: where the cloud is, and the credentials."""
    with launchers(tmp_path) as start:
        yield lambda *providers, environment=None: start(environment or cloud.environment(), *providers)


@pytest.fixture
def iowa():
    """Describes a provider named iowa with the label small: iowa(pool={…}, labels=[…], …)."""
    def provider(pool=None, labels=(), **more):
        of_label = {'cloud-image': 'debian', 'instance-type': 'n1-standard-2'}
        return {
            'name': 'iowa', 'driver': 'gce', 'project': PROJECT, 'region': REGION, 'zone': ZONE, 'rate': 100,
            'launch-timeout': 120,
            'cloud-images': [{'name': 'debian', 'username': 'ci', 'key': 'ssh-rsa AAAA ci',
                              'image-project': 'debian-cloud', 'image-family': 'debian-12'}],
            'pools': [{'name': 'main', 'host-key-checking': False,
                       'labels': [{'name': 'small', **of_label}, *({**of_label, **label} for label in labels)],
                       **(pool or {})}],
            **more}
    return provider
