"""Nodes from AWS: the programs, end to end, against moto. Every call is judged by AWS' own service models."""
import pytest

from aws_cloud import tags
from launcher import wait_until


def await_no_instances(cloud):
    wait_until('all instances are gone', lambda: not cloud.instances())


@pytest.mark.smoke
def test_a_node_is_launched_recorded_and_deleted(nodepool, sky, cloud):
    launcher = nodepool(sky(pool={'node-attributes': {'zone': 'north'}}))
    lease = launcher.ask('small').lease()
    (node,) = lease['nodes']
    (instance,) = cloud.instances()

    assert instance['InstanceType'] == 't3.medium'
    assert instance['KeyName'] == 'ci'
    found = tags(instance)
    assert len(found.pop('nodepool_installation_id')) == 32
    assert float(found.pop('nodepool_node_created')) > 0
    assert found == {'Name': f'np{node["id"]}', 'nodepool_node_id': node['id'], 'nodepool_pool_name': 'main',
                     'nodepool_provider_name': 'sky'}
    (volume,) = cloud.volumes()
    assert tags(volume)['nodepool_node_id'] == node['id']
    expected = {
        'external_id': {'instance': instance['InstanceId']}, 'az': instance['Placement']['AvailabilityZone'],
        'interface_ip': instance['PublicIpAddress'], 'public_ipv4': instance['PublicIpAddress'],
        'private_ipv4': instance['PrivateIpAddress'], 'cloud': 'AWS', 'region': 'us-east-1', 'provider': 'sky',
        'pool': 'main', 'type': ['small'], 'image_id': 'debian', 'username': 'ci', 'connection_type': 'ssh',
        'connection_port': 22, 'attributes': {'zone': 'north'}, 'node_properties': {'fleet': False, 'spot': False}}
    assert {key: node.get(key) for key in expected} == expected
    assert node['resources']['instances'] == 1
    assert node['resources']['ram'] == 4096
    assert node['resources']['L-1216C47A'] == 2

    launcher.release(lease)
    launcher.await_no_nodes()
    await_no_instances(cloud)
    assert cloud.volumes() == []


def test_a_machine_is_made_as_its_label_says(nodepool, sky, cloud):
    subnet = cloud.ec2.describe_subnets()['Subnets'][0]
    group = cloud.ec2.create_security_group(GroupName='nodes', Description='of the test', VpcId=subnet['VpcId'])
    launcher = nodepool(sky(
        pool={'subnet-id': subnet['SubnetId'], 'security-group-id': group['GroupId'],
              'availability-zone': subnet['AvailabilityZone'], 'public-ipv4': False},
        labels=[{'name': 'special', 'volume-type': 'gp3', 'volume-size': 80, 'iops': 4000, 'throughput': 200,
                 'userdata': '#cloud-config\nä', 'use-spot': True, 'imdsv2': 'required', 'ebs-optimized': True,
                 'tags': {'team': 'infra', 'asked-by': 'nobody'},
                 'dynamic-tags': {'asked-by': '{request.requestor}', 'broken': '{request.no_such}'}}]))
    lease = launcher.ask('special').lease()
    (node,) = lease['nodes']
    (instance,) = cloud.instances()
    assert instance['SubnetId'] == subnet['SubnetId']
    assert [each['GroupId'] for each in instance['NetworkInterfaces'][0]['Groups']] == [group['GroupId']]
    assert instance['InstanceLifecycle'] == 'spot'
    assert node['node_properties'] == {'fleet': False, 'spot': True}
    assert node['az'] == subnet['AvailabilityZone']
    found = tags(instance)
    assert (found['team'], found['asked-by'], 'broken' in found) == ('infra', node['requestor'], False)
    (volume,) = cloud.volumes()
    assert (volume['VolumeType'], volume['Size']) == ('gp3', 80)
    assert tags(volume)['team'] == 'infra'
    attribute = cloud.ec2.describe_instance_attribute(InstanceId=instance['InstanceId'], Attribute='userData')
    assert attribute['UserData']['Value']
    assert node['resources']['L-34B43A08'] == 2
    assert node['resources']['L-7A658B76'] == 80


@pytest.mark.smoke
def test_a_fleet_chooses_among_types(nodepool, sky, cloud):
    subnet = cloud.ec2.describe_subnets()['Subnets'][0]
    fleet = {'instance-types': ['t3.large', 't3.medium'], 'allocation-strategy': 'lowest-price'}
    provider = sky(pool={'subnet-id': subnet['SubnetId']}, labels=[
        {'name': 'any', 'fleet': fleet, 'instance-type': None, 'volume-type': 'gp3', 'volume-size': 30,
         'userdata': 'hello', 'tags': {'team': 'infra'}},
        {'name': 'any-spot', 'fleet': fleet, 'instance-type': None, 'use-spot': True}])
    launcher = nodepool(provider)
    lease = launcher.ask('any', 'any-spot').lease()
    nodes = {node['external_id']['instance']: node for node in lease['nodes']}
    instances = cloud.instances()
    assert {instance['InstanceId'] for instance in instances} == set(nodes)
    for instance in instances:
        node = nodes[instance['InstanceId']]
        assert instance['InstanceType'] in fleet['instance-types']
        assert tags(instance)['nodepool_node_id'] == node['id']
        assert node['node_properties'] == {'fleet': True, 'spot': node['type'] == ['any-spot']}
    templates = cloud.ec2.describe_launch_templates()['LaunchTemplates']
    assert len(templates) == 2
    assert all(template['LaunchTemplateName'].startswith('nodepool-launch-template-') for template in templates)
    assert all(tags(template)['nodepool_provider_name'] == 'sky' for template in templates)
    launcher.release(lease)
    launcher.await_no_nodes()
    await_no_instances(cloud)


