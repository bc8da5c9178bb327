import pytest

from ci_site import Site


@pytest.fixture
def site(tmp_path):
    site = Site(tmp_path)
    for name, rights in {'gitlab': {}, 'jenkins': {'max-nodes': 2}, 'viewer': {'scope': 'read', 'rate': 100000},
                         'boss': {'scope': 'admin', 'rate': 100000}}.items():
        site.add_token(name, **rights)
    yield site
    site.close()
