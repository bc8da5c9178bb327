import signal

import pytest

from aws_cloud import REGION, AwsCloud
from cloud_launcher import launchers


def pytest_configure():
    # Whoever ends the suite lets the fixtures end what they have started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.fixture(scope='session')
def moto(tmp_path_factory):
    cloud = AwsCloud(tmp_path_factory.mktemp('moto') / 'log')
    try:
        yield cloud
    finally:
        cloud.stop()


@pytest.fixture
def cloud(moto):
    """With nothing of the tests in it. Whatever a test does, all calls are in order."""
    moto.reset()
    yield moto
    assert moto.problems() == []


@pytest.fixture
def nodepool(cloud, tmp_path):
    """Starts launchers: nodepool(provider, …). `environment`: what else but the keys."""
    with launchers(tmp_path) as start:
        yield lambda *providers, environment=None: start(
            cloud.environment() if environment is None else {**cloud.place(), **environment}, *providers)


@pytest.fixture
def sky():
    """Describes a provider named sky with the label small: sky(pool={…}, labels=[…], …)."""
    def provider(pool=None, labels=(), **more):
        image = {'cloud-image': 'debian', 'key-name': 'ci'}
        return {
            'name': 'sky', 'driver': 'aws', 'region-name': REGION, 'rate': 100, 'launch-timeout': 120,
            'cloud-images': [{'name': 'debian', 'username': 'ci', 'image-filters': [
                {'name': 'owner-alias', 'values': ['amazon']}, {'name': 'architecture', 'values': ['x86_64']}]}],
            'pools': [{
                'name': 'main', 'host-key-checking': False,
                'labels': [{'name': 'small', 'instance-type': 't3.medium', **image},
                           *({'instance-type': 't3.medium', **image, **label} for label in labels)],
                **(pool or {})}],
            **more}
    return provider
