"""Daemons of this project for suites written in Python, each with a configuration, and the commands."""
import json
import os
import pathlib
import signal
import subprocess
import time

BINARIES = pathlib.Path(os.environ['NODEPOOL_BINARIES'])
PATIENCE = 300  # seconds: no verdict depends on how busy the machine is


def wait_until(what, condition, patience=PATIENCE):
    """Returns the first true value of condition(); throws with `what` when it takes too long."""
    deadline = time.monotonic() + patience
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f'not in time: {what}')
        time.sleep(0.02)
    return value


class CommandFailed(RuntimeError):
    def __init__(self, arguments, status, output):
        super().__init__(f'{arguments}: exit status {status}: {output}')
        self.status = status
        self.output = output


class Daemon:
    """A process that ends at a signal. daemon() is its command line; its output goes to the log."""

    def __init__(self, log, environment):
        self.log = log
        self.environment = environment
        self.process = None

    def start(self):
        with self.log.open('a') as log:
            self.process = subprocess.Popen(self.daemon(), stdout=log, stderr=subprocess.STDOUT,
                                            env=self.environment)

    def stop(self, number=signal.SIGINT):
        """Ends it and returns its exit status."""
        if self.process is None:
            return None
        self.process.send_signal(number)
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.process = None
        return status

    def kill(self):
        """As a crash would."""
        self.stop(signal.SIGKILL)


class Launcher(Daemon):
    """A launcher of this project. `content` is what its nodepool.yaml says."""

    def __init__(self, directory, content, environment=None):
        directory.mkdir(parents=True)
        self.web_options = [] if 'webapp' in content else ['--no-webapp']
        super().__init__(directory / 'log', {**os.environ, **(environment or {})})
        self.config = directory / 'nodepool.yaml'
        self.config.write_text(json.dumps({**self.own_keys(directory), **content}, indent=1))  # JSON is YAML

    def own_keys(self, directory):
        """Of the configuration, besides the content."""
        return {'history': {'directory': str(directory)}}

    def daemon(self):
        return [BINARIES / 'nodepool-launcher', '-f', *self.web_options, '-c', self.config]

    def command(self):
        return [BINARIES / 'nodepool', '-c', self.config]

    def run(self, *arguments):
        """The output of a command; throws CommandFailed."""
        done = subprocess.run([*self.command(), *arguments], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=PATIENCE, env=self.environment)
        if done.returncode != 0:
            raise CommandFailed(arguments, done.returncode, done.stdout + done.stderr)
        return done.stdout
