"""Nodes that are virtual machines: the programs, end to end, and what is on the hosts meanwhile."""
import json
import os
import re
import signal

import pytest

from launcher import wait_until
from machines import define_stranger, metadata_of, network_device, of_machine, place
from network import free_port


@pytest.mark.smoke
def test_a_node_is_launched_used_and_deleted(nodepool, rack, host, login):
    script = '#!/bin/sh\necho prepared > /tmp/by-user-data\n'
    launcher = nodepool(rack([host], pool={'node-attributes': {'zone': 'north'}},
                             labels=[{'name': 'special', 'userdata': script, 'disk': 3, 'cpus': 2}]))
    lease = launcher.ask('special').lease()
    (node,) = lease['nodes']
    name, domain = place(node)
    assert name == host.name
    assert domain.startswith(f'np{node["id"]}-')
    assert host.running() == {domain}
    assert host.volumes() >= of_machine(domain)
    expected = {'provider': 'rack', 'pool': 'main', 'type': ['special'], 'username': 'debian', 'connection_type': 'ssh',
                'connection_port': 22, 'image_id': 'base', 'attributes': {'zone': 'north'}}
    assert {key: node.get(key) for key in expected} == expected
    assert node['interface_ip'].startswith(f'{host.subnet}.')
    assert node['resources'] == {'instances': 1, 'cores': 2, 'ram': 96}

    assert login.run(node, 'id -un; hostname; nproc').split() == ['debian', f'np{node["id"]}', '2']
    assert int(login.run(node, 'cat /sys/block/vda/size')) * 512 == 3 << 30
    configuration = login.run(node, 'cat /config/meta-data')
    assert re.search(r'local-hostname"?: *"?np' + node['id'], configuration)
    assert login.public_key.split()[1] in configuration
    assert login.run(node, 'cat /config/user-data') == script.strip()
    wait_until('user-data has run', lambda: login.run(node, 'cat /tmp/by-user-data || true') == 'prepared')

    launcher.release(lease)
    launcher.await_no_nodes()
    assert (host.domains(), host.volumes()) == (set(), {'base.qcow2'})


def test_ready_nodes_wait_for_requests_and_are_replaced(nodepool, rack, hosts):
    launcher = nodepool(rack(hosts), labels=[{'name': 'small', 'min-ready': 2}])

    def ready():
        return {node['id']: node for node in launcher.nodes() if node['state'] == 'ready'}
    nodes = wait_until('two are ready', lambda: found if len(found := ready()) == 2 else None)
    assert {place(node)[0] for node in nodes.values()} == {'host0', 'host1'}
    (node,) = launcher.ask('small').lease()['nodes']
    assert node['id'] in nodes
    wait_until('another is ready', lambda: len(ready()) == 2)


def test_the_address_comes_from_the_guest_agent(nodepool, rack, host, login):
    launcher = nodepool(rack([host], **{'address-sources': ['agent']}))
    (node,) = launcher.ask('small').lease()['nodes']
    assert login.run(node, 'hostname') == f'np{node["id"]}'


def test_a_user_network_forwards_a_port(nodepool, rack, host, login):
    first = free_port()
    launcher = nodepool(rack([host], networks=[{'user': {'ports': f'{first}-{first + 9}'}}]))
    nodes = launcher.ask('small', 'small').lease()['nodes']
    assert {node['interface_ip'] for node in nodes} == {'127.0.0.1'}
    assert len({node['connection_port'] for node in nodes}) == 2
    for node in nodes:
        assert first <= node['connection_port'] < first + 10
        assert login.run(node, 'hostname') == f'np{node["id"]}'


def test_a_bridge_of_the_host(nodepool, rack, host, login):
    launcher = nodepool(rack([host], networks=[{'bridge': host.bridge}], **{'address-sources': ['agent']}))
    (node,) = launcher.ask('small').lease()['nodes']
    assert f"bridge='{host.bridge}'" in host.virsh('dumpxml', place(node)[1])
    assert login.run(node, 'hostname') == f'np{node["id"]}'


def test_a_device_of_the_host_is_shared(nodepool, rack, host, login):
    """By macvtap. Its other end is in a network with DHCP."""
    with network_device(host.bridge) as device:
        launcher = nodepool(rack([host], networks=[{'direct': device}], **{'address-sources': ['agent']}))
        (node,) = launcher.ask('small').lease()['nodes']
        assert f"dev='{device}'" in host.virsh('dumpxml', place(node)[1])
        assert login.run(node, 'hostname') == f'np{node["id"]}'


def test_a_machine_with_uefi(nodepool, rack, host, login):
    launcher = nodepool(rack([host], labels=[{'name': 'efi', 'firmware': 'efi', 'memory': 256}]))
    lease = launcher.ask('efi').lease()
    (node,) = lease['nodes']
    assert login.run(node, 'ls -d /sys/firmware/efi') == '/sys/firmware/efi'
    variables = host.folder / 'var/qemu/nvram'
    assert len(list(variables.iterdir())) == 1
    launcher.release(lease)
    launcher.await_no_nodes()
    assert (host.domains(), host.volumes(), list(variables.iterdir())) == (set(), {'base.qcow2'}, [])


