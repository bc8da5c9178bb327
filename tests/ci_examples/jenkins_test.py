"""docs/ci/jenkins: its Jenkinsfile, library and scripts, run by Groovy with Jenkins' steps (jenkins.groovy)."""
import json
import pathlib
import subprocess

import pytest

from installation import LABEL, is_alive, run
from launcher import wait_until
from project import Project

HERE = pathlib.Path(__file__).parent
EXAMPLE = HERE.parents[1] / 'docs/ci/jenkins'
SUCCESS, FAILURE, ABORTED = 0, 1, 2


class Build:
    def __init__(self, installation, directory, project, lease='70m'):
        self.directory = directory
        directory.mkdir()
        pipeline = (EXAMPLE / 'Jenkinsfile').read_text()
        assert "lease: '70m'" in pipeline
        settings = {'library': str(EXAMPLE), 'pipeline': pipeline.replace('70m', lease),
                    'workspace': str(project.directory), 'temporary': str(directory), 'abort': str(directory / 'abort'),
                    'environment': {'BUILD_TAG': f'jenkins-tool-{directory.name}', 'NODEPOOL_URL': installation.url},
                    'credentials': {'nodepool-token': installation.token,
                                    'nodepool-ssh': str(installation.sshd.client_key)}}
        (directory / 'settings.json').write_text(json.dumps(settings))
        with (directory / 'log').open('w') as log:
            self.process = subprocess.Popen(['groovy', HERE / 'jenkins.groovy', directory / 'settings.json'],
                                            env=installation.environment, stdout=log, stderr=subprocess.STDOUT)

    def log(self):
        return (self.directory / 'log').read_text()

    def abort(self):
        (self.directory / 'abort').touch()

    def result(self):
        return self.process.wait(60)

    def die(self):
        """With the agent that it runs on."""
        self.process.kill()
        self.process.wait()


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path / 'project')


@pytest.fixture
def start(installation, tmp_path, project):
    builds = []

    def start(**more):
        builds.append(Build(installation, tmp_path / f'build{len(builds)}', project, **more))
        return builds[-1]

    return start


@pytest.mark.smoke
def test_a_build_is_tested_on_its_node(installation, project, start):
    project.has_tests('echo "on a node: port ${SSH_CONNECTION##* }"')
    build = start()
    assert build.result() == SUCCESS, build.log()
    assert f'on a node: port {installation.sshd.port}' in build.log()
    installation.wait_until_free()
    assert not list(installation.sshd.home.iterdir())
    # Neither the key nor anything else of the step stays with the agent.
    assert not list(build.directory.glob('nodepool-*'))


def test_tests_that_fail_fail_the_build(installation, project, start):
    project.has_tests('exit 3')
    build = start()
    assert build.result() == FAILURE, build.log()
    assert 'exit code 3' in build.log()
    installation.wait_until_free()


def test_an_aborted_build_leaves_nothing_on_its_node(installation, project, start):
    project.has_tests(project.long_test)
    build = start()
    pid = project.wait_until_tested()
    build.abort()
    assert build.result() == ABORTED, build.log()
    wait_until('the tests have ended', lambda: not is_alive(pid))
    installation.wait_until_free()


def test_a_build_that_is_aborted_while_it_waits_leaves_no_request(installation, project, start):
    project.has_tests(project.long_test)
    first = start()
    project.wait_until_tested()
    second = start()
    wait_until('it waits', installation.requests)
    second.abort()
    assert second.result() == ABORTED, second.log()
    wait_until('nobody waits', lambda: not installation.requests())
    first.abort()
    first.result()
    installation.wait_until_free()


def test_the_node_of_an_agent_that_died_comes_back_when_the_lease_ends(installation, project, start):
    project.has_tests(project.long_test)
    build = start(lease='8s')
    project.wait_until_tested()
    build.die()
    assert installation.leases()
    installation.wait_until_free()
    project.end_tests()


def test_a_repeated_request_has_one_lease(installation, tmp_path):
    scripts = EXAMPLE / 'resources/nodepool'
    directory = tmp_path / 'nodepool'
    environment = {**installation.environment, 'NODEPOOL_URL': installation.url, 'NODEPOOL_TOKEN': installation.token,
                   'NODEPOOL_DIRECTORY': str(directory), 'NODEPOOL_SSH_CONFIG': str(directory / 'ssh'),
                   'NODEPOOL_SSH_KEY': str(installation.sshd.client_key), 'NODEPOOL_KEY': 'build 4',
                   'NODEPOOL_LEASE': '10m', 'NODEPOOL_LABELS': LABEL}
    for _ in range(2):
        run(['sh', scripts / 'ask.sh'], env=environment)
        assert len(installation.leases()) == 1
    run(['sh', scripts / 'return.sh'], env=environment)
    installation.wait_until_free()
