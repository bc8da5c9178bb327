import os
import signal

import pytest

from azure_cloud import AzureCloud
from cloud_launcher import launchers

KEY = 'ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAAQCx ci'


def pytest_configure():
    # If the suite is terminated, the fixtures stop what they have started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.fixture(scope='session')
def stand_in(tmp_path_factory):
    cloud = AzureCloud(tmp_path_factory.mktemp('azure'), os.environ['AZURE_JUDGE'])
    try:
        yield cloud
    finally:
        cloud.stop()


@pytest.fixture
def unjudged(stand_in):
    """The cloud as it starts, for tests that make wrong calls."""
    stand_in.reset()
    return stand_in


@pytest.fixture
def cloud(unjudged):
    """The cloud as it starts. At the end, the judge must have found all calls and answers right."""
    yield unjudged
    assert unjudged.problems() == []


@pytest.fixture
def nodepool(cloud, tmp_path):
    """Starts launchers: nodepool(provider, …). `environment`: where the cloud is, and the credentials."""
    with launchers(tmp_path) as start:
        yield lambda *providers, environment=None: start(environment or cloud.environment(), *providers)


@pytest.fixture
def sky(cloud, tmp_path):
    """Describes a provider named sky with the label small: sky(pool={…}, labels=[…], …)."""
    auth = cloud.credentials(tmp_path / 'auth.json')

    def provider(pool=None, labels=(), **more):
        label = {'cloud-image': 'debian', 'hardware-profile': {'vm-size': 'Standard_D2s_v3'}}
        return {
            'name': 'sky', 'driver': 'azure', 'location': 'westeurope', 'resource-group-location': 'westeurope',
            'resource-group': 'nodepool', 'auth-path': auth, 'network': 'network', 'rate': 0,
            'launch-timeout': 120,
            'cloud-images': [{'name': 'debian', 'username': 'ci', 'key': KEY, 'image-reference': {
                'publisher': 'Debian', 'offer': 'debian-12', 'sku': '12-gen2', 'version': 'latest'}}],
            'pools': [{'name': 'main', 'max-servers': 50, 'host-key-checking': False,
                       'labels': [{'name': 'small', **label}, *({**label, **each} for each in labels)], **(pool or {})}],
            **more}
    return provider
