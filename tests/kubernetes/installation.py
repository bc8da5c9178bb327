"""A launcher of this project and its commands, beside the cluster."""
import contextlib
import json
import signal
import sqlite3
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

    def withdraw(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.process.communicate(timeout=PATIENCE)[0]


class KubeLauncher(Launcher):
    """A launcher with the embedded store, which finds a kubeconfig."""

    def __init__(self, folder, kubeconfig, providers, labels=()):
        names = {label['name'] for provider in providers for pool in provider['pools'] for label in pool['labels']}
        super().__init__(folder, {'store': f'sqlite://{folder}/nodepool.db',
                                  'labels': [{'name': name} for name in sorted(names | set(labels))],
                                  'providers': providers}, {'KUBECONFIG': str(kubeconfig)})
        self.requests = []

    def nodes(self):
        """The records of all nodes."""
        return json.loads(self.run('list', '--detail', '--json'))

    def records(self):
        """The same as they are in the store, with what the listings do not show."""
        path = json.loads(self.config.read_text())['store'].removeprefix('sqlite://')
        with contextlib.closing(sqlite3.connect(f'file:{path}?mode=ro', uri=True)) as store:
            rows = store.execute("select name, data from nodes where parent = '/nodepool/nodes'")
            return {name: json.loads(data) for name, data in rows if data}

    def ask(self, *labels, lease='1h'):
        """Asks for nodes without waiting for them."""
        self.requests.append(Request(self, labels, lease))
        return self.requests[-1]

    def give_up(self, request):
        """Ends a request, and gives back what it has got."""
        self.requests.remove(request)
        if output := request.withdraw().strip():
            self.release(json.loads(output))

    def release(self, lease):
        self.run('release', lease['lease'])

    def await_no_nodes(self):
        wait_until('all nodes are gone', lambda: not self.nodes())

    def await_log(self, text):
        wait_until(f'the log says {text}', lambda: text in self.log.read_text())

    def close(self):
        for request in self.requests:
            request.withdraw()
        self.stop()
