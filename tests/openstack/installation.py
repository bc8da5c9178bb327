"""A launcher of this project and its commands, beside the cloud."""
import contextlib
import json
import signal
import subprocess

from launcher import PATIENCE, Launcher, wait_until


class Request:
    """A `nodepool request` under way."""

    def __init__(self, launcher, labels, lease):
        self.process = subprocess.Popen(
            [*launcher.command(), 'request', *labels, '--lease', lease, '--json'], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=launcher.environment)

    def lease(self):
        """The fulfilled request: its id and the records of the nodes."""
        output, error = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0, f'{output}{error}'
        return json.loads(output)

    def refusal(self):
        """Why no pool could fulfil the request."""
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
    """A launcher with the embedded store, which finds the cloud's clouds.yaml."""

    def __init__(self, directory, cloud, providers, more=None):
        labels = sorted({label for provider in providers for pool in provider['pools']
                         for label in self.labels_of(pool)})
        super().__init__(directory, {'store': f'sqlite://{directory}/nodepool.db',
                                     'labels': [{'name': label} for label in labels],
                                     'providers': providers, **(more or {})},
                         {'OS_CLIENT_CONFIG_FILE': str(cloud.clouds_yaml)})
        self.requests = []

    @staticmethod
    def labels_of(pool):
        if 'nodes' in pool:
            return [label for node in pool['nodes'] for label in node['labels']]
        return [label['name'] for label in pool['labels']]

    def nodes(self):
        """The records of all nodes."""
        return json.loads(self.run('list', '--detail', '--json'))

    def ask(self, *labels, lease='1h'):
        """Asks for nodes without waiting for them."""
        self.requests.append(Request(self, labels, lease))
        return self.requests[-1]

    def release(self, lease):
        self.run('release', lease['lease'])

    def await_no_nodes(self):
        wait_until('all nodes are gone', lambda: not self.nodes())

    @contextlib.contextmanager
    def suspended(self):
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def close(self):
        for request in self.requests:
            request.withdraw()
        self.stop()
