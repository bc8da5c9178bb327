"""Daemons of this project with a configuration, and its commands, for suites in Python."""
import json
import os
import pathlib
import signal
import subprocess
import time

BINARIES = pathlib.Path(os.environ['NODEPOOL_BINARIES'])
PATIENCE = 300  # seconds; large, so that results do not depend on the load


def wait_until(what, condition, patience=PATIENCE):
    """Waits for a true value of condition() and returns it. Raises TimeoutError with `what`."""
    deadline = time.monotonic() + patience
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f'timed out: {what}')
        time.sleep(0.02)
    return value


class CommandFailed(RuntimeError):
    def __init__(self, arguments, status, output):
        super().__init__(f'{arguments}: exit status {status}: {output}')
        self.status = status
        self.output = output


class Daemon:
    """A process that ends on a signal. daemon() is its command line; its output goes to the log."""

    def __init__(self, log, environment):
        self.log = log
        self.environment = environment
        self.process = None

    def start(self):
        with self.log.open('a') as log:
            self.process = subprocess.Popen(self.daemon(), stdout=log, stderr=subprocess.STDOUT,
                                            env=self.environment)

    def stop(self, number=signal.SIGINT):
        """Stops it and returns its exit status."""
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
        """Kills it, like a crash."""
        self.stop(signal.SIGKILL)


class Launcher(Daemon):
    """A launcher of this project. `content` is the content of its nodepool.yaml."""

    def __init__(self, directory, content, environment=None):
        directory.mkdir(parents=True)
        self.web_options = [] if 'webapp' in content else ['--no-webapp']
        super().__init__(directory / 'log', {**os.environ, **(environment or {})})
        self.config = directory / 'nodepool.yaml'
        self.config.write_text(json.dumps({**self.own_keys(directory), **content}, indent=1))  # JSON is YAML

    def own_keys(self, directory):
        """Keys of the configuration in addition to the content."""
        return {'history': {'directory': str(directory)}}

    def daemon(self):
        return [BINARIES / 'nodepool-launcher', '-f', *self.web_options, '-c', self.config]

    def command(self):
        return [BINARIES / 'nodepool', '-c', self.config]

    def run(self, *arguments):
        """Runs a command and returns its output. Raises CommandFailed."""
        done = subprocess.run([*self.command(), *arguments], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=PATIENCE, env=self.environment)
        if done.returncode != 0:
            raise CommandFailed(arguments, done.returncode, done.stdout + done.stderr)
        return done.stdout
