"""The commands through the API: where they run there is no store, and no configuration."""
import json
import os
import signal
import subprocess
import time

import pytest
from launcher import BINARIES, wait_until


class Client:
    def __init__(self, site, launcher, token):
        self.environment = {'PATH': os.environ['PATH'], 'NODEPOOL_URL': f'http://127.0.0.1:{launcher.port}',
                            'NODEPOOL_TOKEN': site.tokens[token]}

    def start(self, *arguments):
        return subprocess.Popen([BINARIES / 'nodepool', *arguments], env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, *arguments, status=0):
        process = self.start(*arguments)
        output, errors = process.communicate(timeout=60)
        assert process.returncode == status, output + errors
        return output if status == 0 else errors


@pytest.mark.smoke
def test_nodes_are_requested_used_and_released(site):
    launcher = site.launch()
    client = Client(site, launcher, 'gitlab')
    lease = json.loads(client.run('request', 'medium', 'small', '--lease', '10m', '--json'))
    assert [node['label'] for node in lease['nodes']] == ['medium', 'small']
    assert lease['lease'] in client.run('lease-list')
    assert 'in-use' in client.run('list', '--label', 'small')
    assert json.loads(client.run('list', '-o', 'json'))[0]['state'] == 'in-use'
    assert 'small' in client.run('label-list')
    assert client.run('request-list')
    node = lease['nodes'][0]['id']
    assert f'{node}' in client.run('explain', node)
    assert 'in-use' in client.run('history', node)
    client.run('renew', lease['lease'], '--lease', '20m')
    assert f'Released {node}' in client.run('release', node)
    assert 'Held' in client.run('release', '--hold', 'it broke', lease['lease'])
    assert 'hold' in client.run('list', '--state', 'hold')


def test_a_command_has_nodes_while_it_runs(site):
    launcher = site.launch()
    client = Client(site, launcher, 'gitlab')
    output = client.run('run', 'small', '--', 'sh', '-c', 'echo $NODEPOOL_NODES; cat "$NODEPOOL_SSH_CONFIG"')
    assert 'Host small' in output
    client.run('run', 'small', '--', 'sh', '-c', 'exit 7', status=7)
    wait_until('all leases have ended', lambda: not site.call(launcher, 'GET', '/api/v1/leases').json()['leases'])
    client.run('run', '--hold-on-failure', 'small', '--', 'false', status=1)
    assert 'hold' in client.run('list', '--state', 'hold')


def test_the_lease_of_a_command_that_is_killed_ends_by_itself(site):
    launcher = site.launch()
    client = Client(site, launcher, 'gitlab')
    process = client.start('run', 'small', '--', 'sleep', '1000')

    def leases():
        return site.call(launcher, 'GET', '/api/v1/leases').json()['leases']

    wait_until('the command runs', leases)
    assert leases()[0]['expires'] < time.time() + 610  # 10 minutes, and the tolerance of clocks
    process.send_signal(signal.SIGTERM)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 143 and not errors, errors
    wait_until('its nodes are given back', lambda: not leases())


def test_an_interrupted_command_leaves_no_request(site):
    launcher = site.launch()
    client = Client(site, launcher, 'gitlab')
    client.run('request', 'large')
    process = client.start('request', 'large')

    def requests():
        return site.call(launcher, 'GET', '/api/v1/requests').json()['requests']

    wait_until('it waits', requests)
    process.send_signal(signal.SIGTERM)  # SIGINT is ignored if the suite runs in the background of a shell
    process.communicate(timeout=60)
    assert process.returncode == 143
    wait_until('the request is gone', lambda: not requests())


@pytest.mark.smoke
def test_refusals_and_outages_are_said(site):
    launcher = site.launch()
    assert 'has scope `read`' in Client(site, launcher, 'viewer').run('request', 'small', status=4)
    assert '(max-nodes 2)' in Client(site, launcher, 'jenkins').run('request', *['small'] * 3, status=4)
    Client(site, launcher, 'jenkins').run('request', 'small', 'small')
    assert '(max-nodes 2)' in Client(site, launcher, 'jenkins').run('request', 'small', status=1)
    assert 'every pool declined it' in Client(site, launcher, 'gitlab').run('request', 'smal', status=2)
    assert 'does not work with --url' in Client(site, launcher, 'boss').run('delete', '0000000001', status=1)
    launcher.stop()
    assert 'no launcher responds' in Client(site, launcher, 'gitlab').run('label-list', status=1)


def test_the_socket_needs_no_token(site):
    path = site.directory / 'api.socket'
    site.launch(api={'socket': str(path)})
    done = subprocess.run([BINARIES / 'nodepool', '--url', f'unix://{path}', 'request', 'small', '--json'],
                          env={'PATH': os.environ['PATH']}, capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(done.stdout)['nodes'][0]['label'] == 'small'