def test_a_dedicated_host_comes_and_goes_with_its_node(nodepool, sky, cloud):
    launcher = nodepool(sky(pool={'availability-zone': 'us-east-1a'},
                            labels=[{'name': 'own', 'instance-type': 'm5.large', 'dedicated-host': True}]))
    lease = launcher.ask('own').lease()
    (node,) = lease['nodes']
    (host,) = cloud.ec2.describe_hosts()['Hosts']
    assert host['State'] == 'available'
    assert tags(host)['nodepool_node_id'] == node['id']
    (instance,) = cloud.instances()
    assert node['external_id'] == {'host': host['HostId'], 'instance': instance['InstanceId']}
    launcher.release(lease)
    launcher.await_no_nodes()
    await_no_instances(cloud)
    assert [host['State'] for host in cloud.ec2.describe_hosts()['Hosts'] if host['State'] != 'released'] == []


def test_many_machines_end_in_few_calls(nodepool, sky, cloud):
    launcher = nodepool(sky())
    lease = launcher.ask(*['small'] * 10).lease()
    assert len(cloud.instances()) == 10
    before = cloud.calls()
    launcher.release(lease)
    launcher.await_no_nodes()
    await_no_instances(cloud)
    assert cloud.calls()['TerminateInstances'] - before.get('TerminateInstances', 0) <= 10


def test_a_refusal_for_want_of_capacity_is_another_attempt(nodepool, sky, cloud):
    cloud.fail(RunInstances=[{'status': 500, 'code': 'InsufficientInstanceCapacity'},
                             {'status': 503, 'code': 'RequestLimitExceeded'}])
    launcher = nodepool(sky())
    (node,) = launcher.ask('small').lease()['nodes']
    assert [instance['InstanceId'] for instance in cloud.instances()] == [node['external_id']['instance']]


def test_an_unknown_instance_type_is_declined(nodepool, sky, cloud):
    launcher = nodepool(sky(labels=[{'name': 'none', 'instance-type': 't99.huge'}]))
    launcher.ask('none').refusal()
    assert launcher.ask('small').lease()['nodes']


def test_an_image_that_is_not_there_is_declined(nodepool, sky, cloud):
    provider = sky()
    provider['cloud-images'][0]['image-filters'] = [{'Name': 'name', 'Values': ['no-such-image']}]
    launcher = nodepool(provider)
    launcher.ask('small').refusal()


def test_a_request_that_the_quota_never_allows_is_declined(nodepool, sky, cloud):
    cloud.set_quotas(ec2={'L-1216C47A': 2.0})
    try:
        launcher = nodepool(sky())
        launcher.ask('small', 'small').refusal()
        assert launcher.ask('small').lease()['nodes']
    finally:
        cloud.set_quotas(ec2={'L-1216C47A': 256.0})


@pytest.mark.smoke
def test_what_a_killed_launcher_has_begun_is_finished_or_cleared_away(nodepool, sky, cloud):
    launcher = nodepool(sky())
    request = launcher.ask('small')
    wait_until('an instance is made', cloud.instances)
    launcher.kill()
    launcher.start()
    (node,) = request.lease()['nodes']
    assert [instance['InstanceId'] for instance in cloud.instances()] == [node['external_id']['instance']]


def test_resources_without_a_record_are_deleted(nodepool, sky, cloud):
    launcher = nodepool(sky())
    (node,) = launcher.ask('small').lease()['nodes']
    marks = {key: value for key, value in tags(cloud.instances()[0]).items() if key.startswith('nodepool_')}
    marks['nodepool_node_id'] = '0000009999'
    left = [{'Key': key, 'Value': value} for key, value in marks.items()]
    volume = cloud.ec2.create_volume(AvailabilityZone='us-east-1a', Size=1, TagSpecifications=[
        {'ResourceType': 'volume', 'Tags': left}])['VolumeId']
    cloud.ec2.run_instances(ImageId=cloud.instances()[0]['ImageId'], MinCount=1, MaxCount=1, TagSpecifications=[
        {'ResourceType': 'instance', 'Tags': left}])
    wait_until('the instance is gone', lambda: [i['InstanceId'] for i in cloud.instances()] == [node['external_id']['instance']], 300)
    wait_until('the volume is gone', lambda: volume not in [v['VolumeId'] for v in cloud.volumes()], 300)


def test_a_machine_that_ends_by_itself_says_so_on_its_node(nodepool, sky, cloud):
    launcher = nodepool(sky())
    lease = launcher.ask('small').lease()
    (node,) = lease['nodes']
    cloud.ec2.terminate_instances(InstanceIds=[node['external_id']['instance']])
    wait_until('the node says so', lambda: [each['comment'] for each in launcher.nodes()] != [None], 120)
    (found,) = launcher.nodes()
    assert found['state'] == 'in-use'
    assert node['external_id']['instance'] in found['comment']
    assert 'Client.UserInitiatedShutdown' in found['comment']
    wait_until('the history says so', lambda: found['comment'] in launcher.run('history', node['id']), 60)
    launcher.release(lease)
    launcher.await_no_nodes()
