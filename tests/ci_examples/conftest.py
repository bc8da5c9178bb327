import pytest

from installation import Installation


@pytest.fixture
def installation(tmp_path):
    installation = Installation(tmp_path / 'installation')
    yield installation
    installation.close()
