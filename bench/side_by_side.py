"""Measures launchers side by side: see bench/side_by_side, which builds and starts this.

Load: 100 clients that always want another node, 200 static hosts that nobody contacts. At rest: one
client that asks now and then. Start: 10,000 node records and 2,000 requests of another provider are there already.
"""
import argparse
import json
import os
import pathlib
import platform
import re
import socket
import subprocess
import tempfile
import time

from installation import BINARIES, OwnLauncher, PythonLauncher, Servers, Tree, static_provider, wait_until

HOSTS = 200
FOREIGN_NODES, FOREIGN_REQUESTS = 10_000, 2_000
IDLE_SECONDS = 15
TICKS = os.sysconf('SC_CLK_TCK')
KINDS = {'ours': OwnLauncher, 'Python': PythonLauncher}


def cpu_seconds(pid):
    fields = pathlib.Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory(pid, key):
    """VmRSS or VmHWM in MB."""
    status = pathlib.Path(f'/proc/{pid}/status').read_text()
    return int(re.search(rf'{key}:\s+(\d+) kB', status)[1]) / 1000


def transactions(servers):
    """How many changes the store has seen: the lower half of the last transaction's number."""
    with socket.create_connection(('127.0.0.1', servers.plain[0])) as connection:
        connection.sendall(b'srvr')
        answer = b''.join(iter(lambda: connection.recv(4096), b'')).decode()
    return int(re.search(r'Zxid: 0x(\w+)', answer)[1], 16) & 0xffffffff


def run_clients(servers, requests, clients, pause=0):
    """Figures of requests that are served while this waits."""
    done = subprocess.run([BINARIES / 'bench_zookeeper_load', str(servers.tls[0]), servers.ca, servers.cert,
                           servers.key, str(requests), str(clients), 'bench', str(pause)],
                          stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


class Installation:
    """A launcher of either kind with 200 hosts, on an empty store."""

    def __init__(self, kind, servers, directory, extra=None):
        hosts = {f'127.0.1.{number}': ['bench'] for number in range(HOSTS)}
        self.servers = servers
        self.tree = Tree(servers)
        self.tree.clear()
        self.launcher = KINDS[kind](pathlib.Path(directory) / 'launcher', servers,
                                    [static_provider('rack', hosts)], ['bench', 'foreign'])

    @property
    def pid(self):
        return self.launcher.process.pid

    def await_hosts(self, more=0):
        wait_until('all hosts are registered', patience=300, condition=lambda:
                   len(self.tree.children('/nodepool/nodes')) >= HOSTS + more)

    def close(self):
        self.launcher.stop()
        self.tree.clear()
        self.tree.close()


def measure_load(kind, servers, requests, clients, pause=0):
    with tempfile.TemporaryDirectory() as directory:
        site = Installation(kind, servers, directory)
        site.launcher.start()
        site.await_hosts()
        time.sleep(2)  # the launcher has come to rest
        before, cpu = transactions(servers), cpu_seconds(site.pid)
        figures = run_clients(servers, requests, clients, pause)
        if clients > 1:
            wait_until('all nodes are back', lambda: not site.tree.leftovers())
        writes = transactions(servers) - before - figures['writes'] - 2  # the client's session, its end
        cpu = cpu_seconds(site.pid) - cpu
        result = {} if pause else {'requests/s': figures['requests'] / figures['seconds']}
        result |= {
            'p50 ms': figures['p50_ms'],
            'p99 ms': figures['p99_ms'],
            'launcher CPU s per 1,000': cpu * 1000 / requests,
            'launcher peak RSS MB': memory(site.pid, 'VmHWM'),
            'launcher writes per request': writes / requests,
            'client CPU s per 1,000': figures['cpu_seconds'] * 1000 / requests,
        }
        site.close()
        return result


def measure_start(kind, servers):
    with tempfile.TemporaryDirectory() as directory:
        site = Installation(kind, servers, directory)
        populate(site.tree.client)
        started = time.monotonic()
        site.launcher.start()
        run_clients(servers, 1, 1)
        result = {'first answer s': time.monotonic() - started, 'CPU s until then': cpu_seconds(site.pid)}
        site.await_hosts(FOREIGN_NODES)
        time.sleep(5)  # the launcher has come to rest
        cpu = cpu_seconds(site.pid)
        time.sleep(IDLE_SECONDS)
        result['idle CPU %'] = (cpu_seconds(site.pid) - cpu) * 100 / IDLE_SECONDS
        result['RSS MB'] = memory(site.pid, 'VmRSS')
        site.close()
        return result


def populate(client):
    """Records of a provider that another launcher serves, and requests that wait for it."""
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
    create_many(client, '/nodepool/nodes/', node, FOREIGN_NODES)
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


def median(values):
    return sorted(values)[len(values) // 2]


def print_table(title, rounds):
    """`rounds`: lists of figures by kind."""
    print(f'\n{title}')
    print(f'{"":32}{"Python":>12}{"ours":>12}{"ours/Python":>14}')
    for name in rounds['ours'][0]:
        ours, theirs = (median([one[name] for one in rounds[kind]]) for kind in ('ours', 'Python'))
        ratio = f'{ours / theirs:14.3g}' if theirs else f'{"-":>14}'
        print(f'{name:32}{theirs:12.4g}{ours:12.4g}{ratio}', flush=True)


def in_turns(rounds, measure):
    results = {kind: [] for kind in KINDS}
    for _ in range(rounds):
        for kind in KINDS:
            results[kind].append(measure(kind))
    return results


def main():
    parser = argparse.ArgumentParser(description='Measures the Python launcher and ours side by side.')
    parser.add_argument('--rounds', type=int, default=3, help='how often each is measured; medians are printed')
    parser.add_argument('--requests', type=int, default=2000)
    parser.add_argument('--clients', type=int, default=100)
    parser.add_argument('--only', choices=sorted(KINDS), help='only one kind, for profiling')
    options = parser.parse_args()
    if options.only:
        del KINDS[options.only == 'ours' and 'Python' or 'ours']
    print(f'{time.strftime("%Y-%m-%d %H:%M")}, {os.cpu_count()} CPUs, {platform.processor() or platform.machine()}, '
          f'load average {os.getloadavg()[0]:.1f}, one ZooKeeper over TLS, medians of {options.rounds}')
    servers = Servers()
    measurements = {
        f'{options.requests} requests by {options.clients} clients on {HOSTS} static nodes':
            lambda kind: measure_load(kind, servers, options.requests, options.clients),
        'At rest: 30 requests, one at a time, at random times':
            lambda kind: measure_load(kind, servers, 30, 1, pause=1000),
        f'Start with {FOREIGN_NODES} node records and {FOREIGN_REQUESTS} requests of another provider':
            lambda kind: measure_start(kind, servers),
    }
    for title, measure in measurements.items():
        rounds = in_turns(options.rounds, measure)
        if options.only:
            print(title, rounds, sep='\n', flush=True)
        else:
            print_table(title, rounds)
    print(f'\nload average at the end {os.getloadavg()[0]:.1f}')
    servers.close()


if __name__ == '__main__':
    main()
