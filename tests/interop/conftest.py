import logging

import pytest

from installation import OwnLauncher, PythonLauncher, Servers, Tree
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


def launchers_of(kind, servers, tmp_path):
    running = []

    def start(providers, labels, **more):
        launcher = kind(tmp_path / f'{kind.__name__}{len(running)}', servers, providers, labels, more)
        launcher.start()
        running.append(launcher)
        return launcher

    yield start
    for launcher in running:
        launcher.stop()
        print(f'--- {launcher.log}\n{launcher.log.read_text()}')  # shown when the test fails


@pytest.fixture
def ours(servers, tree, tmp_path):
    """Starts launchers of this project: ours(providers, labels)."""
    yield from launchers_of(OwnLauncher, servers, tmp_path)


@pytest.fixture
def theirs(servers, tree, tmp_path):
    """Starts launchers of the Python Nodepool: theirs(providers, labels)."""
    yield from launchers_of(PythonLauncher, servers, tmp_path)
