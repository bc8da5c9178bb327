"""One job of a workflow, as the runners of GitHub and Forgejo run its steps: `run:` with the shell, the environment and the
files of a step, `if: always()`, expressions that name a value, what a cancelled job gets. Steps that use an action are left out:
the workspace is there.

    actions_runner.py WORKFLOW.yml JOB CONTEXT.json RESULT.json

The context has `github`, `secrets`, `vars`, `matrix` and, for the job's `env`, other values. SIGTERM cancels the job. The result
has what became of each step."""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import yaml

SHELLS = {None: ['bash', '-e'], 'bash': ['bash', '--noprofile', '--norc', '-eo', 'pipefail']}
GRACE = [(signal.SIGINT, 7.5), (signal.SIGTERM, 2.5)]  # seconds


class Cancelled(Exception):
    pass


def end(process):
    """First the process of the step alone is asked to; at last all that it has started is killed."""
    for number, seconds in GRACE:
        process.send_signal(number)
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            pass
    os.killpg(process.pid, signal.SIGKILL)
    return process.wait()


class Job:
    def __init__(self, workflow, name, context):
        self.workflow = workflow
        self.job = workflow['jobs'][name]
        self.context = context
        self.temporary = pathlib.Path(context['temporary'])
        self.environment = {**os.environ, 'CI': 'true', 'GITHUB_JOB': name, 'RUNNER_TEMP': str(self.temporary),
                            'GITHUB_WORKSPACE': context['workspace'],
                            **{f'GITHUB_{key.upper()}': value for key, value in context['github'].items()}}
        self.status = 'success'
        self.is_waiting = False
        self.groups = []
        for level in (workflow, self.job):
            self.environment |= self.evaluated(level.get('env', {}))
        self.environment |= context.get('env', {})

    def value(self, expression):
        where, key = expression.group(1).split('.')
        return str(self.context[where][key])

    def evaluated(self, environment):
        return {name: re.sub(r'\$\{\{ *([\w.-]+) *\}\}', self.value, str(text)) for name, text in environment.items()}

    def is_wanted(self, step):
        condition = step.get('if', 'success()')
        assert condition in ('success()', 'always()'), condition
        return condition == 'always()' or self.status == 'success'

    def run(self, number, step):
        script = self.temporary / f'step{number}.sh'
        script.write_text(step['run'])
        environment_file = self.temporary / f'step{number}.env'
        environment_file.touch()
        shell = SHELLS[step.get('shell', self.workflow.get('defaults', {}).get('run', {}).get('shell'))]
        environment = {**self.environment, **self.evaluated(step.get('env', {})), 'GITHUB_ENV': str(environment_file)}
        process = subprocess.Popen([*shell, script], cwd=self.context['workspace'], env=environment, process_group=0)
        self.groups.append(process.pid)
        try:
            self.is_waiting = True
            status = process.wait()
        except Cancelled:
            status = end(process)
        self.is_waiting = False
        self.environment |= dict(line.split('=', 1) for line in environment_file.read_text().splitlines())
        return status

    def cancel(self, *_):
        """The step that runs is ended; those that follow are not interrupted."""
        self.status = 'cancelled'
        if self.is_waiting:
            self.is_waiting = False
            raise Cancelled

    def run_all(self):
        conclusions = {}
        for number, step in enumerate(self.job['steps']):
            if 'run' not in step:
                continue
            if not self.is_wanted(step):
                conclusions[step['name']] = 'skipped'
                continue
            status = self.run(number, step)
            conclusions[step['name']] = 'success' if status == 0 else 'failure'
            if status != 0 and self.status == 'success':
                self.status = 'failure'
        self.kill_orphans()
        return {'result': self.status, 'steps': conclusions}

    def kill_orphans(self):
        """What steps have left behind ends with the job."""
        for group in self.groups:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)


def main(workflow, name, context, result):
    job = Job(yaml.safe_load(pathlib.Path(workflow).read_text()), name, json.loads(pathlib.Path(context).read_text()))
    signal.signal(signal.SIGTERM, job.cancel)
    # Steps would inherit that it is ignored, as in the background of a shell.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    pathlib.Path(result).write_text(json.dumps(job.run_all()))


main(*sys.argv[1:])
