"""docs/ci/github-actions, its jobs run as the runners of GitHub and Forgejo do (actions_runner.py)."""
import json
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from installation import is_alive
from launcher import wait_until
from project import Project

HERE = pathlib.Path(__file__).parent
WORKFLOW = HERE.parents[1] / 'docs/ci/github-actions/nodepool.yml'
FAILED, DONE, LEFT_OUT = 'failure', 'success', 'skipped'


class Job:
    def __init__(self, installation, directory, project, name, lease=None):
        self.directory = directory
        directory.mkdir()
        (directory / 'temporary').mkdir()
        github = {'run_id': str(time.time_ns()), 'run_attempt': '1', 'repository': 'acme/tool'}
        context = {'github': github, 'matrix': {'label': 'debian-12'}, 'vars': {'NODEPOOL_URL': installation.url},
                   'secrets': {'NODEPOOL_TOKEN': installation.token,
                               'NODEPOOL_SSH_KEY': installation.sshd.client_key.read_text()},
                   'workspace': str(project.directory), 'temporary': str(directory / 'temporary'),
                   'env': {'LEASE': lease} if lease else {}}
        (directory / 'context.json').write_text(json.dumps(context))
        self.arguments = [sys.executable, HERE / 'actions_runner.py', WORKFLOW, name, directory / 'context.json',
                          directory / 'result.json']
        self.environment = installation.environment
        self.start()

    def start(self):
        with (self.directory / 'log').open('a') as log:
            self.process = subprocess.Popen(self.arguments, env=self.environment, stdout=log, stderr=subprocess.STDOUT)

    def log(self):
        return (self.directory / 'log').read_text()

    def result(self):
        assert self.process.wait(60) == 0, self.log()
        return json.loads((self.directory / 'result.json').read_text())


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path / 'project')


@pytest.fixture(params=['one-step', 'several-steps'])
def start(request, installation, tmp_path, project):
    return lambda: Job(installation, tmp_path / request.param, project, request.param)


@pytest.fixture
def start_steps(installation, tmp_path, project):
    return lambda **more: Job(installation, tmp_path / 'job', project, 'several-steps', **more)


@pytest.mark.smoke
def test_a_job_is_tested_on_its_node(installation, project, start):
    project.has_tests('echo "on a node: $PWD, port ${SSH_CONNECTION##* }"')
    job = start()
    assert job.result()['result'] == 'success', job.log()
    assert f'port {installation.sshd.port}' in job.log() and '/job-' in job.log()
    installation.wait_until_free()
    assert not list(installation.sshd.home.iterdir())


def test_tests_that_fail_fail_the_job(installation, project, start):
    project.has_tests('exit 3')
    job = start()
    assert job.result()['result'] == 'failure', job.log()
    installation.wait_until_free()


def test_the_node_is_returned_after_steps_that_failed(installation, project, start_steps):
    project.has_no_tests()
    job = start_steps()
    assert job.result()['steps'] == {'Lease a node': DONE, 'Copy the sources': DONE, 'Test': FAILED,
                                     'Release the node': DONE}
    installation.wait_until_free()


@pytest.mark.smoke
def test_nothing_of_a_cancelled_job_goes_on(installation, project, start):
    project.has_tests(project.long_test)
    job = start()
    pid = project.wait_until_tested()
    job.process.send_signal(signal.SIGTERM)
    assert job.result()['result'] == 'cancelled', job.log()
    wait_until('the tests have ended', lambda: not is_alive(pid))
    installation.wait_until_free()
    wait_until('its files are gone', lambda: not list(installation.sshd.home.iterdir()))


def test_a_job_that_is_cancelled_while_it_waits_leaves_no_request(installation, project, tmp_path, start):
    project.has_tests(project.long_test)
    first = Job(installation, tmp_path / 'first', project, 'several-steps')
    project.wait_until_tested()
    second = start()
    wait_until('it waits', installation.requests)
    second.process.send_signal(signal.SIGTERM)
    assert second.result()['result'] == 'cancelled'
    wait_until('nobody waits', lambda: not installation.requests())
    first.process.send_signal(signal.SIGTERM)
    first.result()
    installation.wait_until_free()


def test_the_node_of_a_runner_that_died_comes_back_when_the_lease_ends(installation, project, start_steps):
    project.has_tests(project.long_test)
    job = start_steps(lease='8s')
    project.wait_until_tested()
    job.process.kill()
    job.process.wait()
    assert installation.leases()
    installation.wait_until_free()
    project.end_tests()


def test_the_lease_of_one_step_is_short(installation, project, tmp_path):
    project.has_tests(project.long_test)
    job = Job(installation, tmp_path / 'job', project, 'one-step')
    project.wait_until_tested()
    assert installation.leases()[0]['expires'] < time.time() + 610  # 10 minutes, and the tolerance of clocks
    job.process.send_signal(signal.SIGTERM)
    job.result()
    project.end_tests()


def test_a_job_that_is_run_again_by_a_new_runner_has_one_lease(installation, project, start_steps):
    project.has_tests(project.long_test)
    job = start_steps()
    project.wait_until_tested()
    job.process.kill()
    job.process.wait()
    project.end_tests()
    project.has_tests('echo tested')
    job.start()
    # The directory is there already: what the job has done before is not done twice, and the node is returned.
    assert job.result()['steps']['Release the node'] == DONE, job.log()
    installation.wait_until_free()
