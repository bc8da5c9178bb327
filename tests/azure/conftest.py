import json
import os
import pathlib
import signal

import pytest

from azure_cloud import AzureCloud
from cloud_launcher import launchers
from launcher import BINARIES, Daemon, wait_until

HERE = pathlib.Path(__file__).parent
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


class Builder(Daemon):
    """Beside a launcher, with its configuration."""

    def __init__(self, launcher):
        super().__init__(launcher.config.parent / 'builder.log', launcher.environment)
        self.config = launcher.config

    def daemon(self):
        return [BINARIES / 'nodepool-builder', '-f', '-c', self.config]


@pytest.fixture
def with_images(nodepool, sky, tmp_path):
    """A launcher and a builder of one image."""
    builders = []

    def start():
        launcher = nodepool(sky(labels=[{'name': 'built', 'diskimage': 'trixie', 'cloud-image': None}],
                                diskimages=[{'name': 'trixie', 'key': KEY, 'tags': {'team': 'infra'}}]))
        launcher.stop()
        content = json.loads(launcher.config.read_text())
        content.update({'images-dir': str(tmp_path / 'images'), 'build-log-dir': str(tmp_path / 'logs'),
                        'elements-dir': str(tmp_path), 'diskimages': [
                            {'name': 'trixie', 'dib-cmd': str(HERE / 'make_image'), 'username': 'ci'}]})
        launcher.config.write_text(json.dumps(content))
        launcher.start()
        (tmp_path / 'images').mkdir()
        builders.append(Builder(launcher))
        builders[-1].start()
        return launcher, builders[-1]

    yield start
    for builder in builders:
        builder.stop()
        print(f'--- {builder.log}\n{builder.log.read_text()}')


def await_ready(launcher):
    wait_until('the image is there', lambda: 'ready' in launcher.run('image-list'))


def delete_upload(launcher):
    (upload,) = json.loads(launcher.run('image-list', '-o', 'json'))
    launcher.run('image-delete', '--provider', 'sky', '--image', 'trixie', '--strict', '--build-id', upload['id'],
                 '--upload-id', upload['upload_id'])
