"""The simulated Azure, as tests start and ask it."""
import json
import pathlib
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

from azure_catalog import CLIENT, SECRET, SUBSCRIPTION, TENANT
from launcher import PATIENCE, wait_until
from network import free_port

SERVER = pathlib.Path(__file__).parent / 'server.py'
GROUP = f'/subscriptions/{SUBSCRIPTION}/resourceGroups/nodepool'
MACHINES, DISKS, IMAGES = (
    f'{GROUP}/providers/Microsoft.Compute/{type}' for type in ('virtualMachines', 'disks', 'images'))
INTERFACES, ADDRESSES, NETWORKS = (f'{GROUP}/providers/Microsoft.Network/{type}' for type in (
    'networkInterfaces', 'publicIPAddresses', 'virtualNetworks'))
SUBNET = f'{NETWORKS}/network/subnets/default'


def version_of(path):
    """An api-version that Azure serves today."""
    return ('2024-05-01' if 'Microsoft.Network' in path else '2024-03-02' if '/disks' in path else '2021-07-01'
            if '/skus' in path else '2024-11-01' if 'Microsoft.Compute' in path else '2021-04-01')


class Reply:
    def __init__(self, status, headers, content):
        self.status, self.headers, self.content = status, headers, content

    @property
    def body(self):
        return json.loads(self.content)


class AzureCloud:
    """All endpoints are at `url`. `directory` has auth.json, client.pem (key and certificate) and federated-token."""

    def __init__(self, directory, judge):
        self.directory = directory
        self.port = free_port()
        self.url = f'http://127.0.0.1:{self.port}'
        self.token = None
        with (directory / 'log').open('w') as output:
            self.process = subprocess.Popen([sys.executable, SERVER, str(self.port), directory, judge], stdout=output,
                                            stderr=output)
        wait_until('the simulated Azure answers', self.answers, PATIENCE)

    def answers(self):
        assert self.process.poll() is None, f'the simulated Azure has ended: {(self.directory / "log").read_text()}'
        try:
            return self.control('state')
        except urllib.error.URLError:
            return None

    # --- the suite's own calls

    def control(self, what, content=None):
        reply = self.send('POST', f'/suite/{what}', json.dumps(content).encode())
        assert reply.status == 200, reply.content
        return reply.body

    def problems(self):
        """What the judge found wrong since the last reset()."""
        return sorted(set(self.control('state')['problems']))

    def calls(self):
        """How often each kind of call was made: {'list Microsoft.Compute/disks': 2, …}."""
        return self.control('state')['calls']

    def log(self):
        """All calls in their order: call, method, path, status, version."""
        return self.control('state')['log']

    def fail(self, *faults):
        """The next calls fail, each as the first fault says that fits (README.md)."""
        self.control('faults', faults)

    def set(self, **settings):
        self.control('settings', settings)

    def fail_allocation(self, times=1, size=None, code='AllocationFailed'):
        """The next machines (of the size) fail after they have been accepted."""
        self.control('allocation', [{'times': times, 'size': size, 'code': code}])

    def resources(self, type=None):
        """All resources, or those of a type like 'disks', without a call that counts."""
        return [each for each in self.control('resources') if type is None or each['type'].endswith(f'/{type}')]

    def vanish(self, id):
        """Something outside of the tests deletes the resource, and what goes with it."""
        self.control('vanish', id)

    def change(self, name, **fields):
        """Something in a machine changes: its `power` ('deallocated'), its `console` output."""
        self.control('machine', {'id': f'{MACHINES}/{name}', **fields})

    def passwords(self):
        """The administrators' passwords by machine."""
        return self.control('passwords')

    def actions(self):
        """The permissions that calls have needed since the last reset()."""
        return set(self.control('state')['actions'])

    def environment(self):
        """Where the programs of this project find the cloud."""
        return {'AZURE_RESOURCE_MANAGER_URL': self.url, 'NO_PROXY': '127.0.0.1'}

    def redirection(self):
        """What sends the Python Nodepool there."""
        return {'AZURE_STAND_IN': self.url, 'PYTHONPATH': str(SERVER.parents[1] / 'redirect')}

    def credentials(self, path):
        """Writes a file with the credentials and the login service; returns its path."""
        own = json.loads((self.directory / 'auth.json').read_text())
        path.write_text(json.dumps({**own, 'activeDirectoryEndpointUrl': self.url}))
        return str(path)

    def revoke_tokens(self):
        self.control('revoke')

    def reset(self):
        """As it was when it was started."""
        self.token = None
        self.control('reset')

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE)

    # --- a client of the cloud

    def send(self, method, target, data=None, headers=()):
        url = target if target.startswith('http') else self.url + target
        request = urllib.request.Request(url, data, dict(headers), method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return Reply(answer.status, answer.headers, answer.read())
        except urllib.error.HTTPError as error:
            return Reply(error.code, error.headers, error.read())

    def log_in(self, path=f'/{TENANT}/oauth2/v2.0/token', **form):
        """Asks for a token; without a form, with the client's secret."""
        form = form or {'client_secret': SECRET}
        audience = {'scope': 'https://management.azure.com/.default'} if 'v2.0' in path else {
            'resource': 'https://management.azure.com/'}
        data = {'grant_type': 'client_credentials', 'client_id': CLIENT, **audience, **form}
        return self.send('POST', path, urllib.parse.urlencode(data).encode())

    def call(self, method, target, body=None, version=None):
        """A call of Azure Resource Manager, of a path or an URL that it has given."""
        if self.token is None:
            self.token = self.log_in().body['access_token']
        if 'api-version' not in target:
            target += ('&' if '?' in target else '?') + 'api-version=' + (version or version_of(target))
        headers = {'Authorization': f'Bearer {self.token}', 'Content-Type': 'application/json'}
        return self.send(method, target, None if body is None else json.dumps(body).encode(), headers)

    def finish(self, reply):
        """Waits for the operation that the reply names; returns its status."""
        link, deadline = reply.headers['Azure-AsyncOperation'], time.monotonic() + PATIENCE
        while (status := self.call('GET', link).body)['status'] == 'InProgress':
            assert time.monotonic() < deadline
            time.sleep(0.1)  # an operation may be asked for 45 times a minute
        return status
