"""An installation for tests: ZooKeeper servers, launchers of this project and of the Python Nodepool."""
import json
import pathlib
import subprocess
import sys

import kazoo.exceptions
from launcher import BINARIES, PATIENCE, Launcher, wait_until
from zuul.zk.vendor.client import ZuulKazooClient  # Zuul changes kazoo: plain clients fail beside it

PYTHON_PROGRAMS = pathlib.Path(sys.executable).parent


class Servers:
    """Real ZooKeeper servers on the loopback, with TLS."""

    def __init__(self, members=1):
        self.process = subprocess.Popen([BINARIES / 'zookeeper_server', str(members)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError('no ZooKeeper server')
        answer = json.loads(line)
        self.plain, self.tls = answer['plain'], answer['tls']
        self.ca, self.cert, self.key = answer['ca'], answer['cert'], answer['key']

    def tell(self, command, member):
        print(command, member, file=self.process.stdin, flush=True)
        if self.process.stdout.readline() != 'done\n':
            raise RuntimeError(f'ZooKeeper: {command} {member} did not work')

    def connect_string(self):
        return ','.join(f'127.0.0.1:{port}' for port in self.tls)

    def client(self, timeout=10.0):
        """A kazoo client of its own session."""
        client = ZuulKazooClient(self.connect_string(), timeout=timeout, use_ssl=True,
                                          ca=self.ca, certfile=self.cert, keyfile=self.key)
        client.start()
        return client

    def section(self):
        """What a nodepool.yaml says of them."""
        return {'zookeeper-servers': [{'host': '127.0.0.1', 'port': port} for port in self.tls],
                'zookeeper-tls': {'ca': self.ca, 'cert': self.cert, 'key': self.key}}

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def static_provider(name, hosts, pool=None):
    """A provider of hosts that nobody contacts. `hosts`: lists of labels by host name."""
    nodes = [{'name': host, 'labels': labels, 'username': 'ci', 'host-key-checking': False}
             for host, labels in hosts.items()]
    return {'name': name, 'driver': 'static', 'pools': [{'name': 'main', 'nodes': nodes, **(pool or {})}]}


class ZooKeeperLauncher(Launcher):
    def __init__(self, directory, servers, providers, labels, more=None, environment=None):
        super().__init__(directory, {**servers.section(), 'labels': [{'name': label} for label in labels],
                                     'providers': providers, **(more or {})}, environment)

    def rows(self, *arguments):
        """The rows of a command that prints a table, by column."""
        lines = [[cell.strip() for cell in line.split('|')[1:-1]]
                 for line in self.run(*arguments).splitlines() if line.startswith('|')]
        return [dict(zip(lines[0], line)) for line in lines[1:]]


class OwnLauncher(ZooKeeperLauncher):
    """Of this project."""


class PythonLauncher(ZooKeeperLauncher):
    """Of the Python Nodepool."""

    def own_keys(self, _):
        return {}

    def daemon(self):
        return [PYTHON_PROGRAMS / 'nodepool-launcher', '-f', *self.web_options, '-c', self.config]

    def command(self):
        return [PYTHON_PROGRAMS / 'nodepool', '-c', self.config]


class Tree:
    """The records in the store, seen through a session of its own."""

    def __init__(self, servers):
        self.client = servers.client()

    def children(self, path):
        try:
            return sorted(self.client.get_children(path))
        except kazoo.exceptions.NoNodeError:
            return []

    def record(self, path):
        try:
            data, _ = self.client.get(path)
        except kazoo.exceptions.NoNodeError:
            return None
        return json.loads(data) if data else None

    def nodes(self):
        """The node records by id; None for a record without content."""
        return {id: self.record(f'/nodepool/nodes/{id}') for id in self.children('/nodepool/nodes')}

    def pools(self):
        """The registered pools by provider."""
        records = [self.record(f'/nodepool/components/pool/{name}')
                   for name in self.children('/nodepool/components/pool')]
        return {record['provider_name']: record for record in records if record}

    def leftovers(self):
        """What would not be there if everything had been given back: requests, locks, allocations."""
        found = [f'request {id}' for id in self.children('/nodepool/requests')]
        for id in self.children('/nodepool/requests-lock'):
            found += [f'lock of request {id}' for _ in self.children(f'/nodepool/requests-lock/{id}')]
        for id, node in self.nodes().items():
            found += [f'lock of node {id}' for _ in self.children(f'/nodepool/nodes/{id}/lock')]
            if node is None or node['state'] != 'ready' or node['allocated_to']:
                found.append(f'node {id}: {node and (node["state"], node["allocated_to"])}')
        return found

    def await_ready(self, count):
        wait_until(f'{count} ready nodes',
                   lambda: len(self.children('/nodepool/nodes')) == count and not self.leftovers())

    def clear(self):
        self.client.delete('/nodepool', recursive=True)
        self.client.delete('/zuul', recursive=True)

    def close(self):
        self.client.stop()
        self.client.close()
