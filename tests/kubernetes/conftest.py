import json
import os
import pathlib
import signal

import pytest

from api import as_admin
from control_plane import ControlPlane
from installation import KubeLauncher
from launcher import wait_until
from pods import Kubelet
from projects import ProjectApi


def pytest_configure():
    # Whoever ends the suite lets the fixtures end what they have started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.fixture(scope='session')
def plane(tmp_path_factory):
    """The cluster; started once, or the one of the folder KUBERNETES_CLUSTER, which is left running."""
    if folder := os.environ.get('KUBERNETES_CLUSTER'):
        plane = ControlPlane(folder)
        plane.start()  # what of it does not run
        yield plane
        return
    plane = ControlPlane(tmp_path_factory.mktemp('cluster'))
    try:
        plane.start()
        yield plane
    finally:
        plane.stop()


@pytest.fixture(scope='session')
def admin(plane):
    return as_admin(plane)


def of_tests(namespace):
    """Whether a test has left it."""
    return namespace['metadata']['name'].startswith(('main-', 'shift-', 'ci-'))


@pytest.fixture
def empty(admin):
    """A cluster in which nothing is left of the test before."""
    def left():
        return [each['metadata']['name'] for each in admin.items('/api/v1/namespaces') if of_tests(each)]
    for name in left():
        admin.delete(f'/api/v1/namespaces/{name}')
    wait_until('nothing is left', lambda: not left(), 120)


@pytest.fixture
def kubelet(admin, empty):
    kubelet = Kubelet(admin)
    kubelet.start()
    yield kubelet
    kubelet.stop()


@pytest.fixture
def nodepool(plane, kubelet, tmp_path):
    """Starts launchers, each with a store of its own: nodepool(provider, …, kubeconfig=…)."""
    launchers = []

    def start(*providers, kubeconfig=None, labels=()):
        folder = pathlib.Path(tmp_path / f'launcher{len(launchers)}')
        launcher = KubeLauncher(folder, kubeconfig or plane.kubeconfig, providers, labels)
        launchers.append(launcher)
        launcher.start()
        return launcher

    yield start
    for launcher in launchers:
        launcher.close()
        print(f'--- {launcher.log}\n{launcher.log.read_text()}')  # shown when the test fails


@pytest.fixture(scope='session')
def projects(plane, admin):
    """OpenShift's projects."""
    served = ProjectApi(plane, admin)
    try:
        wait_until('projects are served', served.is_served)
        yield served
    finally:
        served.stop()


@pytest.fixture
def as_user(plane, tmp_path):
    """A kubeconfig for somebody without any rights but those that a test gives: as_user(name)."""
    def write(name):
        path = tmp_path / f'kubeconfig-{name}'
        path.write_text(json.dumps(plane.config_of(name, {'token': 'admin-token', 'as': name})))
        return path
    return write
