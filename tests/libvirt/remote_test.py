"""Hosts by SSH and TLS."""
import shutil
import subprocess

import pytest

from certificates import Authority
from host import Host
from launcher import wait_until
from machines import place
from network import free_port
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


@pytest.fixture
def tls_host(tmp_path_factory, image):
    port = free_port()
    host = Host(tmp_path_factory.mktemp('tls'), 2, tls_port=port)
    certificates = host.folder / 'client'
    certificates.mkdir()
    for name, path in {'ca.pem': 'cacert.pem', 'client.pem': 'clientcert.pem', 'client.key': 'clientkey.pem'}.items():
        shutil.copy(host.folder / 'tls' / name, certificates / path)
    host.tls_uri = f'qemu+tls://127.0.0.1:{port}/system?pkipath={certificates}'
    try:
        host.set_up()
        host.add_volume('base.qcow2', image)
        yield host
    finally:
        host.stop()


def test_a_host_by_tls(nodepool, rack, tls_host, login):
    provider = rack([tls_host])
    provider['hosts'][0]['uri'] = tls_host.tls_uri
    launcher = nodepool(provider)
    (node,) = launcher.ask('small').lease()['nodes']
    assert login.run(node, 'hostname') == f'np{node["id"]}'


def test_a_host_with_a_certificate_of_another_authority_is_refused(nodepool, rack, tls_host, tmp_path):
    authority = tmp_path / 'authority'
    authority.mkdir()
    Authority(authority)
    shutil.copy(authority / 'ca.pem', tls_host.folder / 'client/cacert.pem')
    provider = rack([tls_host])
    provider['hosts'][0]['uri'] = tls_host.tls_uri
    launcher = nodepool(provider)
    request = launcher.ask('small')
    wait_until('the refusal is logged', lambda: 'certificate' in launcher.log.read_text())
    assert request.is_waiting()
    assert tls_host.domains() == set()
