"""Nodes from OpenStack: the programs, end to end, and what goes wrong in clouds."""
import time

import pytest

from control_plane.cloud import Cloud
from launcher import wait_until


@pytest.fixture
def sky(guests):
    """Describes a provider named sky with the labels small and slow: sky(pool={…}, labels=[…], …)."""
    def provider(pool=None, labels=(), **more):
        image = {'cloud-image': 'tiny-image'}
        return {
            'name': 'sky', 'driver': 'openstack', 'cloud': 'fake', 'rate': 0, 'boot-timeout': 30,
            'launch-timeout': 120,
            'cloud-images': [{'name': 'tiny-image', 'username': 'ci', 'connection-port': guests.port}],
            'pools': [{
                'name': 'main', 'networks': ['provider'], 'auto-floating-ip': False,
                'labels': [{'name': 'small', 'flavor-name': 'm1.small', **image},
                           {'name': 'slow', 'flavor-name': 'm1.tiny', **image,
                            'instance-properties': {'fake_spawn_delay': '8'}},
                           *({'flavor-name': 'm1.tiny', **image, **label} for label in labels)],
                **(pool or {})}],
            **more}
    return provider


def await_a_build(project):
    """The only server, as soon as a hypervisor has it."""
    def building():
        return [server for server in project.servers() if server['OS-EXT-STS:task_state'] == 'spawning']
    (server,) = wait_until('a server is being built', building)
    return server


def await_no_servers(project):
    wait_until('all servers are gone', lambda: not project.servers())


@pytest.mark.smoke
def test_a_node_is_launched_recorded_and_deleted(nodepool, sky, project, guests):
    launcher = nodepool(sky(pool={'node-attributes': {'zone': 'north'}}))
    lease = launcher.ask('small').lease()
    (node,) = lease['nodes']
    (server,) = project.servers()

    assert server['name'] == f'np{node["id"]}'
    assert len(server['metadata'].pop('nodepool_installation_id')) == 32
    assert float(server['metadata'].pop('nodepool_node_created')) > 0
    assert server['metadata'] == {
        'groups': 'sky,tiny-image,small', 'nodepool_node_id': node['id'],
        'nodepool_pool_name': 'main', 'nodepool_provider_name': 'sky'}
    address = server['addresses']['provider'][0]['addr']
    expected = {
        'external_id': server['id'], 'host_id': server['hostId'], 'az': server['OS-EXT-AZ:availability_zone'],
        'interface_ip': address, 'public_ipv4': address, 'private_ipv4': address, 'public_ipv6': '',
        'cloud': 'fake', 'region': None, 'provider': 'sky', 'pool': 'main', 'type': ['small'],
        'image_id': 'tiny-image', 'username': 'ci', 'connection_type': 'ssh', 'connection_port': guests.port,
        'host_keys': [guests.host_key], 'resources': {'instances': 1, 'cores': 1, 'ram': 2048},
        'attributes': {'zone': 'north'}, 'node_properties': {}}
    assert {key: node.get(key) for key in expected} == expected

    launcher.release(lease)
    await_no_servers(project)
    launcher.await_no_nodes()
    assert project.ports() == []


def test_a_request_for_three_nodes_gets_three_servers_of_one_zone(nodepool, sky, project):
    launcher = nodepool(sky(pool={'availability-zones': ['az1', 'az2']}))
    lease = launcher.ask('small', 'small', 'small').lease()
    servers = {server['id']: server for server in project.servers()}
    assert sorted(node['external_id'] for node in lease['nodes']) == sorted(servers)
    assert len(servers) == 3
    assert len({server['OS-EXT-AZ:availability_zone'] for server in servers.values()}) == 1
    launcher.release(lease)
    await_no_servers(project)
    launcher.await_no_nodes()


@pytest.mark.smoke
def test_a_floating_ip_comes_and_goes_with_its_node(nodepool, sky, project):
    launcher = nodepool(sky(pool={'networks': ['private-nodepool'], 'auto-floating-ip': True}))
    lease = launcher.ask('small').lease()
    (node,) = lease['nodes']
    (ip,) = project.floating_ips()
    assert node['public_ipv4'] == node['interface_ip'] == ip['floating_ip_address']
    assert node['private_ipv4'] == ip['fixed_ip_address']
    launcher.release(lease)
    launcher.await_no_nodes()
    assert project.floating_ips() == []
    assert project.servers() == []


