"""Measures launchers side by side: see bench/side_by_side, which builds and starts this.

Each scenario is measured in turns, so that other load on the machine affects both, and on warmed-up servers: ZooKeeper's
JVM interprets the first requests. The floor is the clients' own writes without a launcher.
"""
import json
import os
import pathlib
import re
import resource
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.request

import turns
from installation import BINARIES, Servers, Tree, static_provider, wait_until

HOSTS = 200
FOREIGN_NODES, FOREIGN_REQUESTS = 10_000, 2_000
IDLE_SECONDS = 15
WEB_PORT = 18005
LOOKS = 5
WARMING = 5_000  # requests
BOOT_SECONDS = 0.1  # of a fake machine, in both launchers
TICKS = os.sysconf('SC_CLK_TCK')


def cpu_seconds(pid):
    fields = pathlib.Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def store_seconds(servers):
    """CPU seconds of the ZooKeeper server, a child of the program that has started it."""
    parent = servers.process.pid
    return sum(cpu_seconds(pid) for pid in pathlib.Path(f'/proc/{parent}/task/{parent}/children').read_text().split())


def memory(pid, key):
    """VmRSS or VmHWM in MB."""
    status = pathlib.Path(f'/proc/{pid}/status').read_text()
    return int(re.search(rf'{key}:\s+(\d+) kB', status)[1]) / 1000


def transactions(servers):
    """The number of changes of the store: the lower half of the last transaction id."""
    with socket.create_connection(('127.0.0.1', servers.plain[0])) as connection:
        connection.sendall(b'srvr')
        answer = b''.join(iter(lambda: connection.recv(4096), b'')).decode()
    return int(re.search(r'Zxid: 0x(\w+)', answer)[1], 16) & 0xffffffff


