"""Nodes from IBM Cloud VPC: the programs, end to end, in the simulated cloud. Every call is judged."""
import re

import pytest

from ibm_cloud import ZONE
from launcher import wait_until


def await_nothing(cloud):
    wait_until('all instances are gone', lambda: not cloud.things('instances'))
    wait_until('all floating IPs are gone', lambda: not cloud.things('floating_ips'))


@pytest.mark.smoke
def test_a_node_is_launched_recorded_and_deleted(nodepool, dallas, cloud):
    launcher = nodepool(dallas(pool={'public-ipv4': True, 'node-attributes': {'zone': 'north'}}))
    lease = launcher.ask('small').lease()
    (node,) = lease['nodes']
    ((name, instance),) = cloud.things('instances').items()
    assert name == f'np{node["id"]}'
    assert instance['resource_group']['name'] == 'np_dallas_main'
    assert re.fullmatch('np-[0-9]+-[0-9]{6}-[0-9a-f]{32}', instance['boot_volume_attachment']['name'])
    ((floating_ip, found),) = cloud.things('floating_ips').items()
    assert floating_ip == name
    interface = instance['primary_network_interface']
    expected = {
        'external_id': name, 'az': ZONE, 'interface_ip': found['address'], 'public_ipv4': found['address'],
        'private_ipv4': interface['primary_ip']['address'], 'cloud': 'IBM', 'region': 'us-south',
        'provider': 'dallas', 'pool': 'main', 'type': ['small'], 'image_id': 'debian', 'username': 'ci',
        'connection_type': 'ssh', 'connection_port': 22, 'attributes': {'zone': 'north'}}
    assert {key: node.get(key) for key in expected} == expected
    assert node['resources'] == {'instances': 1, 'cores': 2, 'ram': 8}
    launcher.release(lease)
    launcher.await_no_nodes()
    await_nothing(cloud)
    assert cloud.things('volumes') == {}


def test_a_machine_is_made_as_its_label_says(nodepool, dallas, cloud):
    launcher = nodepool(dallas(labels=[{'name': 'special', 'profile': 'cx2-2x4', 'user-data': '#!/bin/sh\n'}],
                               subnet='ci-2', zone='us-south-2'))
    (node,) = launcher.ask('special').lease()['nodes']
    ((name, instance),) = cloud.things('instances').items()
    assert instance['profile']['name'] == 'cx2-2x4'
    assert node['az'] == instance['zone']['name'] == 'us-south-2'
    assert node['interface_ip'] == instance['primary_network_interface']['primary_ip']['address']
    (call,) = cloud.exchanges('create_instance')
    assert call['body']['user_data'] == '#!/bin/sh\n'
    assert cloud.things('floating_ips') == {}


def test_a_machine_has_the_volume_and_the_security_groups_of_its_label(nodepool, dallas, cloud):
    group = cloud.things('security_groups')['ci-default']['id']
    launcher = nodepool(dallas(pool={'security-groups': [group]}, labels=[
        {'name': 'special', 'volume-profile': 'custom', 'volume-iops': 6000}]))
    (node,) = launcher.ask('special').lease()['nodes']
    volume = cloud.things('volumes')[node['external_id']]
    assert (volume['profile']['name'], volume['iops']) == ('custom', 6000)
    (call,) = cloud.exchanges('create_instance')
    assert call['body']['primary_network_interface']['security_groups'] == [{'id': group}]


@pytest.mark.smoke
def test_a_refusal_for_quota_waits_for_capacity(nodepool, dallas, cloud):
    cloud.limit(instances=1)
    launcher = nodepool(dallas())
    first = launcher.ask('small').lease()
    second = launcher.ask('small')
    wait_until('the second one is refused', lambda: len(cloud.exchanges('create_instance')) == 2)
    assert second.is_waiting()
    launcher.release(first)
    (node,) = second.lease()['nodes']
    assert list(cloud.things('instances')) == [node['external_id']]


def test_a_zone_without_capacity_is_another_attempt(nodepool, dallas, cloud):
    cloud.exhaust()
    launcher = nodepool(dallas(**{'launch-retries': 2}))
    launcher.ask('small').refusal()
    assert 'no more capacity' in launcher.log.read_text()
    assert len(cloud.exchanges('create_instance')) == 2
    cloud.exhaust(code=None)


@pytest.mark.smoke
def test_what_a_killed_launcher_has_begun_is_finished(nodepool, dallas, cloud):
    launcher = nodepool(dallas(pool={'public-ipv4': True}))
    request = launcher.ask('small')
    ((name, begun),) = wait_until('an instance is made', lambda: list(cloud.things('instances').items()))
    launcher.kill()
    launcher.start()
    (node,) = request.lease()['nodes']
    ((found, instance),) = cloud.things('instances').items()
    assert name == found == node['external_id']
    assert instance['id'] == begun['id']
    assert list(cloud.things('floating_ips')) == [name]


@pytest.mark.parametrize('call', ['create_instance', 'create_floating_ip'])
def test_what_was_made_without_an_answer_is_found(nodepool, dallas, cloud, call):
    cloud.lose(call)
    launcher = nodepool(dallas(pool={'public-ipv4': True}))
    lease = launcher.ask('small').lease()
    assert len(cloud.exchanges(call)) == 1
    launcher.release(lease)
    launcher.await_no_nodes()
    await_nothing(cloud)


def test_rejected_tokens_are_renewed(nodepool, dallas, cloud):
    launcher = nodepool(dallas())
    launcher.ask('small').lease()
    cloud.revoke_tokens()
    launcher.ask('small').lease()
    assert cloud.calls()['token'] == 2


def test_machines_of_others_count_and_stay(nodepool, dallas, cloud):
    cloud.add(3)
    launcher = nodepool(dallas(quota={'instances': 4}))
    lease = launcher.ask('small').lease()
    second = launcher.ask('small')
    launcher.release(lease)
    lease = second.lease()
    launcher.release(lease)
    launcher.await_no_nodes()
    wait_until('only those of others are left', lambda: len(cloud.things('instances')) == 3)


def test_a_stopped_machine_is_not_handed_out(nodepool, dallas, cloud):
    provider = dallas()
    launcher = nodepool(provider)
    lease = launcher.ask('small').lease()
    cloud.stop_instance(lease['nodes'][0]['external_id'], 'stopped_by_preemption')
    launcher.release(lease)
    launcher.await_no_nodes()
    await_nothing(cloud)