def test_dynamic_properties_know_the_request(nodepool, sky, project):
    launcher = nodepool(sky(labels=[{
        'name': 'tagged', 'instance-properties': {'team': 'infra', 'asked-by': 'nobody'},
        'dynamic-instance-properties': {'asked-by': '{request.requestor}', 'broken': '{request.no_such}'}}]))
    lease = launcher.ask('tagged').lease()
    (server,) = project.servers()
    assert server['metadata']['team'] == 'infra'
    assert server['metadata']['asked-by'] == lease['nodes'][0]['requestor']
    assert 'broken' not in server['metadata']


# Limits


def test_a_request_waits_for_quota_that_others_have(nodepool, sky, tiny):
    launcher = nodepool(sky(cloud='fake-tiny'))
    first = launcher.ask('small', 'small').lease()
    second = launcher.ask('small')
    wait_until('the second request is there', lambda: 'small' in launcher.run('request-list'))
    assert second.is_waiting()
    assert len(tiny.servers()) == 2
    launcher.release(first)
    (node,) = second.lease()['nodes']
    assert node['external_id'] not in [other['external_id'] for other in first['nodes']]


@pytest.mark.smoke
def test_a_request_waits_when_the_cloud_refuses_for_quota(nodepool, sky, tiny):
    launcher = nodepool(sky(cloud='fake-tiny'))
    first = launcher.ask('small').lease()
    tiny.set_quota(instances=1)  # which the launcher learns by trying
    second = launcher.ask('small')
    wait_until('it was refused', lambda: 'quota exceeded' in launcher.log.read_text().lower())
    assert second.is_waiting()
    launcher.release(first)
    assert len(second.lease()['nodes']) == 1
    assert len(tiny.servers()) == 1


def test_a_request_beyond_the_quota_is_declined(nodepool, sky, tiny):
    launcher = nodepool(sky(cloud='fake-tiny'))
    assert 'quota' in launcher.ask('small', 'small', 'small').refusal()
    assert tiny.servers() == []


# Failures of the cloud


@pytest.mark.parametrize('label', [
    {'flavor-name': 'm1.toobig'},
    {'instance-properties': {'fake_spawn_error': 'abort'}},
    {'instance-properties': {'fake_spawn_error': 'fail'}},
    {'instance-properties': {'fake_spawn_error': 'abort', 'fake_destroy_error': '1'}},
], ids=['no-valid-host', 'aborted', 'every-host-fails', 'cannot-be-deleted-at-once'])
def test_a_request_fails_when_all_attempts_have_failed(nodepool, sky, project, label):
    earlier = project.deleted_servers()
    launcher = nodepool(sky(labels=[{'name': 'unlucky', **label}], **{'launch-retries': 2}))
    launcher.ask('unlucky').refusal()
    await_no_servers(project)
    launcher.await_no_nodes()
    assert len(project.deleted_servers() - earlier) == 2


@pytest.mark.parametrize('label', [
    {'flavor-name': 'no-such-flavor'}, {'networks': ['no-such-network']},
], ids=['flavor', 'network'])
def test_a_request_fails_when_the_cloud_has_no_such_thing(nodepool, sky, project, label):
    earlier = project.deleted_servers()
    launcher = nodepool(sky(labels=[{'name': 'impossible', **label}]))
    launcher.ask('impossible').refusal()
    launcher.await_no_nodes()
    assert 'no-such' in launcher.log.read_text()
    assert project.servers() == []
    assert project.deleted_servers() == earlier


def test_a_server_that_cannot_be_deleted_at_once_is_deleted_later(nodepool, sky, project):
    launcher = nodepool(sky(labels=[{'name': 'clinging', 'instance-properties': {'fake_destroy_error': '2'}}]))
    launcher.release(launcher.ask('clinging').lease())
    await_no_servers(project)
    launcher.await_no_nodes()


def test_the_console_of_a_server_without_ssh_is_logged(nodepool, sky, project):
    dumb = {'name': 'dumb', 'cloud-image': 'dumb', 'console-log': True,
            'instance-properties': {'fake_console': 'Kernel panic - not syncing'}}
    launcher = nodepool(sky(
        labels=[dumb], **{'boot-timeout': 2, 'launch-retries': 1, 'cloud-images': [
            {'name': 'tiny-image'}, {'name': 'dumb', 'image-name': 'tiny-image', 'connection-port': 1}]}))
    launcher.ask('dumb').refusal()
    await_no_servers(project)
    assert 'Kernel panic - not syncing' in launcher.log.read_text()


