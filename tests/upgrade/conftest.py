import os
import signal

import pytest

from aws_cloud import AwsCloud
from installation import Servers, Tree
from versions import VersionedLauncher


def pytest_configure():
    # Whoever ends the suite lets the fixtures end what they have started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.fixture(scope='session')
def servers():
    servers = Servers()
    yield servers
    servers.close()


@pytest.fixture
def sqlite(tmp_path):
    """The keys of the configuration for an empty embedded store."""
    return {'store': f'sqlite://{tmp_path}/nodepool.db'}


@pytest.fixture
def zookeeper(servers):
    tree = Tree(servers)
    tree.clear()
    tree.close()
    return servers.section()


@pytest.fixture(params=['sqlite', 'zookeeper'])
def store(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(scope='session')
def moto(tmp_path_factory):
    cloud = AwsCloud(tmp_path_factory.mktemp('moto') / 'log', os.environ['MOTO_PYTHON'])
    try:
        yield cloud
    finally:
        cloud.stop()


@pytest.fixture
def cloud(moto):
    moto.reset()
    yield moto
    assert moto.problems() == []


@pytest.fixture
def launcher(tmp_path):
    """Makes launchers: launcher(store, provider, …, environment={…})."""
    made = []

    def make(store, *providers, environment=None):
        made.append(VersionedLauncher(tmp_path / f'launcher{len(made)}', store, providers, environment))
        return made[-1]

    yield make
    for one in made:
        one.close()
        print(f'--- {one.log}\n{one.log.read_text()}')  # shown when the test fails
