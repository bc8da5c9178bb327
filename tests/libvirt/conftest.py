import os
import pathlib
import signal

import pytest

from host import Host, require_programs


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
            host.start()
        yield hosts
    finally:
        for host in hosts:
            host.stop()


@pytest.fixture
def hosts(standing_hosts, image):
    """Two hosts with nothing on them but the volume of the image, base.qcow2."""
    for host in standing_hosts:
        host.clear()
        host.add_volume('base.qcow2', image)
    return standing_hosts


@pytest.fixture
def host(hosts):
    return hosts[0]
