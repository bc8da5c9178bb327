"""One job, as gitlab-runner runs it with a custom executor: the stages, their order, arguments, environment and directory,
what an exit status means, how often prepare is tried, what a cancelled job gets. The runner itself is in no archive that this
suite uses; to the executables this looks the same.

    gitlab_runner.py config.toml JOB.json RESULT.json

The job has `scripts`, by stage, and `variables`. SIGTERM cancels it. The result is success, build failure or system failure."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib

STAGES = ['prepare_script', 'get_sources', 'restore_cache', 'download_artifacts', 'build_script', 'after_script',
          'archive_cache', 'upload_artifacts_on_success', 'cleanup_file_variables']
ALWAYS = ['after_script', 'cleanup_file_variables']
BUILD_FAILURE, SYSTEM_FAILURE = 51, 52  # they may be any: only the variables count
ATTEMPTS = 3


class Failed(Exception):
    pass


class Cancelled(Exception):
    pass


class Attempt:
    """An executor: made for each attempt to prepare."""

    def __init__(self, custom, variables):
        self.custom = custom
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix='custom-executor'))
        self.exit_code = self.directory / 'exit_code'
        (self.directory / 'response.json').write_text('{}')
        self.environment = {**os.environ, 'TMPDIR': str(self.directory), 'BUILD_FAILURE_EXIT_CODE': str(BUILD_FAILURE),
                            'SYSTEM_FAILURE_EXIT_CODE': str(SYSTEM_FAILURE), 'BUILD_EXIT_CODE_FILE': str(self.exit_code),
                            'JOB_RESPONSE_FILE': str(self.directory / 'response.json'),
                            **{f'CUSTOM_ENV_{name}': value for name, value in variables.items()}}

    def call(self, stage, *arguments, output=None):
        process = subprocess.Popen([self.custom[f'{stage}_exec'], *arguments], cwd=self.directory, env=self.environment,
                                   stdout=output, text=True, process_group=0)
        try:
            out = process.communicate()[0]
        except Cancelled:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(self.custom['graceful_kill_timeout'])
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            raise
        if process.returncode == BUILD_FAILURE:
            raise Failed('build failure')
        if process.returncode != 0:
            raise Failed('system failure')
        return out

    def prepare(self):
        config = json.loads(self.call('config', output=subprocess.PIPE))
        assert config['driver']['name'] and config['builds_dir'].startswith('/') and config['cache_dir'].startswith('/')
        self.call('prepare')

    def run(self, stage, script):
        directory = pathlib.Path(tempfile.mkdtemp(prefix='script', dir=self.directory))
        (directory / 'script.sh').write_text(script)
        self.call('run', directory / 'script.sh', stage)

    def cleanup(self):
        try:
            self.call('cleanup')
        except Failed as failure:
            print('Cleanup script failed:', failure)
        shutil.rmtree(self.directory)


def prepared(custom, variables):
    for attempt in range(1, ATTEMPTS + 1):
        executor = Attempt(custom, variables)
        try:
            executor.prepare()
            return executor
        except (Failed, Cancelled) as failure:
            executor.cleanup()
            if attempt == ATTEMPTS or str(failure) != 'system failure':
                raise


def run_job(custom, job, result):
    executor = prepared(custom, job['variables'])
    try:
        for stage in STAGES:
            if result['result'] == 'success' or stage in ALWAYS:
                try:
                    executor.run(stage, job['scripts'].get(stage, f'echo stage {stage}'))
                except Failed as failure:
                    result['result'] = str(failure)
        if executor.exit_code.exists():
            result['exit_code'] = int(executor.exit_code.read_text())
    finally:
        executor.cleanup()


def cancel(*_):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Cancelled('cancelled')


def main(config, job, result_file):
    runner = tomllib.loads(pathlib.Path(config).read_text())['runners'][0]
    assert runner['executor'] == 'custom' and runner['builds_dir'] and runner['cache_dir']
    signal.signal(signal.SIGTERM, cancel)
    result = {'result': 'success'}
    try:
        run_job(runner['custom'], json.loads(pathlib.Path(job).read_text()), result)
    except (Failed, Cancelled) as failure:
        result['result'] = str(failure)
    pathlib.Path(result_file).write_text(json.dumps(result))


main(*sys.argv[1:])
