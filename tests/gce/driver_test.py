"""Nodes from Compute Engine: the programs, end to end, in the simulated cloud. Every call is judged."""
import pytest

from gce_cloud import ZONE
from launcher import wait_until

OTHER_ZONE = 'us-central1-c'


def instances(cloud):
    return cloud.things('instances')


def metadata(instance):
    return {item['key']: item['value'] for item in instance['metadata']['items']}


def await_no_instances(cloud):
    wait_until('all instances are gone', lambda: not instances(cloud))


@pytest.mark.smoke
def test_a_node_is_launched_recorded_and_deleted(nodepool, iowa, cloud):
    launcher = nodepool(iowa(pool={'node-attributes': {'zone': 'north'}}))
    lease = launcher.ask('small').lease()
    (node,) = lease['nodes']
    ((name, instance),) = instances(cloud).items()
    assert name == f'np{node["id"]}'
    found = metadata(instance)
    assert len(found.pop('nodepool_installation_id')) == 32
    assert float(found.pop('nodepool_node_created')) > 0
    assert found == {'nodepool_node_id': node['id'], 'nodepool_pool_name': 'main', 'nodepool_provider_name': 'iowa',
                     'ssh-keys': 'ci:ssh-rsa AAAA ci'}
    (interface,) = instance['networkInterfaces']
    address = interface['accessConfigs'][0]['natIP']
    expected = {
        'external_id': name, 'az': ZONE, 'interface_ip': address, 'public_ipv4': address,
        'private_ipv4': interface['networkIP'], 'cloud': 'Google', 'region': 'us-central1', 'provider': 'iowa',
        'pool': 'main', 'type': ['small'], 'image_id': 'debian', 'username': 'ci', 'connection_type': 'ssh',
        'connection_port': 22, 'attributes': {'zone': 'north'}}
    assert {key: node.get(key) for key in expected} == expected
    assert node['resources'] == {'instances': 1, 'cores': 2, 'ram': 7680, 'CPUS': 2}
    launcher.release(lease)
    launcher.await_no_nodes()
    await_no_instances(cloud)
    assert cloud.things('disks') == {}


def test_a_machine_is_made_as_its_label_says(nodepool, iowa, cloud):
    launcher = nodepool(iowa(pool={'use-internal-ip': True},
                             labels=[{'name': 'special', 'volume-type': 'pd-ssd', 'volume-size': 40}]))
    (node,) = launcher.ask('special').lease()['nodes']
    (instance,) = instances(cloud).values()
    assert node['interface_ip'] == instance['networkInterfaces'][0]['networkIP']
    (disk,) = cloud.things('disks').values()
    assert disk['type'].endswith('/pd-ssd')
    assert disk['sizeGb'] == '40'


def test_a_machine_has_the_subnetwork_metadata_and_labels_of_its_label(nodepool, iowa, cloud):
    launcher = nodepool(iowa(pool={'subnetwork': 'ci'}, labels=[{
        'name': 'special', 'labels': {'team': 'infra'}, 'metadata': {'startup-script': '#!/bin/sh\ntrue\n'}}]))
    (node,) = launcher.ask('special').lease()['nodes']
    (instance,) = instances(cloud).values()
    (interface,) = instance['networkInterfaces']
    assert interface['network'].endswith('/global/networks/ci')
    assert interface['subnetwork'].endswith('/regions/us-central1/subnetworks/ci')
    assert instance['labels'] == {'team': 'infra'}
    found = metadata(instance)
    assert found['startup-script'] == '#!/bin/sh\ntrue\n'
    assert (found['nodepool_node_id'], found['ssh-keys']) == (node['id'], 'ci:ssh-rsa AAAA ci')


@pytest.mark.smoke
def test_a_refusal_for_quota_waits_for_capacity(nodepool, iowa, cloud):
    """It arrives as the error of an operation, and uses up no attempts."""
    cloud.limit(IN_USE_ADDRESSES=1)  # which the launcher does not count
    launcher = nodepool(iowa())
    first = launcher.ask('small').lease()
    second = launcher.ask('small')
    wait_until('the second one is refused', lambda: len(cloud.exchanges('compute.instances.insert')) == 2)
    wait_until('what was begun is gone', lambda: len(instances(cloud)) == 1)
    assert second.is_waiting()
    launcher.release(first)
    (node,) = second.lease()['nodes']
    assert list(instances(cloud)) == [node['external_id']]
    assert len(cloud.exchanges('compute.instances.insert')) <= 4


def test_the_quota_of_a_series_is_counted_before_a_launch(nodepool, iowa, cloud):
    """Also what machines in other zones take of it."""
    cloud.limit(N2_CPUS=4)
    cloud.add(1, zone=OTHER_ZONE, machine_type='n2-standard-2')
    launcher = nodepool(iowa(labels=[{'name': 'series', 'instance-type': 'n2-standard-2'}]))
    first = launcher.ask('series').lease()
    assert first['nodes'][0]['resources'] == {'instances': 1, 'cores': 2, 'ram': 8192, 'N2_CPUS': 2}
    second = launcher.ask('series')
    third = launcher.ask('small').lease()  # of another series
    assert second.is_waiting()
    assert len(cloud.exchanges('compute.instances.insert')) == 2
    launcher.release(first)
    assert second.lease()['nodes']
    launcher.release(third)


