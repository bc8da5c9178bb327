"""Launchers and builders that change their version while their store, nodes, images and requestors stay."""
import json
import os
import pathlib

from builders import OwnBuilder
from cloud_launcher import CloudLauncher, Request
from launcher import BINARIES, Launcher, wait_until
from network import free_port

PREVIOUS = pathlib.Path(os.environ['PREVIOUS_BINARIES'])
CURRENT = BINARIES
NAMES = {PREVIOUS: 'previous', CURRENT: 'current'}


class VersionedLauncher(CloudLauncher):
    """`binaries`: of the version that runs next, also of its commands. `store`: the keys of the configuration for it."""

    def __init__(self, directory, store, providers, environment, binaries=CURRENT):
        Launcher.__init__(self, directory, {**store, 'labels': [{'name': 'small'}], 'providers': providers}, environment)
        self.binaries = binaries
        self.requests = []

    def daemon(self):
        return [self.binaries / 'nodepool-launcher', '-f', *self.web_options, '-c', self.config]

    def command(self):
        return [self.binaries / 'nodepool', '-c', self.config]

    def start(self, binaries=None):
        """Starts the version, and waits until it serves."""
        self.binaries = binaries or self.binaries
        served = self.times_served()
        super().start()
        wait_until('the launcher serves', lambda: self.times_served() > served)

    def times_served(self):
        return self.log.read_text().count('Serving') if self.log.exists() else 0

    def exchange(self, binaries):
        """Goes on with another version."""
        assert self.stop() == 0
        self.start(binaries)

    def rows(self, command):
        return json.loads(self.run(command, '--json'))

    def leases(self):
        return sorted(lease['id'] for lease in self.rows('lease-list'))

    def states(self):
        """The states of the nodes by id."""
        return {node['id']: node['state'] for node in self.nodes()}

    def await_ready(self, count):
        wait_until(f'{count} ready nodes', lambda: list(self.states().values()) == ['ready'] * count)


class ApiClient:
    """Requests by the API at the sockets of launchers, with the commands of one of them."""

    def __init__(self, launcher, sockets):
        self.launcher = launcher
        self.url = ','.join(f'unix://{socket}' for socket in sockets)
        self.environment = launcher.environment

    @staticmethod
    def keys(socket):
        """The keys of the configuration for a launcher with this socket."""
        return {'webapp': {'listen_address': '127.0.0.1', 'port': free_port()}, 'api': {'socket': str(socket)}}

    def command(self):
        return [self.launcher.binaries / 'nodepool', '--url', self.url]

    def ask(self, *labels):
        self.launcher.requests.append(Request(self, labels))
        return self.launcher.requests[-1]


class VersionedBuilder(OwnBuilder):
    """`binaries`: of the version that runs next, also of its commands."""

    binaries = CURRENT

    def daemon(self):
        return [self.binaries / 'nodepool-builder', '-f', '-c', self.config]

    def command(self):
        return [self.binaries / 'nodepool', '-c', self.config]

    def start(self, binaries):
        self.binaries = binaries
        super().start()
