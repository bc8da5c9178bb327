"""The cloud itself: what the other tests rely on."""
import hashlib
import socket

import pytest
import requests

from control_plane.api import ApiError
from launcher import wait_until


def address(server):
    """The first address of a server."""
    return next(iter(server['addresses'].values()))[0]['addr']


@pytest.fixture
def booted(project):
    """An active server."""
    return project.await_status(project.create_server('booted'), 'ACTIVE', 'ERROR')


def test_a_server_is_booted_seen_and_deleted(project, cloud):
    made = project.create_server('one', metadata={'nodepool_node_id': '7'})
    server = project.await_status(made, 'ACTIVE', 'ERROR')
    assert server['status'] == 'ACTIVE'
    assert server['metadata'] == {'nodepool_node_id': '7'}
    assert [other['id'] for other in project.servers_of('7')] == [made]
    assert address(server).startswith(cloud.plan.guest_range.removesuffix('0/24'))
    assert server['OS-EXT-AZ:availability_zone'] in ('az1', 'az2')
    (port,) = project.ports()
    assert (port['status'], port['device_id']) == ('ACTIVE', made)
    project.delete_server(made)
    project.await_gone(made)
    assert project.ports() == []


def test_a_server_is_put_into_the_zone_asked_for(project):
    made = project.create_server('there', availability_zone='az2')
    assert project.await_status(made, 'ACTIVE')['OS-EXT-AZ:availability_zone'] == 'az2'


def test_a_server_has_what_its_network_has(project):
    made = project.create_server('both', network='dual-nodepool')
    versions = [entry['version'] for entry in project.await_status(made, 'ACTIVE')['addresses']['dual-nodepool']]
    assert sorted(versions) == [4, 6]


def test_a_console_shows_the_text_asked_for(project):
    made = project.create_server('talkative', metadata={'fake_console': 'login:'})
    project.await_status(made, 'ACTIVE')
    assert project.console(made) == 'login:'


def test_an_image_is_uploaded_and_booted(project):
    content = bytes(range(256)) * 4096
    image = project.upload_image('own', content, nodepool_build_id='12')
    assert image['size'] == len(content)
    assert image['os_hash_value'] == hashlib.sha512(content).hexdigest()
    assert image['nodepool_build_id'] == '12'
    made = project.create_server('from own image', imageRef=image['id'])
    assert project.await_status(made, 'ACTIVE', 'ERROR')['status'] == 'ACTIVE'


def test_a_floating_ip_is_active_while_it_has_a_port(project, cloud):
    made = project.create_server('private', network='private-nodepool')
    project.await_status(made, 'ACTIVE')
    (port,) = project.ports()
    ip = project.create_floating_ip(port['id'])
    assert ip['status'] == 'ACTIVE'
    assert ip['floating_ip_address'].startswith(cloud.plan.floating_range.removesuffix('0/24'))
    wait_until('the server has it', lambda: ip['floating_ip_address'] in [
        entry['addr'] for entry in project.server(made)['addresses']['private-nodepool']])
    project.delete_server(made)
    project.await_gone(made)
    assert [(ip['status'], ip['port_id']) for ip in project.floating_ips()] == [('DOWN', None)]


def test_a_stray_port_is_down(project):
    made = project.create_down_port()
    assert [(port['id'], port['device_owner']) for port in project.ports()] == [(made, '')]


def test_the_project_has_a_quota(tiny):
    assert tiny.limits()['maxTotalInstances'] == 2
    first = tiny.create_server('1')
    tiny.create_server('2')
    with pytest.raises(ApiError, match='Quota exceeded for instances') as refused:
        tiny.create_server('3')
    assert refused.value.status == 403
    tiny.await_status(first, 'ACTIVE')
    tiny.delete_server(first)
    tiny.await_gone(first)
    tiny.await_status(tiny.create_server('3'), 'ACTIVE')
    tiny.set_quota(instances=1)
    assert tiny.limits()['maxTotalInstances'] == 1


@pytest.mark.parametrize('flavor, metadata, message', [
    ('m1.toobig', {}, 'No valid host was found'),
    ('m1.tiny', {'fake_spawn_error': 'abort'}, 'aborted'),
    ('m1.tiny', {'fake_spawn_error': 'fail'}, 'Exceeded maximum number of retries'),
])
def test_a_build_fails_as_asked_for(project, flavor, metadata, message):
    made = project.create_server('unlucky', flavor=flavor, metadata=metadata)
    server = project.await_status(made, 'ACTIVE', 'ERROR')
    assert server['status'] == 'ERROR'
    assert message in server['fault']['message']


def test_a_build_takes_as_long_as_asked_for(project):
    made = project.create_server('slow', metadata={'fake_spawn_delay': '5'})
    wait_until('it is with the hypervisor',
               lambda: project.server(made)['OS-EXT-STS:task_state'] == 'spawning')
    assert project.server(made)['status'] == 'BUILD'
    project.await_status(made, 'ACTIVE')


def test_a_delete_fails_as_often_as_asked_for(project):
    made = project.create_server('clinging', metadata={'fake_destroy_error': '1'})
    project.await_status(made, 'ACTIVE')
    project.delete_server(made)
    project.await_status(made, 'ERROR')
    project.delete_server(made)
    project.await_gone(made)


def test_revoked_tokens_are_refused(project):
    old = project.api.token
    project.revoke_tokens()
    with pytest.raises(ApiError) as refused:
        project.api.call('GET', 'compute', '/servers', headers={'X-Auth-Token': old})
    assert refused.value.status == 401
    assert project.servers() == []  # with the new one


def test_an_api_is_killed_and_started_again(cloud, project, booted):
    with cloud.killed('nova-api'):
        with pytest.raises(requests.ConnectionError):
            project.servers()
    assert [server['id'] for server in project.servers()] == [booted['id']]


def test_an_api_is_stopped_and_goes_on(cloud, project, booted):
    with cloud.paused('nova-api'):
        with pytest.raises(requests.Timeout):
            requests.get(cloud.plan.url('nova'), timeout=0.5)
    assert [server['id'] for server in project.servers()] == [booted['id']]


def test_a_server_without_a_hypervisor_stays_in_build(cloud, project):
    with cloud.paused('nova-compute1', 'nova-compute2'):
        made = project.create_server('stuck')
        wait_until('it is on a host', lambda: project.server(made)['OS-EXT-STS:task_state'] is not None)
        assert project.server(made)['status'] == 'BUILD'
    project.await_status(made, 'ACTIVE')


def test_sshd_answers_at_a_servers_address(guests, booted):
    with socket.create_connection((address(booted), guests.port), timeout=10) as connection:
        assert connection.makefile().readline().startswith('SSH-2.0-')


def test_a_launcher_reads_the_host_key_at_a_servers_address(guests, booted, nodepool):
    launcher = nodepool({'name': 'rack', 'driver': 'static', 'pools': [{'name': 'main', 'nodes': [
        {'name': address(booted), 'connection-port': guests.port, 'username': 'ci', 'labels': ['any']}]}]})
    lease = launcher.ask('any').lease()
    (node,) = lease['nodes']
    assert node['interface_ip'] == address(booted)
    assert node['host_keys'] == [guests.host_key]
    (record,) = launcher.nodes()
    assert record['id'] == node['id']
    launcher.release(lease)
