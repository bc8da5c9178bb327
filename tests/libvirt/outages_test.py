"""libvirtd that is restarted, killed, stopped; launchers that die; storage that is full."""
import os
import signal

import pytest

from launcher import wait_until
from machines import of_machine, place


def restart(host):
    host.stop_daemon()
    host.start_daemon()


def crash(host):
    host.kill_daemon()
    host.start_daemon()


def await_nothing(launcher, host):
    launcher.await_no_nodes()
    wait_until('nothing is left', lambda: (host.domains(), host.volumes()) == (set(), {'base.qcow2'}))


def record(launcher, node):
    return next(found for found in launcher.nodes() if found['id'] == node['id'])


@pytest.mark.parametrize('interrupt', [restart, pytest.param(crash, marks=pytest.mark.smoke)])
def test_a_launch_survives_libvirtd(nodepool, rack, host, login, interrupt):
    launcher = nodepool(rack([host]))
    request = launcher.ask('small')
    wait_until('the machine runs', host.running)
    interrupt(host)
    lease = request.lease()
    (node,) = lease['nodes']
    assert host.domains() == {place(node)[1]}
    assert login.run(node, 'hostname') == f'np{node["id"]}'

    interrupt(host)
    assert login.run(node, 'hostname') == f'np{node["id"]}'
    (other,) = launcher.ask('small').lease()['nodes']
    assert host.running() == {place(node)[1], place(other)[1]}
    assert [known['state'] for known in launcher.nodes()] == ['in-use', 'in-use']


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGKILL])
def test_a_deletion_survives_libvirtd(nodepool, rack, host, number):
    launcher = nodepool(rack([host]))
    lease = launcher.ask('small').lease()
    with host.paused():
        launcher.release(lease)
        wait_until('it is being deleted', lambda: [node['state'] for node in launcher.nodes()] == ['deleting'])
        host.stop_daemon(number)
    host.start_daemon()
    await_nothing(launcher, host)


@pytest.mark.smoke
def test_what_a_killed_launcher_has_begun_is_finished(nodepool, rack, host, login):
    launcher = nodepool(rack([host]))
    request = launcher.ask('small')
    wait_until('the domain is defined', host.domains)
    launcher.kill()
    launcher.start()
    lease = request.lease()
    (node,) = lease['nodes']
    assert host.domains() == {place(node)[1]}
    assert host.volumes() == {'base.qcow2'} | of_machine(place(node)[1])
    assert login.run(node, 'hostname') == f'np{node["id"]}'
    launcher.release(lease)
    await_nothing(launcher, host)


def test_a_deletion_of_a_killed_launcher_is_finished(nodepool, rack, host):
    launcher = nodepool(rack([host]))
    lease = launcher.ask('small').lease()
    with host.paused():
        launcher.release(lease)
        wait_until('it is being deleted', lambda: [node['state'] for node in launcher.nodes()] == ['deleting'])
        launcher.kill()
    launcher.start()
    await_nothing(launcher, host)


def test_a_host_that_does_not_answer_holds_up_no_other(nodepool, rack, hosts, login):
    launcher = nodepool(rack(hosts))
    leases = [launcher.ask('small').lease() for _ in range(2)]
    nodes = {place(lease['nodes'][0])[0]: lease for lease in leases}
    assert set(nodes) == {host.name for host in hosts}
    away, other = hosts
    there = nodes[away.name]['nodes'][0]
    with away.paused():
        more = launcher.ask('small', 'small').lease()
        assert {place(node)[0] for node in more['nodes']} == {other.name}
        crashed = more['nodes'][0]
        os.kill(other.machine_process(place(crashed)[1]), signal.SIGKILL)
        wait_until('it is noticed', lambda: record(launcher, crashed)['comment'])
        found = record(launcher, there)
        assert (found['state'], found['comment']) == ('in-use', None)
        for lease in nodes[other.name], more:
            launcher.release(lease)
        wait_until('the other nodes are gone', lambda: [node['id'] for node in launcher.nodes()] == [there['id']])
        assert login.run(there, 'hostname') == f'np{there["id"]}'
    assert away.running() == {place(there)[1]}
    launcher.release(nodes[away.name])
    for host in hosts:
        await_nothing(launcher, host)


