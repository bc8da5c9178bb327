"""A launcher with one host, which is reached by SSH, and what a CI is given to use it."""
import os
import subprocess

from ci_site import Site
from launcher import BINARIES, wait_until
from sshd import Sshd

LABEL = 'debian-12'


class Installation:
    def __init__(self, directory):
        self.directory = directory
        self.sshd = Sshd(directory / 'sshd')
        self.sshd.start()
        self.site = Site(directory / 'site')
        self.site.add_token('ci')
        self.token = self.site.tokens['ci']
        self.token_file = directory / 'token'
        self.token_file.write_text(self.token + '\n')
        host = {'name': '127.0.0.1', 'labels': [LABEL], 'username': self.sshd.user,
                'connection-port': self.sshd.port, 'host-key': [self.sshd.host_key]}
        self.launcher = self.site.launch(labels=[{'name': LABEL}], providers=[
            {'name': 'rack', 'driver': 'static', 'pools': [{'name': 'main', 'nodes': [host]}]}])
        self.wait_until_free()

    @property
    def url(self):
        return f'http://127.0.0.1:{self.launcher.port}'

    @property
    def environment(self):
        """Of a CI's own processes: the command is installed, and nothing is known of the installation."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith('NODEPOOL_')}
        return {**kept, 'PATH': f'{BINARIES}:{os.environ["PATH"]}'}

    def leases(self):
        return self.site.call(self.launcher, 'GET', '/api/v1/leases').json()['leases']

    def requests(self):
        return self.site.call(self.launcher, 'GET', '/api/v1/requests').json()['requests']

    def nodes(self):
        return self.site.call(self.launcher, 'GET', '/api/v1/nodes').json()['nodes']

    def is_free(self):
        return not self.leases() and not self.requests() and [node['state'] for node in self.nodes()] == ['ready']

    def wait_until_free(self):
        wait_until('the node can be had', self.is_free)

    def wait_until_leased(self):
        return wait_until('there is a lease', self.leases)[0]

    def close(self):
        self.site.close()
        self.sshd.stop()


def run(command, **options):
    """Of a command that has to succeed, the output."""
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, **options)
    assert done.returncode == 0, done.stdout
    return done.stdout


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
