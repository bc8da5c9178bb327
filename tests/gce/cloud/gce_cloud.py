"""The simulated Compute Engine that programs are run against."""
import json
import pathlib
import subprocess
import sys
import urllib.request

from launcher import PATIENCE

SERVER = pathlib.Path(__file__).parent / 'server.py'
REDIRECT = pathlib.Path(__file__).parents[1] / 'redirect'
REGION, ZONE = 'us-central1', 'us-central1-a'


class GceCloud:
    """A server of its own. `directory` is for its keys and its log."""

    def __init__(self, directory):
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        with (directory / 'log').open('w') as log:
            self.process = subprocess.Popen([sys.executable, '-B', SERVER, directory], text=True,
                                            stdout=subprocess.PIPE, stderr=log)
        self.url = json.loads(self.process.stdout.readline())['url']
        self.metadata_host = self.url.removeprefix('http://')

    def place(self, **more):
        """The environment of a program that is to find the API, and has no credentials."""
        return {'CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE': f'{self.url}/compute/v1/',
                'CLOUDSDK_CONFIG': '/nonexistent', 'NO_PROXY': '127.0.0.1', **more}

    def environment(self):
        """That of a program with the key of a service account."""
        return self.place(GOOGLE_APPLICATION_CREDENTIALS=str(self.directory / 'key.json'))

    def user_environment(self):
        """With the credentials of a person. Google's own library has a fixed address for their tokens."""
        return self.place(GOOGLE_APPLICATION_CREDENTIALS=str(self.directory / 'user.json'))

    def external_environment(self):
        """With the identity of another provider, which has rights of its own."""
        return self.place(GOOGLE_APPLICATION_CREDENTIALS=str(self.directory / 'external.json'))

    def impersonating_environment(self):
        """With the identity of another provider, which may act as the service account."""
        return self.place(GOOGLE_APPLICATION_CREDENTIALS=str(self.directory / 'impersonating.json'))

    def machine_environment(self):
        """On a machine in the cloud, which has a metadata server."""
        return self.place(GCE_METADATA_HOST=self.metadata_host, GCE_METADATA_IP=self.metadata_host)

    def redirection(self):
        """Makes a program in Python that knows only Google's address find the API."""
        return {'PYTHONPATH': str(REDIRECT), 'GCE_STAND_IN': self.url}

    def suite(self, what, content=None):
        request = urllib.request.Request(f'{self.url}/suite/{what}', json.dumps(content or {}).encode(), method='POST')
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)

    def problems(self):
        """Calls and answers that are not as Google's description says, since the last reset()."""
        return self.suite('state')['problems']

    def calls(self):
        """How often each method was called."""
        return self.suite('state')['calls']

    def exchanges(self, *methods):
        """All calls, or those of the methods, in order: method, verb, path, query, body, status (0: no answer)."""
        return [one for one in self.suite('state')['exchanges'] if not methods or one['method'] in methods]

    def permissions(self):
        """Those that the calls needed."""
        return self.suite('state')['permissions']

    def things(self, kind):
        """The 'instances' or 'disks' by name."""
        things = self.suite('state')['things']
        return {path.rpartition('/')[2]: thing for path, thing in things.items() if f'/{kind}/' in path}

    def fail(self, **methods):
        """The next calls of a method fail: fail(instances__insert=[failure, …]) those of compute.instances.insert; also
        `token` and `metadata`. Suite.failed() describes a failure."""
        self.suite('failures', full_names(methods))

    def lose(self, method):
        """The next call, as of 'instances__insert', is carried out, but not answered."""
        self.fail(**{method: [{'done': True, 'drop': True}]})

    def hold(self, **methods):
        """So many calls of each method pass yet; the others wait for the next hold() and are lost."""
        self.suite('held', full_names(methods))

    def held(self, method):
        """How many calls of it wait."""
        return sum(self.suite('state')['waiting'].get(name, 0) for name in full_names({method: 0}))

    def cut(self, **methods):
        """So many things have the next lists: cut(instances__list=[0, 1])."""
        self.suite('cuts', full_names(methods))

    def limit(self, region=REGION, **limits):
        """Quotas of a region, or of the project for 'global', by metric."""
        self.suite('limits', {region: limits})

    def exhaust(self, zone=ZONE, code='ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS'):
        """From now on, the zone has no machines left. code=None: it has."""
        self.suite('stockouts', {zone: code})

    def set(self, **settings):
        """Those of DEFAULTS in server.py."""
        self.suite('settings', settings)

    def stop_time(self):
        """From now on, things go on by step() alone."""
        self.set(pending=3600, starting=3600, stopping=3600)

    def start_time(self):
        """What begins from now on goes on by itself."""
        self.set(pending=0.05, starting=0.05, stopping=0.1)

    def step(self):
        """The next one of what is to happen happens."""
        self.suite('step')

    def revoke_tokens(self):
        self.suite('revoke')

    def preempt(self, name, zone=ZONE):
        self.suite('preempt', {'zone': zone, 'name': name})

    def terminate(self, name, zone=ZONE):
        """Stops it, at once."""
        self.suite('terminate', {'zone': zone, 'name': name})

    def remove(self, name, zone=ZONE):
        """Removes it, at once and without an operation."""
        self.suite('remove', {'zone': zone, 'name': name})

    def update(self, name, zone=ZONE, **fields):
        self.suite('update', {'zone': zone, 'name': name, **fields})

    def console(self, name, contents, zone=ZONE):
        self.suite('console', {'zone': zone, 'name': name, 'contents': contents})

    def add(self, count, prefix='other', zone=ZONE, **fields):
        """Instances of somebody else. `machine_type`, and fields of the instance."""
        self.suite('add', {'zone': zone, 'count': count, 'prefix': prefix, **fields})

    def reset(self):
        """As it was when it was started."""
        self.suite('reset')

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE)
        self.process.stdout.close()


def full_names(methods):
    return {name if name in ('token', 'metadata') else f'compute.{name.replace("__", ".")}': value
            for name, value in methods.items()}