def run_clients(servers, requests, clients, pause=0, labels='bench'):
    """Results of requests that are served during the call."""
    done = subprocess.run([BINARIES / 'bench_zookeeper_load', str(servers.tls[0]), servers.ca, servers.cert,
                           servers.key, str(requests), str(clients), labels, str(pause)],
                          stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def racks(_):
    """Hosts that are never contacted."""
    return static_provider('rack', {f'127.0.1.{number}': ['bench'] for number in range(HOSTS)})


def cloud(kind):
    """Machines that do not exist."""
    label = {'name': 'bench', 'cloud-image': 'Fake Precise', 'min-ram': 8000}
    pool = {'name': 'main', 'host-key-checking': False, 'ignore-provider-quota': True, 'labels': [label]}
    provider = {'name': 'cloud', 'driver': 'fake', 'cloud': 'fake', 'rate': 0.0001,
                'cloud-images': [{'name': 'Fake Precise'}], 'pools': [pool]}
    if kind == 'ours':
        no_limits = {'instances': -1, 'cores': -1, 'ram': -1}
        provider['fake-cloud'] = {'boot-time': BOOT_SECONDS, 'limits': no_limits}
    return provider


class Installation:
    """A launcher of either kind with one provider and an empty store."""

    def __init__(self, kind, servers, directory, provider=racks, environment=None, **more):
        directory = pathlib.Path(directory)
        clouds = directory / 'clouds.yaml'
        clouds.write_text('clouds: {fake: {auth: {}}}\n')
        self.servers = servers
        self.tree = Tree(servers)
        self.tree.clear()
        self.launcher = turns.KINDS[kind](directory / 'launcher', servers, [provider(kind)], ['bench', 'foreign'], more,
                                    environment={'OS_CLIENT_CONFIG_FILE': str(clouds), **(environment or {})})

    @property
    def pid(self):
        return self.launcher.process.pid

    def await_hosts(self, more=0):
        wait_until('all hosts are registered', patience=300, condition=lambda:
                   len(self.tree.children('/nodepool/nodes')) >= HOSTS + more)

    def await_registration(self):
        wait_until('the launcher is registered', patience=60, condition=lambda:
                   self.tree.children('/nodepool/components/pool'))

    def await_rest(self):
        wait_until('all nodes are back', patience=300, condition=lambda: not self.tree.leftovers())

    def await_no_nodes(self):
        wait_until('all nodes are gone', patience=300, condition=lambda: not self.tree.nodes())

    def close(self):
        self.launcher.stop()
        self.tree.clear()
        self.tree.close()


def measure_load(kind, servers, requests, clients, pause=0, provider=racks, nodes=1):
    with tempfile.TemporaryDirectory() as directory:
        site = Installation(kind, servers, directory, provider)
        site.launcher.start()
        if provider is racks:
            site.await_hosts()
        site.await_registration()
        time.sleep(2)  # until the launcher is idle
        before, cpu = transactions(servers), cpu_seconds(site.pid)
        store_cpu = store_seconds(servers)
        figures = run_clients(servers, requests, clients, pause, ','.join(['bench'] * nodes))
        if clients > 1:
            site.await_rest()
        writes = transactions(servers) - before - figures['writes'] - 2  # the client's session, its end
        cpu = cpu_seconds(site.pid) - cpu
        store_cpu = store_seconds(servers) - store_cpu
        result = {} if pause else {'requests/s': figures['requests'] / figures['seconds']}
        result |= {
            'p50 ms': figures['p50_ms'],
            'p95 ms': figures['p95_ms'],
            'p99 ms': figures['p99_ms'],
            'CPU s per 1,000': cpu * 1000 / requests,
            'peak memory MB': memory(site.pid, 'VmHWM'),
            'transactions per request': writes / requests,
            'ZooKeeper CPU s per 1,000': store_cpu * 1000 / requests,
        }
        site.close()
        return result


def measure_floor(servers, requests, clients):
    figures = run_clients(servers, requests, clients, labels='-')
    tree = Tree(servers)
    tree.clear()
    tree.close()
    return figures['requests'] / figures['seconds']


def warm(servers):
    """Warms up ZooKeeper, whose JVM interprets the first requests."""
    measure_floor(servers, WARMING, 100)


def measure_start(kind, servers, nodes=FOREIGN_NODES):
    with tempfile.TemporaryDirectory() as directory:
        site = Installation(kind, servers, directory)
        populate(site.tree.client, nodes)
        started = time.monotonic()
        site.launcher.start()
        run_clients(servers, 1, 1)
        result = {'first answer s': time.monotonic() - started, 'CPU s until then': cpu_seconds(site.pid)}
        site.await_hosts(nodes)
        time.sleep(5)  # until the launcher is idle
        cpu = cpu_seconds(site.pid)
        time.sleep(IDLE_SECONDS)
        result['idle CPU %'] = (cpu_seconds(site.pid) - cpu) * 100 / IDLE_SECONDS
        result['RSS MB'] = memory(site.pid, 'VmRSS')
        site.close()
        return result


def measure_list(kind, servers):
    """`nodepool list` with the records of another provider."""
    with tempfile.TemporaryDirectory() as directory:
        site = Installation(kind, servers, directory)
        populate(site.tree.client)
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        rows = site.launcher.run('list').count('\n')
        seconds, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
        if rows < FOREIGN_NODES:
            raise RuntimeError(f'{rows} lines for {FOREIGN_NODES} nodes')
        site.tree.clear()
        site.tree.close()
        return {'seconds': seconds,
                'CPU s': after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}


def measure_web(kind, servers):
    """The status pages with the records of another provider; each is requested when its cached body is stale."""
    with tempfile.TemporaryDirectory() as directory:
        site = Installation(kind, servers, directory, webapp={'port': WEB_PORT, 'listen_address': '127.0.0.1'})
        populate(site.tree.client)
        site.launcher.start()
        site.await_hosts(FOREIGN_NODES)
        time.sleep(5)  # until the launcher is idle
        cpu, result = cpu_seconds(site.pid), {}
        for path in ['/node-list', '/request-list', '/label-list']:
            for name, accept in [('text', 'text/plain'), ('JSON', 'application/json')]:
                times = []
                for _ in range(LOOKS):
                    time.sleep(1.1)
                    started = time.monotonic()
                    request = urllib.request.Request(f'http://127.0.0.1:{WEB_PORT}{path}', headers={'Accept': accept})
                    with urllib.request.urlopen(request) as answer:
                        size = len(answer.read())
                    times.append(time.monotonic() - started)
                result[f'{path} {name}, ms'] = statistics.median(times) * 1000
                result[f'{path} {name}, kB'] = size / 1000
        result['CPU s for all'] = cpu_seconds(site.pid) - cpu
        result['RSS MB'] = memory(site.pid, 'VmRSS')
        site.close()
        return result


def populate(client, nodes=FOREIGN_NODES):
    """Creates records of a provider of another launcher, and requests that wait for it."""
    pool = {'hostname': 'elsewhere', 'id': 'elsewhere-PoolWorker.foreign-main-0', 'kind': 'pool', 'model_api': 0,
            'name': 'main', 'paused': False, 'priority': 100, 'provider_name': 'foreign', 'state': 'running',
            'supported_labels': ['foreign'], 'version': '11.0.0'}
    client.create('/nodepool/components/pool/elsewhere', json.dumps(pool).encode(), makepath=True,
                  ephemeral=True, sequence=True)
    now = time.time()
    node = {'state': 'hold', 'state_time': now, 'cloud': None, 'provider': 'foreign', 'pool': 'main',
            'type': ['foreign'], 'allocated_to': None, 'az': None, 'region': None, 'public_ipv4': '192.0.2.1',
            'private_ipv4': None, 'public_ipv6': None, 'host_id': None, 'interface_ip': '192.0.2.1',
            'connection_port': 22, 'ssh_port': 22, 'image_id': None, 'launcher': pool['id'], 'created_time': now,
            'external_id': 'machine', 'hostname': None, 'comment': None, 'user_data': None, 'hold_job': None,
            'host_keys': [], 'username': 'ci', 'connection_type': 'ssh', 'shell_type': None,
            'hold_expiration': None, 'resources': None, 'slot': None, 'attributes': None, 'python_path': 'auto',
            'tenant_name': None, 'driver_data': None, 'requestor': None, 'node_properties': {}}
    request = {'requestor_data': {}, 'node_types': ['foreign'], 'requestor': 'somebody', 'created_time': now,
               'provider': None, 'state': 'requested', 'state_time': now, 'relative_priority': 0,
               'event_id': None, 'tenant_name': None}
    client.ensure_path('/nodepool/nodes')
    client.ensure_path('/nodepool/requests')
    create_many(client, '/nodepool/nodes/', node, nodes)
    create_many(client, '/nodepool/requests/200-', request, FOREIGN_REQUESTS)


def create_many(client, prefix, record, count):
    under_way = []
    for _ in range(count):
        under_way.append(client.create_async(prefix, json.dumps(record).encode(), sequence=True))
        if len(under_way) == 500:
            for one in under_way:
                one.get()
            under_way.clear()
    for one in under_way:
        one.get()


SCENARIOS = {
    'static-burst': lambda kind, servers, _: measure_load(kind, servers, 2000 if kind == 'ours' else 600, 100),
    'static-single': lambda kind, servers, _: measure_load(kind, servers, 30, 1, pause=1000),
    'cloud-burst': lambda kind, servers, _: measure_load(kind, servers, 1000 if kind == 'ours' else 100, 100,
                                                         provider=cloud),
    'cloud-five': lambda kind, servers, _: measure_load(kind, servers, 200 if kind == 'ours' else 20, 100,
                                                        provider=cloud, nodes=5),
    'start': lambda kind, servers, options: measure_start(kind, servers, options.nodes),
    'list': lambda kind, servers, _: measure_list(kind, servers),
    'web': lambda kind, servers, _: measure_web(kind, servers),
}


def main():
    options = turns.arguments('Compare the Python launcher with this one.')
    options.add_argument('--nodes', type=int, default=FOREIGN_NODES, help='number of existing node records at the start')
    run = turns.Run(options, SCENARIOS)
    servers = Servers()
    warm(servers)
    floors = [measure_floor(servers, WARMING, 100) for _ in range(run.options.rounds)]
    for name in run.scenarios:
        run.measure(name, lambda kind, measure=SCENARIOS[name]: measure(kind, servers, run.options))
    floors += [measure_floor(servers, WARMING, 100) for _ in range(run.options.rounds)]
    run.result['floor requests/s'] = [round(pick(floors), 1) for pick in (statistics.median, min, max)]
    print(f'\nfloor requests/s: {run.result["floor requests/s"]}')
    run.end()
    servers.close()


if __name__ == '__main__':
    main()