def test_ignition_reads_its_configuration_from_the_firmware(nodepool, rack, host, login):
    ignition = json.dumps({'ignition': {'version': '3.4.0'},
                           'passwd': {'users': [{'name': 'debian', 'sshAuthorizedKeys': [login.public_key]}]}})
    launcher = nodepool(rack([host], labels=[{'name': 'fcos', 'userdata-format': 'ignition', 'userdata': ignition}]))
    lease = launcher.ask('fcos').lease()
    (node,) = lease['nodes']
    assert json.loads(login.run(node, 'cat /run/ignition')) == json.loads(ignition)
    assert host.volumes() >= of_machine(place(node)[1])
    launcher.release(lease)
    launcher.await_no_nodes()
    assert (host.domains(), host.volumes()) == (set(), {'base.qcow2'})


@pytest.mark.parametrize('machine', ['pc', 'q35'])
def test_machine_types(nodepool, rack, host, login, machine):
    launcher = nodepool(rack([host], labels=[{'name': machine, 'machine': machine}]))
    (node,) = launcher.ask(machine).lease()['nodes']
    assert f'machine=\'pc-{"i440fx" if machine == "pc" else machine}' in host.virsh('dumpxml', place(node)[1])
    assert login.run(node, 'hostname') == f'np{node["id"]}'


def test_what_is_not_ours_is_not_touched_and_what_is_ours_without_a_record_goes(nodepool, rack, host, login, tmp_path):
    launcher = nodepool(rack([host]))
    (node,) = launcher.ask('small').lease()['nodes']
    domain = place(node)[1]
    ending = domain.rpartition('-')[2]
    strangers = {'other', f'np0000009998-{ending}', f'np0000009997-{ending}'}
    define_stranger(host, tmp_path, 'other')
    define_stranger(host, tmp_path, f'np0000009998-{ending}')
    define_stranger(host, tmp_path, f'np0000009997-{ending}',
                    metadata_of(host, domain).replace('>rack<', '>another<').replace(node['id'], '0000009997'))
    leak = f'np0000009999-{ending}'
    define_stranger(host, tmp_path, leak, metadata_of(host, domain).replace(node['id'], '0000009999'))
    # The next node's machine would have this name.
    taken = f'np{int(node["id"]) + 1:010}-{ending}'
    define_stranger(host, tmp_path, taken)
    before = host.virsh('dumpxml', taken)

    launcher.ask('small').refusal()
    assert taken in launcher.log.read_text()
    assert host.virsh('dumpxml', taken) == before
    assert launcher.ask('small').lease()['nodes']
    wait_until('the leak is gone', lambda: leak not in host.domains())
    assert host.domains() >= {domain, taken, *strangers}
    assert login.run(node, 'hostname') == f'np{node["id"]}'


def test_a_machine_that_has_crashed_is_noticed(nodepool, rack, host):
    launcher = nodepool(rack([host]))
    lease = launcher.ask('small').lease()
    (node,) = lease['nodes']
    os.kill(host.machine_process(place(node)[1]), signal.SIGKILL)
    comment = wait_until('the node says so', lambda: launcher.nodes()[0]['comment'])
    assert 'crashed' in comment
    launcher.release(lease)
    launcher.await_no_nodes()
    assert (host.domains(), host.volumes()) == (set(), {'base.qcow2'})


def test_a_ready_machine_that_was_shut_off_is_replaced(nodepool, rack, host, login):
    launcher = nodepool(rack([host]), labels=[{'name': 'small', 'min-ready': 1}])

    def ready():
        return next((node for node in launcher.nodes() if node['state'] == 'ready'), None)
    node = wait_until('a node is ready', ready)
    host.virsh('destroy', place(node)[1])
    wait_until('another is ready', lambda: (ready() or node)['id'] != node['id'])
    (other,) = launcher.ask('small').lease()['nodes']
    assert login.run(other, 'hostname') == f'np{other["id"]}'


def test_twenty_machines_at_once(nodepool, rack, hosts, login):
    """They share the processors: all of them take minutes."""
    launcher = nodepool(rack(hosts, **{'boot-timeout': 1500, 'launch-timeout': 1500}))
    request = launcher.ask(*['small'] * 20)
    wait_until('the request is fulfilled', lambda: not request.is_waiting(), 1600)
    lease = request.lease()
    nodes = lease['nodes']
    assert len({node['interface_ip'] for node in nodes}) == 20
    assert len({tuple(node['host_keys']) for node in nodes}) == 20
    assert sorted(place(node)[0] for node in nodes) == ['host0'] * 10 + ['host1'] * 10
    for node in nodes:
        assert login.run(node, 'hostname') == f'np{node["id"]}'
    launcher.release(lease)
    launcher.await_no_nodes()
    for host in hosts:
        assert (host.domains(), host.volumes()) == (set(), {'base.qcow2'})