@pytest.mark.smoke
def test_a_revoked_token_is_replaced(nodepool, sky, project):
    launcher = nodepool(sky())
    first = launcher.ask('small').lease()
    with launcher.suspended():
        project.revoke_tokens()
    second = launcher.ask('small').lease()
    assert len(project.servers()) == 2
    launcher.release(first)
    launcher.release(second)
    await_no_servers(project)


@pytest.mark.parametrize('outage', [Cloud.killed, Cloud.paused], ids=['killed', 'paused'])
def test_a_launch_goes_on_when_nova_is_back(nodepool, sky, cloud, project, outage):
    launcher = nodepool(sky())
    request = launcher.ask('slow')
    server = await_a_build(project)
    with outage(cloud, 'nova-api'):
        state = f'select vm_state from nova.instances where uuid = "{server["id"]}"'
        wait_until('the server is active', lambda: cloud.query(state).strip() == 'active')
        assert request.is_waiting()
    (node,) = request.lease()['nodes']
    assert node['external_id'] == server['id']
    assert [server['id'] for server in project.servers()] == [node['external_id']]


# What is left behind


def test_leftovers_are_deleted_and_nothing_else(nodepool, sky, project):
    port = project.create_down_port()
    ip = project.create_floating_ip()['id']
    launcher = nodepool(sky(**{'clean-floating-ips': True, 'port-cleanup-interval': 1}))
    lease = launcher.ask('small').lease()
    own = project.server(lease['nodes'][0]['external_id'])['metadata']
    mine = {**own, 'nodepool_node_id': '0000009999'}
    leaked = project.create_server('leaked', metadata=mine)
    others = project.create_server('of another', metadata={**mine, 'nodepool_provider_name': 'sea'})
    foreign = project.create_server('of another installation', metadata={**mine, 'nodepool_installation_id': 'there'})
    strange = project.create_server('of nobody')
    for server in leaked, others, foreign, strange:
        project.await_status(server, 'ACTIVE')

    def are_gone():
        return (project.server(leaked) is None and port not in [left['id'] for left in project.ports()]
                and ip not in [left['id'] for left in project.floating_ips()])

    wait_until('the leftovers are gone', are_gone)
    assert sorted(server['id'] for server in project.servers()) == sorted(
        [others, foreign, strange, lease['nodes'][0]['external_id']])


# A launcher that dies


@pytest.mark.smoke
def test_a_killed_launchers_launch_is_finished_by_the_next(nodepool, sky, project):
    launcher = nodepool(sky())
    request = launcher.ask('slow')
    server = await_a_build(project)
    launcher.kill()
    launcher.start()
    (node,) = request.lease()['nodes']
    assert node['external_id'] == server['id']
    assert [server['id'] for server in project.servers()] == [node['external_id']]
    assert [record['id'] for record in launcher.nodes()] == [node['id']]


# Seconds after the request: before, during and after the call that makes the server, while it is built,
# while its host keys are read.
@pytest.mark.parametrize('moment', [0.05, 0.3, 0.6, 0.9, 1.3, 2.0, 3.0])
def test_whenever_a_launcher_is_killed_there_is_one_server(nodepool, sky, project, moment):
    launcher = nodepool(sky())
    request = launcher.ask('small')
    time.sleep(moment)
    launcher.kill()
    launcher.start()
    (node,) = request.lease()['nodes']
    assert [server['id'] for server in project.servers()] == [node['external_id']]
    assert [record['id'] for record in launcher.nodes()] == [node['id']]


def test_a_killed_launchers_deletions_are_finished_by_the_next(nodepool, sky, project):
    launcher = nodepool(sky(labels=[{'name': 'lingering', 'instance-properties': {'fake_destroy_delay': '5'}}]))
    lease = launcher.ask('lingering').lease()
    launcher.release(lease)
    wait_until('the deletion has begun', lambda: [
        server['OS-EXT-STS:task_state'] for server in project.servers()] == ['deleting'])
    launcher.kill()
    launcher.start()
    launcher.await_no_nodes()
    assert project.servers() == []
