import os
import signal

import pytest

from azure_cloud import AzureCloud


def pytest_configure():
    # If the suite is terminated, the fixtures stop what they have started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.fixture(scope='session')
def stand_in(tmp_path_factory):
    cloud = AzureCloud(tmp_path_factory.mktemp('azure'), os.environ['AZURE_JUDGE'])
    try:
        yield cloud
    finally:
        cloud.stop()


@pytest.fixture
def unjudged(stand_in):
    """The cloud as it starts, for tests that make wrong calls."""
    stand_in.reset()
    return stand_in


@pytest.fixture
def cloud(unjudged):
    """The cloud as it starts. At the end, the judge must have found all calls and answers right."""
    yield unjudged
    assert unjudged.problems() == []
