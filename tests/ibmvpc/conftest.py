import signal

import pytest

from ibm_cloud import IbmCloud


def pytest_configure():
    # Fixtures stop what they have started when the suite is terminated.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.fixture(scope='session')
def server(tmp_path_factory):
    cloud = IbmCloud(tmp_path_factory.mktemp('ibmvpc'))
    try:
        yield cloud
    finally:
        cloud.stop()


@pytest.fixture
def any_calls(server):
    """The cloud as at the start, for tests whose calls it refuses."""
    server.reset()
    return server


@pytest.fixture
def cloud(any_calls):
    """The test fails if a call or an answer is not as IBM's models say."""
    yield any_calls
    assert any_calls.problems() == []

