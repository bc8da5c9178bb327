"""Machines as their users see them, and machines that are not ours."""
import contextlib
import re
import subprocess

from launcher import PATIENCE


class Login:
    """A key, and commands on nodes with it."""

    def __init__(self, folder):
        self.key = folder / 'key'
        subprocess.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', 'ci', '-f', self.key], check=True)
        self.public_key = self.key.with_suffix('.pub').read_text().strip()

    def run(self, node, command):
        """The output of a command on a node, whose host keys must be those of the record."""
        address, port = node['interface_ip'], node['connection_port']
        known = self.key.with_name(f'known-{node["id"]}')
        name = address if port == 22 else f'[{address}]:{port}'
        known.write_text(''.join(f'{name} {key}\n' for key in node['host_keys']))
        return subprocess.run(
            ['ssh', '-F', 'none', '-i', self.key, '-p', str(port), '-o', 'BatchMode=yes',
             '-o', 'StrictHostKeyChecking=yes', '-o', f'UserKnownHostsFile={known}', '-o', 'ConnectTimeout=60',
             '-o', 'GlobalKnownHostsFile=/dev/null', '-o', 'LogLevel=ERROR', f'{node["username"]}@{address}', command],
            text=True, check=True, timeout=PATIENCE, stdout=subprocess.PIPE).stdout.strip()


def place(node):
    """The names of the host and of the domain of a node, which is one of a lease or of a listing."""
    host, domain = (node.get('external_id') or node['server_id']).split('/')
    return host, domain


def of_machine(domain):
    """The names of the volumes of a machine."""
    return {f'{domain}.{end}' for end in ('qcow2', 'config', 'log')}


def define_stranger(host, folder, name, metadata=''):
    """A domain that no launcher has made, and which is not started."""
    file = folder / f'{name}.xml'
    file.write_text(f"""
<domain type='qemu'>
  <name>{name}</name>
  {metadata}
  <memory unit='MiB'>32</memory>
  <os><type arch='x86_64' machine='pc'>hvm</type></os>
</domain>""")
    host.virsh('define', file)


@contextlib.contextmanager
def network_device(bridge):
    """A device whose other end is in the bridge."""
    name, end = 'vmnet', 'vmnet-end'
    subprocess.run(['ip', 'link', 'add', name, 'type', 'veth', 'peer', 'name', end], check=True)
    try:
        subprocess.run(['ip', 'link', 'set', end, 'master', bridge, 'up'], check=True)
        subprocess.run(['ip', 'link', 'set', name, 'up'], check=True)
        yield name
    finally:
        subprocess.run(['ip', 'link', 'delete', name], check=True)


def metadata_of(host, domain):
    (metadata,) = re.findall('<metadata>.*</metadata>', host.virsh('dumpxml', domain), re.DOTALL)
    return metadata
