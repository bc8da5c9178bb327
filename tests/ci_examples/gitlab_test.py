"""docs/ci/gitlab-runner, with jobs as gitlab-runner has them (gitlab_runner.py)."""
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import uuid

import pytest

from installation import LABEL, is_alive, run
from launcher import wait_until

HERE = pathlib.Path(__file__).parent
EXAMPLE = HERE.parents[1] / 'docs/ci/gitlab-runner'
INSTALLED = '/etc/gitlab-runner/nodepool'


class Runner:
    """A host with the example as it is installed there: the executables are those of the manual, with settings of its own."""

    def __init__(self, installation, directory):
        self.installation = installation
        self.directory = directory
        self.jobs = []
        directory.mkdir()
        for file in EXAMPLE.iterdir():
            if file.name not in ('settings', 'config.toml', 'README.md'):
                (directory / file.name).symlink_to(file)
        (directory / 'config.toml').write_text((EXAMPLE / 'config.toml').read_text().replace(INSTALLED, str(directory)))
        self.write_settings()

    def write_settings(self, **changes):
        """The manual's, with other values."""
        values = {'NODEPOOL_URL': self.installation.url, 'NODEPOOL_TOKEN_FILE': self.installation.token_file,
                  'ssh_key': self.installation.sshd.client_key, 'margin': 300, **changes}
        text = (EXAMPLE / 'settings').read_text()
        for name, value in values.items():
            text, count = re.subn(rf'^((?:export )?{name})=.*$', rf'\1={value}', text, flags=re.MULTILINE)
            assert count == 1, name
        (self.directory / 'settings').write_text(text)

    def start(self, timeout=3600, variables=None, **scripts):
        self.jobs.append(Job(self, {'CI_JOB_TIMEOUT': str(timeout), **(variables or {})}, scripts))
        return self.jobs[-1]

    def run(self, *arguments, **options):
        """The result of a job."""
        job = self.start(*arguments, **options)
        return job.result()


class Job:
    def __init__(self, runner, variables, scripts):
        self.id = uuid.uuid4().hex
        self.directory = runner.directory / self.id
        self.directory.mkdir()
        job = {'scripts': scripts, 'variables': {'CI_JOB_ID': self.id, 'CI_SERVER_HOST': 'gitlab.example.org',
                                                 'CI_JOB_IMAGE': LABEL, **variables}}
        (self.directory / 'job.json').write_text(json.dumps(job))
        with (self.directory / 'trace').open('w') as trace:
            self.process = subprocess.Popen(
                [sys.executable, HERE / 'gitlab_runner.py', runner.directory / 'config.toml', self.directory / 'job.json',
                 self.directory / 'result.json'], stdout=trace, stderr=subprocess.STDOUT,
                env={**runner.installation.environment, 'TMPDIR': str(self.directory)})

    def trace(self):
        return (self.directory / 'trace').read_text()

    def result(self):
        assert self.process.wait(60) == 0, self.trace()
        return json.loads((self.directory / 'result.json').read_text())

    def files_on_node(self):
        return pathlib.Path(f'/tmp/gitlab-{self.id}')

    def pid_of_script(self):
        """Of the script that is running, which has written it down."""
        file = self.files_on_node() / 'pid'
        return int(wait_until('the script runs', lambda: file.exists() and file.read_text()))


LONG_SCRIPT = 'cd "$(dirname "$0")"; echo $$ >pid.new; mv pid.new pid; sleep 1000'


@pytest.fixture
def runner(installation, tmp_path):
    runner = Runner(installation, tmp_path / 'runner')
    yield runner
    for job in runner.jobs:  # of a runner that died
        shutil.rmtree(job.files_on_node(), ignore_errors=True)


@pytest.mark.smoke
def test_a_job_runs_on_its_node(installation, runner):
    job = runner.start(build_script='echo "reached by port ${SSH_CONNECTION##* }"; cat; echo done')
    assert job.result() == {'result': 'success'}
    assert f'reached by port {installation.sshd.port}' in job.trace()
    for stage in ('prepare_script', 'after_script', 'cleanup_file_variables'):
        assert f'stage {stage}' in job.trace()
    assert not job.files_on_node().exists()
    installation.wait_until_free()


def test_the_tests_statuses_are_the_jobs(installation, runner):
    assert runner.run(build_script='exit 3') == {'result': 'build failure', 'exit_code': 3}
    assert runner.run(build_script='exit 255') == {'result': 'build failure', 'exit_code': 254}
    assert runner.run(build_script='kill -9 $$') == {'result': 'build failure', 'exit_code': 137}
    installation.wait_until_free()


def test_a_cancelled_job_leaves_nothing_on_its_node(installation, runner):
    job = runner.start(build_script=LONG_SCRIPT)
    pid = job.pid_of_script()
    job.process.send_signal(signal.SIGTERM)
    assert job.result()['result'] == 'cancelled'
    installation.wait_until_free()
    assert not job.files_on_node().exists()
    wait_until('the script has ended', lambda: not is_alive(pid))


