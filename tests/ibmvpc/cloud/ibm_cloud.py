"""The simulated region of IBM Cloud VPC that programs are run against."""
import json
import pathlib
import subprocess
import sys
import urllib.request

from ibm_catalog import TIMES, ZONES
from launcher import PATIENCE
from iam_tokens import API_KEY

SERVER = pathlib.Path(__file__).parent / 'server.py'
REDIRECT = pathlib.Path(__file__).parents[1] / 'redirect'
ZONE = ZONES[0]


class IbmCloud:
    """A server of its own. `directory` is for its credentials file and its log; `python` has the suite's packages."""

    def __init__(self, directory, python=sys.executable):
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        with (directory / 'log').open('w') as log:
            self.process = subprocess.Popen([python, '-B', SERVER, directory], text=True,
                                            stdout=subprocess.PIPE, stderr=log)
        found = json.loads(self.process.stdout.readline())
        self.url, self.storage_url = found['url'], found['storage']

    def place(self, **more):
        """The environment of a program that is to find the APIs, and has no credentials."""
        return {'VPC_URL': f'{self.url}/v1', 'RESOURCE_MANAGER_URL': self.url, 'RESOURCE_CONTROLLER_URL': self.url,
                'VPC_AUTH_URL': self.url, 'NO_PROXY': '127.0.0.1', **more}

    def environment(self):
        """That of a program with an API key. `directory`/credentials.env contains the same."""
        return self.place(VPC_AUTH_TYPE='iam', VPC_APIKEY=API_KEY)

    def redirection(self):
        """Makes a program in Python that knows only IBM's addresses find the APIs."""
        return {'PYTHONPATH': str(REDIRECT), 'IBM_STAND_IN': self.url}

    def suite(self, what, content=None):
        request = urllib.request.Request(f'{self.url}/suite/{what}', json.dumps(content or {}).encode(), method='POST')
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)

    def problems(self):
        """Calls and answers that are not as IBM's models say, since the last reset()."""
        return self.suite('state')['problems']

    def calls(self):
        """The number of each call, by the name in IBM's client; also `token`, `storage_get`, `storage_put`, …"""
        return self.suite('state')['calls']

    def exchanges(self, *calls):
        """All calls, or those with the names, in order: call, verb, path, query, body, status (0: no answer)."""
        return [one for one in self.suite('state')['exchanges'] if not calls or one['call'] in calls]

    def things(self, kind):
        """The 'instances', 'floating_ips', 'volumes', 'images' or 'security_groups' by name."""
        things = self.suite('state')['things']
        return {thing['name']: thing for path, thing in things.items()
                if path.startswith(f'{kind}/') and path.count('/') == 1}

    def groups(self):
        """The names of the resource groups."""
        return self.suite('state')['groups']

    def objects(self):
        """The sizes of the objects in the object storage, by bucket/key."""
        return self.suite('state')['objects']

    def fail(self, **calls):
        """The next calls fail: fail(create_instance=[failure, …]). Suite.failed() describes a failure."""
        self.suite('failures', calls)

    def lose(self, call):
        """The next call, as 'create_instance', is carried out, but not answered."""
        self.fail(**{call: [{'done': True, 'drop': True}]})

    def hold(self, **calls):
        """So many of these calls pass yet; the others wait for the next hold() and are lost."""
        self.suite('held', calls)

    def held(self, call):
        """How many of these calls wait."""
        return self.suite('state')['waiting'].get(call, 0)

    def cut(self, **calls):
        """So many things have the next lists: cut(list_instances=[0, 1])."""
        self.suite('cuts', calls)

    def limit(self, **limits):
        """Quotas, see LIMITS in ibm_catalog.py."""
        self.suite('limits', limits)

    def exhaust(self, zone=ZONE, code='cannot_start_capacity'):
        """From now on, instances of the zone fail. code=None: they do not."""
        self.suite('stockouts', {zone: code})

    def set(self, **settings):
        """Those of DEFAULTS in server.py."""
        self.suite('settings', settings)

    def stop_time(self):
        """From now on, things go on by step() alone."""
        self.set(**dict.fromkeys(TIMES, 3600))

    def start_time(self):
        """What begins from now on goes on by itself."""
        self.set(**TIMES)

    def step(self):
        """The next one of what is to happen happens."""
        self.suite('step')

    def revoke_tokens(self):
        self.suite('revoke')

    def stop_instance(self, name, code=None):
        """Stops it, at once. `code`: the status reason, as 'stopped_by_preemption'."""
        self.suite('stop', {'kind': 'instances', 'name': name, 'code': code})

    def remove(self, name, kind='instances'):
        """Removes it, at once."""
        self.suite('remove', {'kind': kind, 'name': name})

    def update(self, name, kind='instances', **fields):
        self.suite('update', {'kind': kind, 'name': name, **fields})

    def add(self, count, prefix='other', zone=ZONE, profile='bx2-2x8', group='Default', **fields):
        """Running instances of other programs. `group`: name of their resource group."""
        self.suite('add', {'count': count, 'prefix': prefix, 'zone': zone, 'profile': profile, 'group': group,
                           **fields})

    def reset(self):
        """As it was when it was started."""
        self.suite('reset')

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE)
        self.process.stdout.close()
