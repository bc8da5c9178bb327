"""Azurite, Microsoft's emulator of blob storage, with a storage account of its own."""
import base64
import hashlib
import hmac
import os
import pathlib
import secrets
import signal
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

from launcher import Daemon, wait_until
from network import free_port

SUPPORT = pathlib.Path(__file__).parents[1] / 'support'
ACCOUNT = 'nodepool'
VERSION = '2020-02-10'  # of the signatures' form


def expiry(seconds):
    return time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(time.time() + seconds))


class Azurite(Daemon):
    def __init__(self, directory):
        modules = subprocess.run([SUPPORT / 'node_packages', 'azure/azurite'], check=True, stdout=subprocess.PIPE,
                                 text=True).stdout.strip()
        self.program = pathlib.Path(modules) / 'azurite/dist/src/blob/main.js'
        self.key = secrets.token_bytes(64)
        self.directory, self.port = directory, free_port()
        self.url = f'http://127.0.0.1:{self.port}/{ACCOUNT}'
        account = f'{ACCOUNT}:{base64.b64encode(self.key).decode()}'
        super().__init__(directory / 'azurite.log', {**os.environ, 'AZURITE_ACCOUNTS': account})

    def daemon(self):
        return ['node', self.program, '--location', self.directory, '--blobHost', '127.0.0.1', '--blobPort',
                str(self.port), '--disableTelemetry', '--skipApiVersionCheck']

    def start(self):
        super().start()
        wait_until('Azurite serves', self.answers)
        self.create(f'{self.url}/disks?restype=container')

    def stop(self, number=signal.SIGTERM):
        return super().stop(number)

    def answers(self):
        assert self.process.poll() is None, self.log.read_text()
        try:
            urllib.request.urlopen(self.url).close()
        except urllib.error.HTTPError:
            return True
        except urllib.error.URLError:
            return False
        return True

    def sign(self, *lines):
        digest = hmac.new(self.key, '\n'.join(lines).encode(), hashlib.sha256).digest()
        return base64.b64encode(digest).decode()

    def create(self, url, **headers):
        """Puts a container or a blob, as the account's owner."""
        query = {'sp': 'rwdlac', 'ss': 'b', 'srt': 'sco', 'se': expiry(3600), 'sv': VERSION}
        query['sig'] = self.sign(ACCOUNT, query['sp'], query['ss'], query['srt'], '', query['se'], '', '', VERSION, '')
        url += ('&' if '?' in url else '?') + urllib.parse.urlencode(query)
        with urllib.request.urlopen(urllib.request.Request(url, b'', headers, method='PUT')) as answer:
            assert answer.status == 201

    def create_page_blob(self, name, size):
        self.create(f'{self.url}/disks/{name}', **{
            'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': str(size),
            'x-ms-blob-content-type': 'application/octet-stream'})

    def access(self, name, container='disks', permissions='rw', seconds=3600):
        """A URL that permits to read and write a blob, as beginGetAccess returns it."""
        query = {'sp': permissions, 'se': expiry(seconds), 'sr': 'b', 'sv': VERSION}
        query['sig'] = self.sign(query['sp'], '', query['se'], f'/blob/{ACCOUNT}/{container}/{name}', '', '', '',
                                 VERSION, 'b', *[''] * 6)
        return f'{self.url}/{container}/{name}?{urllib.parse.urlencode(query)}'

    def calls(self, method, query):
        """The status of each call that it has logged so far."""
        lines = [line.split('"') for line in self.log.read_text().splitlines() if f'"{method} ' in line]
        return [int(parts[2].split()[0]) for parts in lines if query in parts[1]]
