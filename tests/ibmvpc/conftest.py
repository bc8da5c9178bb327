import signal

import pytest

from cloud_launcher import launchers
from ibm_cloud import IbmCloud, ZONE


def pytest_configure():
    # Fixtures stop what they have started when the suite is terminated.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.fixture(scope='session')
def server(tmp_path_factory):
    cloud = IbmCloud(tmp_path_factory.mktemp('ibmvpc'))
    try:
        yield cloud
    finally:
        cloud.stop()


@pytest.fixture
def any_calls(server):
    """The cloud as at the start, for tests whose calls it refuses."""
    server.reset()
    return server


@pytest.fixture
def cloud(any_calls):
    """The test fails if a call or an answer is not as IBM's models say."""
    yield any_calls
    assert any_calls.problems() == []


@pytest.fixture
def nodepool(cloud, tmp_path):
    """Starts launchers: nodepool(provider, …). `environment`: where the cloud is, and the credentials."""
    with launchers(tmp_path) as start:
        yield lambda *providers, environment=None: start(environment or cloud.environment(), *providers)


@pytest.fixture
def dallas():
    """Describes a provider named dallas with the label small: dallas(pool={…}, labels=[…], …)."""
    def provider(pool=None, labels=(), **more):
        of_label = {'cloud-image': 'debian', 'profile': 'bx2-2x8'}
        return {
            'name': 'dallas', 'driver': 'ibmvpc', 'vpc': 'ci', 'region': 'us-south', 'zone': ZONE, 'subnet': 'ci-1',
            'rate': 100, 'launch-timeout': 120,
            'cloud-images': [{'name': 'debian', 'username': 'ci', 'keys': ['zuul'],
                              'image-filter': {'operating-system': {'family': 'Debian GNU/Linux'},
                                               'owner-type': 'provider', 'status': 'available'}}],
            'pools': [{'name': 'main', 'max-servers': 100, 'host-key-checking': False,
                       'labels': [{'name': 'small', **of_label}, *({**of_label, **label} for label in labels)],
                       **(pool or {})}],
            **more}
    return provider
