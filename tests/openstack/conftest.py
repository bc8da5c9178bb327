import os
import pathlib
import signal

import pytest

from control_plane.cloud import Cloud
from control_plane.plan import Plan
from guests import Guests
from installation import CloudLauncher
from project import UNLIMITED, Project


WITH_CINDER = os.environ.get('CLOUD_CINDER') == '1'


def pytest_configure():
    # Whoever ends the suite lets the fixtures end what they have started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def pytest_ignore_collect(collection_path):
    is_left_out = collection_path.name == 'volume_test.py' and not WITH_CINDER
    return True if is_left_out else None  # None: others decide


@pytest.fixture(scope='session')
def cloud(tmp_path_factory):
    """The cloud; started once, or the one of the directory OPENSTACK_CLOUD, which is left running."""
    if state := os.environ.get('OPENSTACK_CLOUD'):
        cloud = Cloud(Plan.load(pathlib.Path(state)))
        cloud.start()  # what of it does not run
        yield cloud
        return
    cloud = Cloud(Plan.of(tmp_path_factory.mktemp('cloud'), computes=2, token_lifetime=86400,
                          cinder=WITH_CINDER))
    try:
        cloud.start()
        yield cloud
    finally:
        cloud.stop()


def empty(cloud, name, quota):
    """A project with nothing in it and this quota, whatever the test before has done."""
    cloud.start()  # a service that it has killed
    project = Project(cloud.plan, name)
    project.clear()
    project.set_quota(**quota)
    return project


@pytest.fixture
def project(cloud):
    """Of `cloud: fake`, without limits."""
    return empty(cloud, 'nodepool', UNLIMITED)


@pytest.fixture
def tiny(cloud):
    """Of `cloud: fake-tiny`: 2 instances, 4 cores, 8 GiB, 1 floating IP."""
    return empty(cloud, 'tiny', {'instances': 2, 'cores': 4, 'ram': 8192})


@pytest.fixture(scope='session')
def guests(cloud, tmp_path_factory):
    """What answers at the servers' addresses."""
    guests = Guests(tmp_path_factory.mktemp('guests'), [cloud.plan.guest_range, cloud.plan.floating_range])
    yield guests
    guests.close()


@pytest.fixture
def nodepool(cloud, tmp_path):
    """Starts launchers, each with a store of its own: nodepool(provider, …)."""
    launchers = []

    def start(*providers):
        launcher = CloudLauncher(tmp_path / f'launcher{len(launchers)}', cloud, providers)
        launchers.append(launcher)
        launcher.start()
        return launcher

    yield start
    for launcher in launchers:
        launcher.close()
        print(f'--- {launcher.log}\n{launcher.log.read_text()}')  # shown when the test fails