def test_a_job_that_is_cancelled_while_it_waits_leaves_no_request(installation, runner):
    first = runner.start(build_script=LONG_SCRIPT)
    first.pid_of_script()
    second = runner.start()
    wait_until('it waits', installation.requests)
    second.process.send_signal(signal.SIGTERM)
    assert second.result()['result'] == 'cancelled'
    wait_until('nobody waits', lambda: not installation.requests())
    first.process.send_signal(signal.SIGTERM)
    first.result()
    installation.wait_until_free()


def test_the_node_of_a_runner_that_died_comes_back_when_the_lease_ends(installation, runner):
    runner.write_settings(margin=3)
    job = runner.start(timeout=5, build_script=LONG_SCRIPT)
    pid = job.pid_of_script()
    job.process.kill()
    job.process.wait()
    assert installation.leases()
    installation.wait_until_free()
    # Nothing of the job is left to disturb the next one.
    wait_until('the script has ended', lambda: not is_alive(pid))


def test_a_runner_that_starts_again_returns_what_it_had(installation, runner):
    job = runner.start(build_script=LONG_SCRIPT)
    job.pid_of_script()
    job.process.kill()
    job.process.wait()
    unit = (EXAMPLE / 'return-at-start.conf').read_text().replace(INSTALLED, str(runner.directory))
    command = re.search(r"^ExecStartPre=-/bin/sh -c '(.*)'$", unit, re.MULTILINE).group(1)
    assert 'Released' in run(['/bin/sh', '-c', command], env=installation.environment)
    installation.wait_until_free()


def stage_environment(installation, directory, job_id):
    directory.mkdir()
    return {**installation.environment, 'TMPDIR': str(directory), 'CUSTOM_ENV_CI_JOB_ID': job_id,
            'CUSTOM_ENV_CI_JOB_IMAGE': LABEL, 'BUILD_FAILURE_EXIT_CODE': '1', 'SYSTEM_FAILURE_EXIT_CODE': '2'}


def test_a_job_that_asks_twice_has_one_lease(installation, runner, tmp_path):
    environment = stage_environment(installation, tmp_path / 'attempt', uuid.uuid4().hex)
    first = run([runner.directory / 'prepare'], env=environment)
    second = run([runner.directory / 'prepare'], env=environment)
    assert first == second
    assert len(installation.leases()) == 1
    run([runner.directory / 'cleanup'], env=environment)
    installation.wait_until_free()


def test_a_node_that_cannot_be_used_is_asked_for_again_and_given_back(installation, runner):
    runner.write_settings(ssh_key='/nonexistent')
    job = runner.start()
    assert job.result() == {'result': 'system failure'}
    assert job.trace().count('cannot be used') == 3
    installation.wait_until_free()


def test_a_launcher_may_be_away_for_a_while(installation, runner):
    installation.launcher.stop()
    job = runner.start()
    wait_until('it has asked in vain', lambda: 'no launcher responds' in job.trace())
    installation.launcher.start()
    assert job.result() == {'result': 'success'}
    installation.wait_until_free()


def test_a_job_cannot_pass_options(installation, runner):
    job = runner.start(variables={'CI_JOB_IMAGE': '--inventory=/tmp/x'})
    assert job.result() == {'result': 'system failure'}
    assert 'image: must be a label' in job.trace()
    assert not installation.leases()


@pytest.mark.parametrize('name, value', [('CI_JOB_TIMEOUT', 'a[$(touch {})]'), ('CI_JOB_TIMEOUT', '60+a[$(touch {})0]'),
                                         ('CI_JOB_TIMEOUT', '0x10'), ('CI_JOB_TIMEOUT', '1' * 30),
                                         ('CI_JOB_TIMEOUT', '60\n60'), ('CI_JOB_ID', '1; touch {}'),
                                         ('CI_JOB_ID', '1/../x'), ('CI_JOB_ID', '1", "job_env": {{"ENV": "{}"}}, "x": "')])
@pytest.mark.parametrize('shell', ['sh', 'bash'])
def test_a_jobs_variables_run_nothing_on_the_runners_host(tmp_path, shell, name, value):
    made = tmp_path / 'made'
    environment = {'PATH': '/usr/bin:/bin', 'TMPDIR': str(tmp_path), 'SYSTEM_FAILURE_EXIT_CODE': '2',
                   'CUSTOM_ENV_CI_JOB_ID': '12', f'CUSTOM_ENV_{name}': value.format(made)}
    for stage in ('config', 'prepare', 'run', 'cleanup'):
        done = subprocess.run([shell, EXAMPLE / stage, '/dev/null', 'build_script'], env=environment, capture_output=True,
                              text=True, timeout=60)
        assert done.returncode == 2 and f'{name} must be' in done.stderr and not done.stdout, (stage, done)
    assert not made.exists()
