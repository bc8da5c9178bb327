import contextlib
import json
import signal
import subprocess

import pytest

from aws_cloud import REGION, AwsCloud
from launcher import PATIENCE, Launcher, wait_until


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


class Request:
    """A `nodepool request` under way."""

    def __init__(self, launcher, labels):
        self.process = subprocess.Popen(
            [*launcher.command(), 'request', *labels, '--lease', '1h', '--json'], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=launcher.environment)

    def lease(self):
        """The fulfilled request: its id and the records of the nodes."""
        output, error = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0, f'{output}{error}'
        return json.loads(output)

    def refusal(self):
        output, error = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 2, f'{output}{error}'
        return output + error

    def is_waiting(self):
        return self.process.poll() is None

    def withdraw(self):
        if self.is_waiting():
            self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=PATIENCE)


class AwsLauncher(Launcher):
    """A launcher with the embedded store, which finds the cloud."""

    def __init__(self, directory, cloud, providers, environment):
        labels = sorted({label['name'] for provider in providers for pool in provider['pools']
                         for label in pool['labels']})
        super().__init__(directory, {'store': f'sqlite://{directory}/nodepool.db',
                                     'labels': [{'name': label} for label in labels],
                                     'providers': providers}, environment)
        self.requests = []

    def nodes(self):
        return json.loads(self.run('list', '--detail', '--json'))

    def ask(self, *labels):
        self.requests.append(Request(self, labels))
        return self.requests[-1]

    def release(self, lease):
        self.run('release', lease['lease'])

    def await_no_nodes(self):
        wait_until('all nodes are gone', lambda: not self.nodes())

    def close(self):
        for request in self.requests:
            request.withdraw()
        if self.process is not None:
            self.stop()


@pytest.fixture
def nodepool(cloud, tmp_path):
    """Starts launchers, each with a store of its own: nodepool(provider, …). `environment`: what else but the keys."""
    launchers = []

    def start(*providers, environment=None):
        found = cloud.environment() if environment is None else {**cloud.place(), **environment}
        launcher = AwsLauncher(tmp_path / f'launcher{len(launchers)}', cloud, providers, found)
        launchers.append(launcher)
        launcher.start()
        return launcher

    with contextlib.ExitStack() as at_the_end:
        yield start
        for launcher in launchers:
            at_the_end.callback(launcher.close)
            print(f'--- {launcher.log}\n{launcher.log.read_text()}')  # shown when the test fails


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
