"""A launcher that makes its nodes in a simulated cloud, for suites in Python."""
import contextlib
import json
import signal
import subprocess

from launcher import PATIENCE, Launcher, wait_until


class Request:
    """A `nodepool request` under way."""

    def __init__(self, launcher, labels):
        self.process = subprocess.Popen(
            [*launcher.command(), 'request', *labels, '--lease', '1h', '--json'], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=launcher.environment)

    def lease(self):
        """The fulfilled request: its id and the records of the nodes."""
        output, error = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0, f'{output}{error}'
        return json.loads(output)

    def refusal(self):
        output, error = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 2, f'{output}{error}'
        return output + error

    def is_waiting(self):
        return self.process.poll() is None

    def withdraw(self):
        if self.is_waiting():
            self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=PATIENCE)


class CloudLauncher(Launcher):
    """A launcher with the embedded store. `environment`: where it finds the cloud, and its credentials. `content`: more
    keys of the configuration."""

    def __init__(self, directory, providers, environment, **content):
        labels = sorted({label['name'] for provider in providers for pool in provider['pools']
                         for label in pool['labels']})
        super().__init__(directory, {'store': f'sqlite://{directory}/nodepool.db',
                                     'labels': [{'name': label} for label in labels],
                                     'providers': providers, **content}, environment)
        self.requests = []

    def nodes(self):
        return json.loads(self.run('list', '--detail', '--json'))

    def ask(self, *labels):
        self.requests.append(Request(self, labels))
        return self.requests[-1]

    def release(self, lease):
        self.run('release', lease['lease'])

    def await_no_nodes(self):
        wait_until('all nodes are gone', lambda: not self.nodes())

    def close(self):
        for request in self.requests:
            request.withdraw()
        if self.process is not None:
            self.stop()


@contextlib.contextmanager
def launchers(directory):
    """Starts launchers, each with a store of its own: start(environment, provider, …, more keys=…). Stops them at the
    end."""
    started = []

    def start(environment, *providers, **content):
        launcher = CloudLauncher(directory / f'launcher{len(started)}', providers, environment, **content)
        started.append(launcher)
        launcher.start()
        return launcher

    with contextlib.ExitStack() as at_the_end:
        yield start
        for launcher in started:
            at_the_end.callback(launcher.close)
            print(f'--- {launcher.log}\n{launcher.log.read_text()}')  # shown when the test fails
