"""An installation of one host: launchers on one embedded store, and clients of their API. By default the nodes are those
of the fake cloud."""
import hashlib
import http.client
import json
import os
import secrets
import socket
import ssl
import subprocess

from launcher import Launcher, wait_until
from network import free_port

LABELS = ['small', 'medium', 'large']
CLOUDS = {'clouds': {'fake': {'auth': {'username': 'fake', 'password': 'fake', 'project_name': 'fake',
                                       'auth_url': 'http://fake.invalid'}}}}


def provider():
    """A cloud with unlimited small and medium nodes and one large node."""
    image = 'Fake Precise'

    def pool(most, *labels):
        return {'name': labels[0], 'max-servers': most,
                'labels': [{'name': label, 'cloud-image': image, 'min-ram': 1024} for label in labels]}

    return {'name': 'cloud', 'driver': 'fake', 'cloud': 'fake', 'cloud-images': [{'name': image}],
            'pools': [pool(20, 'small', 'medium'), pool(1, 'large')]}


class Connection(http.client.HTTPConnection):
    """Over a Unix socket."""

    def __init__(self, path):
        super().__init__('nodepool')
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self.path))


class Answer:
    def __init__(self, answer):
        self.status = answer.status
        self.headers = answer.headers
        self.text = answer.read().decode()

    def json(self):
        return json.loads(self.text)


class Site:
    def __init__(self, directory):
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self.tokens = {}
        self.entries = []
        self.launchers = []
        (directory / 'clouds.yaml').write_text(json.dumps(CLOUDS))

    def add_token(self, name, scope='request', **rights):
        self.tokens[name] = secrets.token_hex(32)
        digest = hashlib.sha256(self.tokens[name].encode()).hexdigest()
        self.entries.append({'name': name, 'hash': f'sha256:{digest}', 'scope': scope, **rights})
        (self.directory / 'tokens.yaml.new').write_text(json.dumps({'tokens': self.entries}))
        os.replace(self.directory / 'tokens.yaml.new', self.directory / 'tokens.yaml')

    def make_certificate(self):
        key, certificate = self.directory / 'key.pem', self.directory / 'cert.pem'
        subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost',
                        '-addext', 'subjectAltName=DNS:localhost', '-keyout', str(key) + '.new', '-out', certificate],
                       check=True, capture_output=True)
        os.replace(str(key) + '.new', key)
        return certificate, key

    def launch(self, api=None, address='127.0.0.1', **more):
        """Starts another launcher; its API is at .port."""
        port = free_port()
        directory = self.directory / f'launcher{len(self.launchers)}'
        content = {'store': f'sqlite://{self.directory}/nodepool.db',
                   'webapp': {'port': port, 'listen_address': address},
                   'api': {'tokens': str(self.directory / 'tokens.yaml'), **(api or {})},
                   'labels': [{'name': label} for label in LABELS], 'providers': [provider()], **more}
        launcher = Launcher(directory, content, {'OS_CLIENT_CONFIG_FILE': str(self.directory / 'clouds.yaml')})
        launcher.port = port
        launcher.start()
        self.launchers.append(launcher)
        wait_until('the launcher serves', lambda: self.is_ready(launcher))
        return launcher

    def configure(self, launcher, **more):
        """Changes keys of its configuration while it runs."""
        new = launcher.config.with_suffix('.new')
        new.write_text(json.dumps({**json.loads(launcher.config.read_text()), **more}))
        os.replace(new, launcher.config)

    def is_ready(self, launcher):
        try:
            return self.call(launcher, 'GET', '/ready').status == 200
        except OSError:
            return False

    def call(self, launcher, method, path, body=None, token=None, headers=None, connection=None):
        connection = connection or http.client.HTTPConnection('127.0.0.1', launcher.port, timeout=90)
        headers = dict(headers or {})
        if token is not None:
            headers['Authorization'] = f'Bearer {self.tokens.get(token, token)}'
        if body is not None:
            headers['Content-Type'] = 'application/json'
            body = json.dumps(body)
        connection.request(method, path, body, headers)
        answer = Answer(connection.getresponse())
        connection.close()
        return answer

    def stream(self, launcher, path, token):
        """A connection with a started stream."""
        stream = socket.create_connection(('127.0.0.1', launcher.port), timeout=90)
        stream.sendall(f'GET {path} HTTP/1.1\r\nHost: nodepool\r\nConnection: close\r\n'
                       f'Authorization: Bearer {self.tokens[token]}\r\n\r\n'.encode())
        begun = b''
        while b'event: request' not in begun:
            part = stream.recv(65536)
            assert part, begun
            begun += part
        return stream

    def rest_of(self, stream):
        rest = b''
        while part := stream.recv(65536):
            rest += part
        stream.close()
        return rest

    def half_a_request(self, launcher):
        """A connection of a slow client."""
        slow = socket.create_connection(('127.0.0.1', launcher.port), timeout=90)
        slow.sendall(b'POST /api/v1/requests HTTP/1.1\r\nHost: nodepool\r\nContent-Length: 1000\r\n\r\n{')
        return slow

    def memory(self, launcher):
        """Resident memory of its process, in MiB."""
        pages = int(open(f'/proc/{launcher.process.pid}/statm').read().split()[1])
        return pages * os.sysconf('SC_PAGE_SIZE') >> 20

    def secure_connection(self, port, certificate):
        context = ssl.create_default_context(cafile=certificate)
        return http.client.HTTPSConnection('localhost', port, context=context, timeout=30)

    def close(self):
        for launcher in self.launchers:
            if launcher.process is not None:
                launcher.stop()
