"""docs/ci/buildbot: a master of Buildbot from PyPI with the latent worker, and its worker on the node."""
import http.client
import json
import pathlib
import sys
import urllib.error
import urllib.request

import pytest

from installation import is_alive, run
from launcher import Daemon, wait_until
from network import free_port
from project import Project

EXAMPLE = pathlib.Path(__file__).parents[2] / 'docs/ci/buildbot'
PROGRAMS = pathlib.Path(sys.executable).parent
SUCCESS, FAILURE, EXCEPTION, CANCELLED = 0, 2, 4, 6


class Master(Daemon):
    def __init__(self, installation, directory, project):
        self.directory = directory
        self.port = free_port()
        self.web = free_port()
        super().__init__(directory.parent / 'master.log', installation.environment)
        run([PROGRAMS / 'buildbot', 'create-master', directory], env=self.environment)
        (directory / 'nodepool_worker.py').symlink_to(EXAMPLE / 'nodepool_worker.py')
        self.values = {'https://launcher.example.org:8006': installation.url,
                       '/etc/buildbot/nodepool-token': str(installation.token_file),
                       '/etc/buildbot/id_ed25519': str(installation.sshd.client_key),
                       'master.example.org:9989': f'127.0.0.1:{self.port}', "'port': 9989": f"'port': {self.port}",
                       '8010': str(self.web), 'https://git.example.org/tool.git': str(project.directory),
                       'lease=600': f"lease=6, program='{PROGRAMS}/buildbot-worker'"}
        text = (EXAMPLE / 'master.cfg').read_text()
        for value, own in self.values.items():
            assert text.count(value) == 1, value
            text = text.replace(value, own)
        (directory / 'master.cfg').write_text(text)

    def configure(self, value, other):
        file = self.directory / 'master.cfg'
        file.write_text(file.read_text().replace(value, other))

    def daemon(self):
        return [PROGRAMS / 'buildbot', 'start', '--nodaemon', self.directory]

    def start(self):
        super().start()
        wait_until('the master answers', self.answers)

    def answers(self):
        assert self.process.poll() is None, self.log.read_text()
        try:
            return self.call('application.spec')
        except (urllib.error.URLError, ConnectionError):
            return False

    def call(self, path, method=None, **parameters):
        body = method and json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': method, 'params': parameters}).encode()
        request = urllib.request.Request(f'http://127.0.0.1:{self.web}/api/v2/{path}', body,
                                         {'Content-Type': 'application/json'})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def build(self):
        """Orders one; the id of the request for it."""
        return self.call('forceschedulers/force', 'force', builderNames=['tool'])['result'][0]

    def builds(self):
        """None of them if a busy master has cut its answer short: whoever waits asks again."""
        try:
            return self.call('builds')['builds']
        except http.client.IncompleteRead:
            return []

    def wait_for_result(self):
        return wait_until('the build is over', lambda: [build for build in self.builds() if build['complete']])[0]['results']

    def wait_until_building(self):
        return wait_until('there is a build', self.builds)[0]['number']

    def cancel(self, build):
        self.call(f'builders/1/builds/{build}', 'stop')


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path / 'project')


@pytest.fixture
def master(installation, tmp_path, project):
    master = Master(installation, tmp_path / 'master', project)
    master.start()
    yield master
    if master.process is not None:
        master.stop()


@pytest.mark.smoke
def test_a_build_runs_on_a_leased_node(installation, project, master):
    project.has_tests(f'echo "port ${{SSH_CONNECTION##* }}" >{project.pid_file}')
    master.build()
    assert master.wait_for_result() == SUCCESS, master.log.read_text()
    assert project.pid_file.read_text() == f'port {installation.sshd.port}\n'
    installation.wait_until_free()


def test_tests_that_fail_fail_the_build(installation, project, master):
    project.has_tests('exit 3')
    master.build()
    assert master.wait_for_result() == FAILURE
    installation.wait_until_free()


def test_a_cancelled_build_leaves_nothing_on_its_node(installation, project, master):
    project.has_tests(project.long_test)
    master.build()
    pid = project.wait_until_tested()
    master.cancel(1)
    assert master.wait_for_result() == CANCELLED
    installation.wait_until_free()
    assert not is_alive(pid)


def test_a_lease_is_renewed_while_it_is_used(installation, project, master):
    project.has_tests(project.long_test)
    master.build()
    project.wait_until_tested()
    expires = installation.leases()[0]['expires']
    wait_until('it is renewed', lambda: installation.leases()[0]['expires'] > expires)
    project.end_tests()
    master.wait_for_result()
    installation.wait_until_free()


def test_the_node_of_a_master_that_died_comes_back_when_the_lease_ends(installation, project, master):
    project.has_tests(project.long_test)
    master.build()
    pid = project.wait_until_tested()
    master.kill()
    assert installation.leases()
    # The worker does not outlive the connection.
    wait_until('the tests have ended', lambda: not is_alive(pid))
    installation.wait_until_free()


def test_a_launcher_may_be_away_while_a_node_is_asked_for(installation, project, master):
    project.has_tests('true')
    installation.launcher.stop()
    master.build()
    master.wait_until_building()
    installation.launcher.start()
    assert master.wait_for_result() == SUCCESS, master.log.read_text()
    installation.wait_until_free()


def test_an_unknown_label_ends_the_build(installation, project, master):
    master.stop()
    master.configure("label='debian-12'", "label='nothing'")
    master.start()
    master.build()
    assert master.wait_for_result() == EXCEPTION
    installation.wait_until_free()


def test_builds_wait_for_nodes(installation, project, master):
    project.has_tests('true')
    master.build()
    master.wait_until_building()  # Buildbot makes one build of alike requests that wait
    master.build()
    wait_until('both are over', lambda: [build['results'] for build in master.builds()] == [SUCCESS, SUCCESS])
    installation.wait_until_free()
