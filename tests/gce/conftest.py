import signal

import pytest

from gce_cloud import GceCloud


def pytest_configure():
    # Whoever ends the suite lets the fixtures end what they have started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.fixture(scope='session')
def server(tmp_path_factory):
    cloud = GceCloud(tmp_path_factory.mktemp('gce'))
    try:
        yield cloud
    finally:
        cloud.stop()


@pytest.fixture
def any_calls(server):
    """The cloud with nothing of the tests in it, for tests that make calls which it refuses."""
    server.reset()
    return server


@pytest.fixture
def cloud(any_calls):
    """Whatever a test does, all calls and answers are in order."""
    yield any_calls
    assert any_calls.problems() == []
