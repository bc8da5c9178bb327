"""Every configuration that the Python Nodepool ships for its own tests, and accepts, is accepted."""

import os
import pathlib
import string
import subprocess
import tempfile

import nodepool
import pytest
from nodepool.cmd.config_validator import ConfigValidator

FIXTURES = pathlib.Path(nodepool.__file__).parent / 'tests' / 'fixtures'

# As its tests fill them in.
VALUES = {
    'images_dir': '/images',
    'build_log_dir': '/logs',
    'zookeeper_host': 'zk',
    'zookeeper_port': '2281',
    'zookeeper_chroot': '/chroot',
    'zookeeper_ca': '/ca',
    'zookeeper_cert': '/cert',
    'zookeeper_key': '/key',
}


# Accepted by its validator alone: its daemons refuse them, and what is wrong is what we say.
MISTAKES = {'config_validate/metastatic_error.yaml': ['max-age must be equal for both'],
            'config_validate/good.yaml': ['the label `debian-stretch` is not defined',
                                          'the label `small-node` is not defined']}


class Values(dict):
    """Whatever else a file wants to have filled in is a number."""

    def __missing__(self, key):
        return '1'


def configurations():
    return sorted(path.relative_to(FIXTURES).as_posix() for path in FIXTURES.rglob('*.yaml'))


def filled_in(name):
    text = (FIXTURES / name).read_text()
    if name.startswith('config_validate/'):
        return text
    return string.Formatter().vformat(text, (), Values(VALUES))


def is_accepted_by_it(name, directory):
    path = directory / 'nodepool.yaml'
    path.write_text(filled_in(name))
    try:
        return not ConfigValidator(str(path)).validate()
    except Exception:
        return False


def accepted_configurations():
    os.environ.setdefault('NODEPOOL_PORT', '8005')  # which one of them asks for
    with tempfile.TemporaryDirectory() as directory:
        return [name for name in configurations() if is_accepted_by_it(name, pathlib.Path(directory))]


def problems_of(log):
    """The lines of a refusal, without the heading."""
    lines = [line.split('config_validator: ', 1)[1] for line in log.splitlines()
             if ' ERROR nodepool.config_validator: ' in line]
    return lines[1:]


@pytest.mark.parametrize('name', accepted_configurations())
def test_what_it_accepts_is_accepted_but_for_drivers_that_are_not_there(name, tmp_path):
    path = tmp_path / 'nodepool.yaml'
    path.write_text(filled_in(name))
    program = pathlib.Path(os.environ['NODEPOOL_BINARIES']) / 'nodepool'
    ours = subprocess.run([program, '-c', path, 'config-validate'], capture_output=True, text=True,
                          env={**os.environ, 'OS_CLIENT_CONFIG_FILE': str(tmp_path / 'none')},
                          timeout=60)
    problems = problems_of(ours.stderr)
    missing = [line for line in problems if 'this release has no driver' in line]
    in_tree = [line for line in problems if 'unknown driver `test`' in line]
    mistakes = [line for mistake in MISTAKES.get(name, []) for line in problems if mistake in line]
    assert problems == missing + in_tree + mistakes, ours.stderr
    assert len(mistakes) == len(MISTAKES.get(name, []))
    assert ours.returncode == (1 if problems else 0), ours.stderr
