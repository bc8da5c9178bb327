"""Counts the launcher's ZooKeeper operations by type: see bench/packets, which builds and starts this.

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

from installation import Servers, wait_until
from side_by_side import FOREIGN_NODES, Installation, populate, run_clients

# ZooDefs.OpCode
NAMES = {-11: 'close', 1: 'create', 2: 'delete', 3: 'exists', 4: 'get', 5: 'set', 8: 'children', 9: 'sync', 11: 'ping', 12: 'children',
         14: 'multi', 15: 'create', 18: 'unwatch', 22: 'multiRead', 106: 'watch'}
EVENT = struct.pack('>i', -1)  # instead of a request's number


class CountingProxy:
    """A proxy with TLS on both sides between clients and a server. Counts the packets of clients."""

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
        back = asyncio.ensure_future(self.pass_back(server_reader, writer))
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
            self.counts[f'operations of {name}'] += parts(packet)

    async def pass_back(self, reader, writer):
        """Handles packets from the server: responses, and events, which are packets of their own."""
        unread = b''
        while data := await reader.read(1 << 16):
            writer.write(data)
            unread = self.count_events(unread + data)
            await writer.drain()
        writer.close()

    def count_events(self, data):
        """Returns the rest: an incomplete packet."""
        at = 0
        while at + 8 <= len(data) and at + 4 + (size := struct.unpack_from('>i', data, at)[0]) <= len(data):
            self.counts['events'] += data[at + 4:at + 8] == EVENT
            at += 4 + size
        return data[at:]

    def section(self):
        return {'zookeeper-servers': [{'host': '127.0.0.1', 'port': self.port}],
                'zookeeper-tls': {'ca': self.servers.ca, 'cert': self.servers.cert, 'key': self.servers.key}}

    def take(self):
        """The counts since the last call."""
        counts, self.counts = self.counts, collections.Counter()
        return counts


def parts(packet):
    """The number of operations of a multi or multiRead."""
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


def figures_of(counts, per=1):
    """The number of each operation and of all packets."""
    packets = sum(number for name, number in counts.items() if name != 'events' and ' of ' not in name)
    return {name: round(number / per, 3) for name, number in [('packets', packets), *sorted(counts.items())]}


def measure_requests(servers, proxy, requests, clients, pause=0):
    """Operations per request."""
    with tempfile.TemporaryDirectory() as directory:
        site = Installation('ours', servers, directory, **proxy.section())
        site.launcher.start()
        site.await_hosts()
        site.await_registration()
        time.sleep(2)  # until the launcher is idle
        proxy.take()
        run_clients(servers, requests, clients, pause)
        site.await_rest()
        time.sleep(1)  # until the returned nodes are processed
        counts = proxy.take()
        site.close()
        return figures_of(counts, requests)


def measure_start(servers, proxy):
    """Operations until the launcher has registered its hosts and is idle."""
    with tempfile.TemporaryDirectory() as directory:
        site = Installation('ours', servers, directory, **proxy.section())
        populate(site.tree.client)
        proxy.take()
        site.launcher.start()
        site.await_hosts(FOREIGN_NODES)
        time.sleep(3)  # until the launcher is idle
        counts = proxy.take()
        site.close()
        return figures_of(counts)


def measure_list(servers, proxy):
    """Operations of one command."""
    with tempfile.TemporaryDirectory() as directory:
        site = Installation('ours', servers, directory, **proxy.section())
        populate(site.tree.client)
        proxy.take()
        if site.launcher.run('list').count('\n') < FOREIGN_NODES:
            raise RuntimeError('not all nodes are listed')
        counts = proxy.take()
        site.tree.clear()
        site.tree.close()
        return figures_of(counts)


def main():
    parser = argparse.ArgumentParser(description='Count the ZooKeeper operations of the launcher.')
    parser.add_argument('--json', type=pathlib.Path, help='output file of the results')
    options = parser.parse_args()
    servers = Servers()
    proxy = CountingProxy(servers)
    scenarios = {
        'burst': lambda: measure_requests(servers, proxy, 1000, 100),
        'single': lambda: measure_requests(servers, proxy, 30, 1, pause=300),
        'start': lambda: measure_start(servers, proxy),
        'list': lambda: measure_list(servers, proxy),
    }
    result = {'when': time.strftime('%Y-%m-%d'), 'scenarios': {}}
    for name, measure in scenarios.items():
        figures = result['scenarios'][name] = measure()
        print(f'{name}: {figures}', flush=True)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + '\n')
    servers.close()


if __name__ == '__main__':
    main()
