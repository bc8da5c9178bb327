import contextlib
import os
import pathlib
import signal

import pytest

from cloud_launcher import launchers
from host import Host, require_programs
from machines import Login


def pytest_configure():
    # Whoever ends the suite lets the fixtures end what they have started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    require_programs()


@pytest.fixture(scope='session')
def image():
    """The file of the suite's image."""
    return pathlib.Path(os.environ['LIBVIRT_GUEST_IMAGE'])


@pytest.fixture(scope='session')
def standing_hosts(tmp_path_factory):
    hosts = [Host(tmp_path_factory.mktemp('host'), number) for number in range(2)]
    try:
        for host in hosts:
            host.set_up()
        yield hosts
    finally:
        for host in hosts:
            host.stop()


@pytest.fixture
def hosts(standing_hosts, image):
    """Two hosts, named host0 and host1, with nothing on them but the volume of the image, base.qcow2."""
    for host in standing_hosts:
        host.repair()
        host.clear()
        host.add_volume('base.qcow2', image)
    return standing_hosts


@pytest.fixture
def host(hosts):
    return hosts[0]


@pytest.fixture
def small_host(tmp_path_factory, image):
    """A host with the image and 10 MB more."""
    host = Host(tmp_path_factory.mktemp('small'), 2, pool_size=image.stat().st_size + (10 << 20))
    with contextlib.ExitStack() as at_the_end:
        at_the_end.callback(host.stop)
        host.set_up()
        host.add_volume('base.qcow2', image)
        yield host


@pytest.fixture(scope='session')
def login(tmp_path_factory):
    """The key of whoever uses the nodes."""
    return Login(tmp_path_factory.mktemp('login'))


@pytest.fixture
def nodepool(tmp_path):
    """Starts launchers: nodepool(provider, …, more keys of the configuration=…)."""
    with launchers(tmp_path) as start:
        yield lambda *providers, **content: start({}, *providers, **content)


@pytest.fixture
def rack(login):
    """Describes a provider named rack with the label small: rack([host, …], pool={…}, labels=[…], more keys=…)."""
    def provider(hosts, pool=None, labels=(), **more):
        of_label = {'cloud-image': 'base', 'cpus': 1, 'memory': 96}
        return {
            'name': 'rack', 'driver': 'libvirt', 'virtualization': os.environ['LIBVIRT_VIRTUALIZATION'],
            'cpu-overcommit': 100, 'memory-reserve': 0,
            # All that these machines do takes longer on a busy system.
            'boot-timeout': 280, 'launch-timeout': 290,
            'hosts': [{'name': host.name, 'uri': host.uri} for host in hosts],
            'keys': [login.public_key],
            'cloud-images': [{'name': 'base', 'volume': 'base.qcow2', 'username': 'debian'}],
            'pools': [{'name': 'main', 'labels': [{'name': 'small', **of_label},
                                                  *({**of_label, **label} for label in labels)], **(pool or {})}],
            **more}
    return provider