def test_machines_of_a_host_that_lost_its_power_are_noticed_and_deleted(nodepool, rack, hosts, login):
    launcher = nodepool(rack(hosts))
    leases = [launcher.ask('small').lease() for _ in range(2)]
    lost, other = sorted(leases, key=lambda lease: lease['nodes'][0]['external_id'])
    hosts[0].stop()
    try:
        assert place(launcher.ask('small').lease()['nodes'][0])[0] == hosts[1].name
        assert record(launcher, lost['nodes'][0])['comment'] is None
    finally:
        hosts[0].start()
    comment = wait_until('it is noticed', lambda: record(launcher, lost['nodes'][0])['comment'])
    assert 'shut off' in comment
    assert record(launcher, other['nodes'][0])['comment'] is None
    launcher.release(lost)
    wait_until('nothing is left', lambda: not hosts[0].domains() and hosts[0].volumes() == {'base.qcow2'})
    (node,) = launcher.ask('small').lease()['nodes']
    assert place(node)[0] == hosts[0].name
    assert login.run(node, 'hostname') == f'np{node["id"]}'


def test_a_launch_leaves_a_host_that_lost_its_power(nodepool, rack, hosts, login):
    """After two minutes. What it leaves behind is deleted when the host is back."""
    launcher = nodepool(rack(hosts))
    request = launcher.ask('small')
    lost = wait_until('a machine boots', lambda: next((host for host in hosts if host.running()), None))
    (other,) = (host for host in hosts if host is not lost)
    lost.stop()
    try:
        wait_until('another machine boots', other.running)
        lease = request.lease()
        (node,) = lease['nodes']
        assert place(node)[0] == other.name
    finally:
        lost.start()
    wait_until('nothing is left behind', lambda: (lost.domains(), lost.volumes()) == (set(), {'base.qcow2'}))
    assert login.run(node, 'hostname') == f'np{node["id"]}'
    launcher.release(lease)
    await_nothing(launcher, other)


def test_ready_nodes_of_a_host_that_is_away_stay(nodepool, rack, hosts, login):
    """Whether they run is unknown, so they are handed out, too."""
    launcher = nodepool(rack(hosts), labels=[{'name': 'small', 'min-ready': 2}])

    def ready():
        return [node for node in launcher.nodes() if node['state'] == 'ready']
    nodes = wait_until('two are ready', lambda: found if len(found := ready()) == 2 else None)
    assert {place(node)[0] for node in nodes} == {host.name for host in hosts}
    with hosts[0].paused():
        handed_out = [launcher.ask('small').lease()['nodes'][0] for _ in nodes]
        assert {node['id'] for node in handed_out} == {node['id'] for node in nodes}
        for node in handed_out:
            assert login.run(node, 'hostname') == f'np{node["id"]}'


def test_a_full_storage_pool_is_said_and_no_storm(nodepool, rack, small_host, login):
    small_host.virsh('vol-create-as', 'default', 'filler', '10236k', '--format', 'raw')
    launcher = nodepool(rack([small_host], **{'launch-retries': 2}))
    reason = launcher.ask('small').refusal()
    assert 'No space left on device' in reason + launcher.log.read_text()
    assert len([line for line in launcher.log.read_text().splitlines() if 'No space left' in line]) < 10
    launcher.await_no_nodes()
    assert (small_host.domains(), small_host.volumes()) == (set(), {'base.qcow2', 'filler'})
    small_host.virsh('vol-delete', 'filler', '--pool', 'default')
    (node,) = launcher.ask('small').lease()['nodes']
    assert login.run(node, 'hostname') == f'np{node["id"]}'
