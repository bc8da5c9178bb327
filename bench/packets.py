"""Counts what a launcher asks of ZooKeeper, by operation: see bench/packets, which builds and starts this.

The launcher speaks to a proxy that reads its packets. The figures do not depend on the machine, but under load on how
much happens within one turn of its loop.
"""
import argparse
import asyncio
import collections
import json
import pathlib
import ssl
import struct
import tempfile
import threading
import time

from installation import OwnLauncher, Servers, Tree, static_provider, wait_until
from side_by_side import FOREIGN_NODES, HOSTS, memory, populate, run_clients, transactions

# ZooDefs.OpCode
NAMES = {-11: 'close', 1: 'create', 2: 'delete', 3: 'exists', 4: 'get', 5: 'set', 8: 'children', 9: 'sync', 11: 'ping',
         14: 'multi', 15: 'create', 18: 'unwatch', 22: 'multiRead', 106: 'watch'}
WRITES = {'create', 'delete', 'set', 'multi'}


class CountingProxy:
    """Passes the packets of clients on to a server, over TLS on both sides, and counts those of clients."""

    def __init__(self, servers):
        self.counts = collections.Counter()
        self.servers = servers
        self.loop = asyncio.new_event_loop()
        started = threading.Event()
        threading.Thread(target=self.run, args=[started], daemon=True).start()
        started.wait()

    def run(self, started):
        asyncio.set_event_loop(self.loop)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self.servers.cert, self.servers.key)
        listening = self.loop.run_until_complete(
            asyncio.start_server(self.serve, '127.0.0.1', 0, ssl=context))
        self.port = listening.sockets[0].getsockname()[1]
        started.set()
        self.loop.run_forever()

    async def serve(self, reader, writer):
        context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=self.servers.ca)
        context.load_cert_chain(self.servers.cert, self.servers.key)
        context.check_hostname = False
        server_reader, server_writer = await asyncio.open_connection('127.0.0.1', self.servers.tls[0], ssl=context)
        back = asyncio.ensure_future(self.pass_on(server_reader, writer))
        try:
            first = True
            while True:
                size = await reader.readexactly(4)
                packet = await reader.readexactly(struct.unpack('>i', size)[0])
                if first:
                    first = False
                else:
                    self.count(packet)
                server_writer.write(size + packet)
                await server_writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        server_writer.close()
        await asyncio.wait([back])

    def count(self, packet):
        name = NAMES.get(struct.unpack('>i', packet[4:8])[0], 'other')
        self.counts[name] += 1
        if name in ('multi', 'multiRead'):
            self.counts[f'parts of {name}'] += parts(packet)

    async def pass_on(self, reader, writer):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
        writer.close()

    def section(self):
        return {'zookeeper-servers': [{'host': '127.0.0.1', 'port': self.port}],
                'zookeeper-tls': {'ca': self.servers.ca, 'cert': self.servers.cert, 'key': self.servers.key}}

    def take(self):
        """What has been counted since the last time."""
        counts, self.counts = self.counts, collections.Counter()
        return counts


def parts(packet):
    """The number of operations of a transaction, or of reads."""
    at, count = 8, 0
    while True:
        kind, done, _ = struct.unpack_from('>i?i', packet, at)
        at += 9
        if done:
            return count
        count += 1
        at += 4 + struct.unpack_from('>i', packet, at)[0]  # path
        if kind in (1, 15, 5):
            at += 4 + max(0, struct.unpack_from('>i', packet, at)[0])  # data
        if kind in (1, 15):
            entries = struct.unpack_from('>i', packet, at)[0]
            at += 4
            for _ in range(entries):
                at += 4
                for _ in range(2):
                    at += 4 + struct.unpack_from('>i', packet, at)[0]
        at += 1 if kind in (4, 8) else 4  # whether to watch; version or flags


def print_counts(title, counts, per=1):
    packets = sum(number for name, number in counts.items() if ' of ' not in name)
    writes = sum(number for name, number in counts.items() if name in WRITES)
    shown = {name: round(number / per, 2) for name, number in sorted(counts.items())}
    print(f'{title}: {packets / per:.2f} packets, {writes / per:.2f} transactions; {shown}', flush=True)


def launcher_of(servers, proxy, directory, labels):
    hosts = static_provider('rack', {f'127.0.1.{number}': ['bench'] for number in range(HOSTS)})
    return OwnLauncher(pathlib.Path(directory) / 'launcher', servers, [hosts], labels, proxy.section())


def measure_static(servers, proxy, requests, clients):
    with tempfile.TemporaryDirectory() as directory:
        tree = Tree(servers)
        launcher = launcher_of(servers, proxy, directory, ['bench'])
        launcher.start()
        wait_until('all hosts are registered', patience=300,
                   condition=lambda: len(tree.children('/nodepool/nodes')) >= HOSTS)
        time.sleep(2)  # the launcher has come to rest
        for title, number, at_once, pause in ((f'{requests} requests by {clients} clients', requests, clients, 0),
                                              ('30 requests, one at a time', 30, 1, 300)):
            proxy.take()
            before = transactions(servers)
            figures = run_clients(servers, number, at_once, pause)
            wait_until('all nodes are back', lambda: not tree.leftovers())
            time.sleep(1)
            print_counts(f'{title} ({figures["requests"] / figures["seconds"]:.0f}/s, p50 {figures["p50_ms"]} ms), '
                         'of the launcher for each', proxy.take(), number)
            print(f'  of all: {(transactions(servers) - before) / number:.2f} transactions')
        launcher.stop()
        tree.clear()
        tree.close()


def measure_start(servers, proxy):
    with tempfile.TemporaryDirectory() as directory:
        tree = Tree(servers)
        launcher = launcher_of(servers, proxy, directory, ['bench', 'foreign'])
        populate(tree.client)
        proxy.take()
        started = time.monotonic()
        launcher.start()
        run_clients(servers, 1, 1)
        print(f'first answer after {time.monotonic() - started:.2f} s, {memory(launcher.process.pid, "VmRSS"):.0f} MB')
        wait_until('all hosts are registered', patience=300, condition=lambda:
                   len(tree.children('/nodepool/nodes')) >= HOSTS + FOREIGN_NODES)
        time.sleep(3)
        print_counts(f'start with {FOREIGN_NODES} nodes and 2,000 requests', proxy.take())
        launcher.stop()
        proxy.take()
        started = time.monotonic()
        lines = launcher.run('list').count('\n')
        print_counts(f'nodepool list: {lines} lines in {time.monotonic() - started:.2f} s', proxy.take())
        tree.clear()
        tree.close()


def main():
    parser = argparse.ArgumentParser(description='Counts what a launcher asks of ZooKeeper.')
    parser.add_argument('--requests', type=int, default=1000)
    parser.add_argument('--clients', type=int, default=100)
    parser.add_argument('--only', choices=['static', 'start'])
    options = parser.parse_args()
    servers = Servers()
    proxy = CountingProxy(servers)
    if options.only in (None, 'static'):
        measure_static(servers, proxy, options.requests, options.clients)
    if options.only in (None, 'start'):
        measure_start(servers, proxy)
    servers.close()


if __name__ == '__main__':
    main()
