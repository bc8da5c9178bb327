import os
import signal

import pytest

import builders
from aws_cloud import AwsCloud
from installation import Servers, Tree
from versions import VersionedBuilder, VersionedLauncher


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
def tree(servers):
    """The records in ZooKeeper; none at the beginning of each test."""
    tree = Tree(servers)
    tree.clear()
    yield tree
    tree.close()


@pytest.fixture
def zookeeper(servers, tree):
    """The keys of the configuration for an empty ZooKeeper."""
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


@pytest.fixture
def images(tree):
    """The records of images."""
    return builders.ImageTree(tree)


@pytest.fixture
def workshop(tmp_path):
    return builders.Workshop(tmp_path / 'workshop')


@pytest.fixture
def builder(servers, tree, workshop, tmp_path):
    """Makes builders of the image `deb`, each as on a host of its own."""
    made = []

    def make():
        made.append(VersionedBuilder(tmp_path / f'builder{len(made)}', servers, workshop, [builders.disk_image('deb')],
                                     [builders.cloud([{'name': 'deb'}])]))
        return made[-1]

    yield make
    workshop.let_go()
    for one in made:
        one.kill()
        if one.log.exists():
            print(f'--- {one.log}\n{one.log.read_text()}')  # shown when the test fails
