import logging

import pytest

from builders import ImageTree, Workshop, cloud
from installation import OwnLauncher, PythonLauncher, Servers, Tree, wait_until
from zuul_client import Zuul


@pytest.fixture(scope='session')
def servers():
    servers = Servers()
    yield servers
    servers.close()


@pytest.fixture
def tree(servers):
    """The records; none at the beginning of each test."""
    tree = Tree(servers)
    tree.clear()
    yield tree
    tree.close()


@pytest.fixture
def zuul(servers, tree, caplog):
    """A requestor. What Zuul's classes report as an error fails the test."""
    client = Zuul(servers)
    caplog.set_level(logging.ERROR)
    yield client
    errors = [record.getMessage() for record in caplog.get_records('call')
              if record.name.startswith('zuul') and record.levelno >= logging.ERROR]
    client.close()
    assert not errors


@pytest.fixture
def more_zuuls(servers):
    """Makes further requestors."""
    clients = []

    def make():
        clients.append(Zuul(servers))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


def launchers_of(kind, servers, tree, tmp_path):
    running = []

    def start(providers, labels, **more):
        launcher = kind(tmp_path / f'{kind.__name__}{len(running)}', servers, providers, labels, more)
        launcher.start()
        running.append(launcher)
        # Until then its labels are nobody's, and whoever asks for them is refused.
        names = {provider['name'] for provider in providers}
        wait_until(f'the pools of {names} are registered', lambda: names <= tree.pools().keys())
        return launcher

    yield start
    for launcher in running:
        launcher.stop()
        print(f'--- {launcher.log}\n{launcher.log.read_text()}')  # shown when the test fails


@pytest.fixture
def ours(servers, tree, tmp_path):
    """Starts launchers of this project: ours(providers, labels)."""
    yield from launchers_of(OwnLauncher, servers, tree, tmp_path)


@pytest.fixture
def theirs(servers, tree, tmp_path):
    """Starts launchers of the Python Nodepool: theirs(providers, labels)."""
    yield from launchers_of(PythonLauncher, servers, tree, tmp_path)


@pytest.fixture
def images(tree):
    """The records of images."""
    return ImageTree(tree)


@pytest.fixture
def workshop(tmp_path):
    return Workshop(tmp_path / 'workshop')


@pytest.fixture
def builder(servers, tree, workshop, tmp_path):
    """Builders, each as on a host of its own unless it gets the files of another: builder(kind, images). One that
    does not run has its commands."""
    made = []

    def make(kind, images, listed=None, running=True, images_dir=None, **provider):
        listed = listed or [{'name': image['name']} for image in images]
        builder = kind(tmp_path / f'{kind.__name__}{len(made)}', servers, workshop, images,
                       [cloud(listed, **provider)], images_dir)
        if running:
            builder.start()
        made.append(builder)
        return builder

    yield make
    workshop.let_go()
    for builder in made:
        builder.kill()  # what it has to do may take long
        if builder.log.exists():
            print(f'--- {builder.log}\n{builder.log.read_text()}')  # shown when the test fails
