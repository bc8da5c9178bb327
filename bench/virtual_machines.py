"""Measures requests for virtual machines of libvirt: see bench/virtual_machines, which starts this.

Three ways to the same number of machines, in turns: a request to a launcher with the driver `libvirt`; the same volumes
and domains made with virsh, without a launcher (*bare*): what QEMU and libvirt take; and a request to the driver `fake`,
whose machines run at once: what the launcher takes. A request is served when all its nodes are leased, a bare machine
when its SSH server has sent its banner. The first machine of each launcher is not measured.
"""
import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import socket
import statistics
import tempfile
import time

from cloud_launcher import CloudLauncher
from host import Host, require_programs
from launcher import wait_until
from machines import Login, place

PATIENCE = 1600  # seconds; emulated machines share the processors


class Template:
    """The domain of a node and its configuration drive, to make others like it."""

    def __init__(self, host, domain, folder):
        self.host = host
        self.domain = domain
        self.drive = folder / 'config'
        self.xml = folder / 'domain.xml'
        self.text = re.sub(r'<uuid>.*?</uuid>|<mac address=.*?/>', '', host.virsh('dumpxml', '--inactive', domain))
        host.virsh('vol-download', f'{domain}.config', self.drive, '--pool', 'default')

    def make(self, number):
        """Makes and starts a machine. Returns its name."""
        host, name = self.host, f'bare{number}'
        host.virsh('vol-create-as', 'default', f'{name}.qcow2', '1G', '--format', 'qcow2', '--backing-vol', 'base.qcow2',
                   '--backing-vol-format', 'qcow2')
        host.virsh('vol-create-as', 'default', f'{name}.config', self.drive.stat().st_size)
        host.virsh('vol-upload', f'{name}.config', self.drive, '--pool', 'default')
        file = self.xml.with_name(f'{name}.xml')
        file.write_text(self.text.replace(self.domain, name))
        host.virsh('define', file)
        host.virsh('start', name)
        return name

    def await_login(self, name):
        def address():
            found = re.search(r'ipv4 +(\S+)/', host.virsh('domifaddr', name))
            return found and found[1]
        host = self.host
        where = wait_until('the machine has an address', address, PATIENCE)
        wait_until('SSH answers', lambda: has_banner(where), PATIENCE)


def has_banner(address):
    try:
        with socket.create_connection((address, 22), timeout=10) as connection:
            return connection.recv(4) == b'SSH-'
    except OSError:
        return False


def bare(template, count):
    """Makes machines with virsh. Returns the seconds until all of them answer."""
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        names = list(pool.map(template.make, range(count)))
        list(pool.map(template.await_login, names))
    taken = time.monotonic() - began
    template.host.clear_domains(names)
    return taken


class OneHost(Host):
    def clear_domains(self, names):
        for name in names:
            self.virsh('destroy', name)
            self.virsh('undefine', name)
            for end in 'qcow2', 'config', 'log':
                if f'{name}.{end}' in self.volumes():
                    self.virsh('vol-delete', f'{name}.{end}', '--pool', 'default')


def served(launcher, count):
    """A request for nodes. Returns the seconds until they are leased."""
    began = time.monotonic()
    request = launcher.ask(*['small'] * count)
    wait_until('the request is served', lambda: not request.is_waiting(), PATIENCE)
    taken = time.monotonic() - began
    launcher.release(request.lease())
    launcher.await_no_nodes()
    return taken


def rack(host, login):
    return {'name': 'rack', 'driver': 'libvirt', 'virtualization': os.environ['LIBVIRT_VIRTUALIZATION'], 'cpu-overcommit': 100,
            'memory-reserve': 0, 'boot-timeout': PATIENCE, 'launch-timeout': PATIENCE,
            'hosts': [{'name': host.name, 'uri': host.uri}], 'keys': [login.public_key],
            'cloud-images': [{'name': 'base', 'volume': 'base.qcow2', 'username': 'debian'}],
            'pools': [{'name': 'main', 'labels': [{'name': 'small', 'cloud-image': 'base', 'cpus': 1, 'memory': 96}]}]}


def cloud():
    return {'name': 'cloud', 'driver': 'fake', 'cloud': 'fake', 'cloud-images': [{'name': 'Fake Precise'}],
            'fake-cloud': {'limits': {'instances': -1, 'cores': -1, 'ram': -1}},
            'pools': [{'name': 'main', 'labels': [{'name': 'small', 'cloud-image': 'Fake Precise', 'min-ram': 1024}]}]}


def show(count, turns):
    print(f'\n{count} at once ({len(next(iter(turns.values())))} turns)')
    print(f'{"":10}{"seconds":>10}{"least":>10}{"most":>10}{"nodes/s":>10}')
    for kind, seconds in turns.items():
        middle = statistics.median(seconds)
        print(f'{kind:10}{middle:10.3f}{min(seconds):10.3f}{max(seconds):10.3f}{count / middle:10.2f}', flush=True)


def started(directory, provider, environment, at_the_end):
    launcher = CloudLauncher(directory, [provider], environment)
    at_the_end.callback(launcher.close)
    launcher.start()
    return launcher


def template_of(launcher, host, folder):
    """Makes the launcher's first machine."""
    request = launcher.ask('small')
    wait_until('the first machine is leased', lambda: not request.is_waiting(), PATIENCE)
    lease = request.lease()
    template = Template(host, place(lease['nodes'][0])[1], folder)
    launcher.release(lease)
    launcher.await_no_nodes()
    return template


def measure(options, folder, at_the_end):
    host, login = OneHost(folder, 0), Login(folder)
    at_the_end.callback(host.stop)
    host.set_up()
    host.add_volume('base.qcow2', pathlib.Path(os.environ['LIBVIRT_GUEST_IMAGE']))
    clouds = folder / 'clouds.yaml'
    clouds.write_text(json.dumps({'clouds': {'fake': {'auth': {}}}}))
    ours = started(folder / 'ours', rack(host, login), {}, at_the_end)
    fake = started(folder / 'fake', cloud(), {'OS_CLIENT_CONFIG_FILE': str(clouds)}, at_the_end)
    served(fake, 1)
    template = template_of(ours, host, folder)
    for count in options.machines:
        turns = {'libvirt': [], 'bare': [], 'fake': []}
        for _ in range(options.rounds):
            turns['libvirt'].append(served(ours, count))
            turns['bare'].append(bare(template, count))
            turns['fake'].append(served(fake, count))
        show(count, turns)


def main():
    parser = argparse.ArgumentParser(description='Measures requests for virtual machines of libvirt.')
    parser.add_argument('--rounds', type=int, default=3, help='number of measurements of each kind')
    parser.add_argument('--machines', type=int, nargs='+', default=[1, 20], help='numbers of machines at once')
    options = parser.parse_args()
    require_programs()
    print(f'virtualization: {os.environ["LIBVIRT_VIRTUALIZATION"]}, {os.cpu_count()} processors, '
          f'load average {os.getloadavg()[0]:.1f}')
    with tempfile.TemporaryDirectory(prefix='vm') as folder, contextlib.ExitStack() as at_the_end:
        measure(options, pathlib.Path(folder), at_the_end)


if __name__ == '__main__':
    main()
