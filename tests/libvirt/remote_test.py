"""Hosts by SSH."""
import subprocess

import pytest

from machines import place
from sshd import Sshd


class HostSshd(Sshd):
    """The SSH server of a host, beside its libvirtd."""

    def __init__(self, folder, host):
        self.host = host
        super().__init__(folder)
        self.client = folder / 'ssh'
        known = folder / 'known_hosts'
        known.write_text(f'[127.0.0.1]:{self.port} {self.host_key}\n')
        self.client.write_text(f'#!/bin/sh\nexec ssh -F none -i {self.client_key} -o UserKnownHostsFile={known} '
                               '-o StrictHostKeyChecking=yes "$@"\n')
        self.client.chmod(0o755)

    def daemon(self):
        return [*self.host.inside('--mount'), 'sh', '-c', 'mkdir -p /run/sshd && exec "$@"', '-', *super().daemon()]

    def uri(self):
        return f'qemu+ssh://{self.user}@127.0.0.1:{self.port}/system?command={self.client}'


@pytest.fixture
def sshd(host, tmp_path):
    sshd = HostSshd(tmp_path / 'sshd', host)
    sshd.start()
    yield sshd
    sshd.stop()


def test_a_host_by_ssh(nodepool, rack, hosts, sshd, login):
    """One whose connection is lost comes back."""
    provider = rack(hosts)
    provider['hosts'][0]['uri'] = sshd.uri()
    launcher = nodepool(provider)
    for _ in range(2):
        nodes = launcher.ask('small', 'small').lease()['nodes']
        assert {place(node)[0] for node in nodes} == {host.name for host in hosts}
        for node in nodes:
            assert login.run(node, 'hostname') == f'np{node["id"]}'
        helpers = subprocess.run(['pkill', '--ns', str(sshd.process.pid), '--nslist', 'mnt', '-x', 'virt-ssh-helper'])
        assert helpers.returncode == 0
