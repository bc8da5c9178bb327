"""A site to look at: a launcher with its web server, clouds that do not exist, hosts that nobody contacts."""
import hashlib
import http.client
import json
import socket
import time

from launcher import BINARIES, Daemon, Launcher, wait_until

IMAGE = 'Fake Precise'
TOKEN = 'np-0123456789abcdef0123456789abcdef'
ADMIN_TOKEN = 'np-fedcba9876543210fedcba9876543210'


def free_port():
    with socket.create_server(('127.0.0.1', 0)) as server:
        return server.getsockname()[1]


def token_file(directory):
    """A file that lets TOKEN read, and ADMIN_TOKEN do everything."""
    tokens = [{'name': name, 'hash': f'sha256:{hashlib.sha256(token.encode()).hexdigest()}', 'scope': scope}
              for name, token, scope in (('viewer', TOKEN, 'read'), ('boss', ADMIN_TOKEN, 'admin'))]
    file = directory / 'tokens.yaml'
    file.write_text(json.dumps({'tokens': tokens}))
    file.chmod(0o600)
    return str(file)


def cloud(name, labels, max_servers=None, **behaviour):
    """A provider whose machines do not exist; `behaviour`: docs/drivers/fake.md."""
    pool = {'name': 'main', 'labels': [{'name': label, 'cloud-image': IMAGE, 'flavor-name': 'Fake Flavor'}
                                       for label in labels]}
    if max_servers is not None:
        pool['max-servers'] = max_servers
    return {'name': name, 'driver': 'fake', 'cloud': 'fake', 'launch-retries': 1, 'cloud-images': [{'name': IMAGE}],
            'pools': [pool], 'fake-cloud': {'limits': {'instances': 500, 'cores': -1, 'ram': -1}, **behaviour}}


def hosts(name, count, label, jobs=1, **more):
    """A provider of hosts that are not contacted."""
    nodes = [{'name': f'127.0.{i // 250}.{i % 250 + 1}', 'labels': [label], 'username': 'ci', 'host-key-checking': False,
              'max-parallel-jobs': jobs} for i in range(count)]
    return {'name': name, 'driver': 'static', 'pools': [{'name': 'main', 'nodes': nodes, **more}]}


class CallFailed(RuntimeError):
    pass


class SocketConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__('localhost')
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self.path))


class Builder(Daemon):
    """Makes images that are none."""

    def __init__(self, directory, config, environment):
        super().__init__(directory / 'builder.log', environment)
        self.config = config

    def daemon(self):
        return [BINARIES / 'nodepool-builder', '-f', '--fake', '-c', self.config]


class Site(Launcher):
    def __init__(self, directory, providers, labels, **more):
        directory.mkdir(parents=True)
        clouds = directory / 'clouds.yaml'
        clouds.write_text('{"clouds": {"fake": {"auth": {}}}}')
        self.port = free_port()
        self.socket = directory / 'socket'
        api = {'socket': str(self.socket), **more.pop('api', {})}
        content = {'webapp': {'port': self.port, 'listen_address': '127.0.0.1',
                              'dashboard-url': 'https://grafana.example.org/d/nodepool'},
                   'store': f'sqlite://{directory}/store/nodepool.db', 'api': api,
                   'images-dir': str(directory / 'images'), 'build-log-dir': str(directory / 'build-logs'),
                   'elements-dir': str(directory), 'labels': [{'name': label} for label in labels],
                   'providers': providers, **more}
        (directory / 'store').mkdir()
        super().__init__(directory / 'launcher', content, {'OS_CLIENT_CONFIG_FILE': str(clouds)})
        self.builder = Builder(directory, self.config, self.environment)
        self.url = f'http://127.0.0.1:{self.port}/'

    def start(self):
        super().start()
        wait_until('the launcher serves', self.is_ready)

    def is_ready(self):
        assert self.process.poll() is None, self.log.read_text()
        try:
            return self.get('/ready')[0] == 200 and self.call('GET', 'nodes') is not None
        except (OSError, CallFailed):
            return False

    def get(self, path, **headers):
        """Status and text."""
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=30)
        connection.request('GET', path, headers=headers)
        response = connection.getresponse()
        return response.status, response.read().decode()

    def call(self, method, path, body=None):
        """A call of the API by the operator; returns what it says."""
        connection = SocketConnection(self.socket)
        connection.request(method, f'/api/v1/{path}', body=None if body is None else json.dumps(body))
        response = connection.getresponse()
        text = response.read().decode()
        if response.status >= 300:
            raise CallFailed(method, path, response.status, text)
        return json.loads(text) if text else None

    def ask(self, *labels, **more):
        """Asks for nodes; returns the id of the request."""
        return self.call('POST', 'requests', {'labels': list(labels), **more})['id']

    def wait_for_state(self, request, state):
        def is_so():
            time.sleep(0.1)  # more than 20 calls a second are refused
            return self.call('GET', f'requests/{request}')['state'] == state
        wait_until(f'request {request} is {state}', is_so)

    def withdraw(self, request):
        self.call('DELETE', f'requests/{request}')