def test_a_request_for_more_than_others_leave_is_declined(nodepool, iowa, cloud):
    cloud.limit(N2_CPUS=3)
    cloud.add(1, zone=OTHER_ZONE, machine_type='n2-standard-2')
    launcher = nodepool(iowa(labels=[{'name': 'series', 'instance-type': 'n2-standard-2'}]))
    assert 'N2_CPUS' in launcher.ask('series').refusal() + launcher.log.read_text()
    assert cloud.exchanges('compute.instances.insert') == []


def test_a_zone_without_machines_is_another_attempt(nodepool, iowa, cloud):
    cloud.exhaust()
    launcher = nodepool(iowa(**{'launch-retries': 2}))
    reason = launcher.ask('small').refusal()
    assert 'ZONE_RESOURCE_POOL_EXHAUSTED' in launcher.log.read_text() + reason
    assert len(cloud.exchanges('compute.instances.insert')) == 2
    cloud.exhaust(code=None)
    assert launcher.ask('small').lease()['nodes']


def test_calls_are_throttled_and_answers_lost(nodepool, iowa, cloud):
    cloud.fail(instances__insert=[{'status': 403, 'reason': 'rateLimitExceeded'}, {'status': 503, 'reason': 'backendError'}])
    launcher = nodepool(iowa())
    (node,) = launcher.ask('small').lease()['nodes']
    cloud.lose('instances__insert')
    (other,) = launcher.ask('small').lease()['nodes']
    assert set(instances(cloud)) == {node['external_id'], other['external_id']}


def test_tokens_are_renewed_when_they_are_revoked(nodepool, iowa, cloud):
    launcher = nodepool(iowa())
    assert launcher.ask('small').lease()['nodes']
    cloud.revoke_tokens()
    assert launcher.ask('small').lease()['nodes']


@pytest.mark.parametrize('kind', ['user_environment', 'machine_environment', 'external_environment',
                                  'impersonating_environment'])
def test_other_credentials(nodepool, iowa, cloud, kind):
    launcher = nodepool(iowa(), environment=getattr(cloud, kind)())
    assert launcher.ask('small').lease()['nodes']


def test_what_does_not_exist_is_declined(nodepool, iowa, cloud):
    launcher = nodepool(iowa(labels=[{'name': 'none', 'instance-type': 'z9-huge'}]))
    launcher.ask('none').refusal()
    assert launcher.ask('small').lease()['nodes']


def test_the_console_log_of_a_machine_without_host_keys_is_logged(nodepool, iowa, cloud):
    launcher = nodepool(iowa(pool={'host-key-checking': True}, labels=[{'name': 'mute', 'console-log': True}],
                             **{'boot-timeout': 5, 'launch-retries': 1}))
    launcher.ask('mute').refusal()
    (insert,) = cloud.exchanges('compute.instances.insert')
    name = insert['body']['name']
    assert f'Booting {name}' in launcher.log.read_text()  # what the simulation's machines print
    await_no_instances(cloud)


@pytest.mark.smoke
def test_what_a_killed_launcher_has_begun_is_finished(nodepool, iowa, cloud):
    launcher = nodepool(iowa())
    request = launcher.ask('small')
    wait_until('an instance is made', lambda: instances(cloud))
    launcher.kill()
    launcher.start()
    (node,) = request.lease()['nodes']
    assert list(instances(cloud)) == [node['external_id']]


def test_machines_without_a_record_are_deleted(nodepool, iowa, cloud):
    launcher = nodepool(iowa())
    (node,) = launcher.ask('small').lease()['nodes']
    (instance,) = instances(cloud).values()
    marks = {**metadata(instance), 'nodepool_node_id': '0000009999'}
    cloud.add(1, metadata={'items': [{'key': key, 'value': value} for key, value in marks.items()]})
    assert len(instances(cloud)) == 2
    wait_until('the leak is gone', lambda: list(instances(cloud)) == [node['external_id']])


def test_a_preempted_machine_is_not_handed_out(nodepool, iowa, cloud):
    launcher = nodepool(iowa())
    lease = launcher.ask('small').lease()
    (node,) = lease['nodes']
    cloud.preempt(node['external_id'])
    wait_until('the node says so', lambda: [each['comment'] for each in launcher.nodes()] != [None])
    assert 'TERMINATED' in launcher.nodes()[0]['comment'] or 'STOPPING' in launcher.nodes()[0]['comment']
    launcher.release(lease)
    launcher.await_no_nodes()
    await_no_instances(cloud)
