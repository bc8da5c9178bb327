"""Nodes from AWS by the Python Nodepool and by this one, on the same account: the same records, the same machines, and
each ends what the other has made."""
import json
import os

import pytest

from aws_cloud import REGION, AwsCloud, tags
from comparison import OF_THE_RUN, Nodes, empty_store, running, specimens, unexplained
from installation import OwnLauncher, PythonLauncher, wait_until

KINDS = {'ours': OwnLauncher, 'theirs': PythonLauncher}
LABELS = ['plain', 'spot', 'special', 'any', 'own']

# What is another one for each machine, and has no name (names_of).
CHANGING = {
    **{f'record.{place}': reason for place, reason in OF_THE_RUN.items()},
    **{f'cloud.instance.{place}': 'of each machine' for place in (
        'LaunchTime', 'ClientToken', 'BlockDeviceMappings.*.Ebs.AttachTime', 'BlockDeviceMappings.*.Ebs.VolumeId',
        'NetworkInterfaces.*.Attachment.AttachTime', 'NetworkInterfaces.*.Attachment.AttachmentId',
        'NetworkInterfaces.*.MacAddress', 'NetworkInterfaces.*.NetworkInterfaceId')},
    **{f'cloud.volumes.*.{place}': 'of each machine' for place in (
        'VolumeId', 'CreateTime', 'Attachments.*.VolumeId', 'Attachments.*.AttachTime')},
    'cloud.host.AllocationTime': 'a time'}
DIFFERENT = {
    '*.Tags.nodepool_installation_id': 'ours say more exactly whose they are',
    '*.Tags.nodepool_node_created': 'the same'}


@pytest.fixture(scope='module')
def cloud(tmp_path_factory):
    cloud = AwsCloud(tmp_path_factory.mktemp('moto') / 'log', os.environ['MOTO_PYTHON'])
    try:
        yield cloud
        assert cloud.problems() == []
    finally:
        cloud.stop()


@pytest.fixture(scope='module')
def sky(cloud):
    """A provider with each kind of machine."""
    subnet = cloud.ec2.describe_subnets()['Subnets'][0]
    group = cloud.ec2.create_security_group(GroupName='nodes', Description='of the test', VpcId=subnet['VpcId'])
    image = {'cloud-image': 'debian', 'key-name': 'ci'}
    of_all = {'host-key-checking': False, 'node-attributes': {'zone': 'north'}}
    return {
        'name': 'sky', 'driver': 'aws', 'region-name': REGION, 'rate': 100, 'launch-timeout': 120,
        'cloud-images': [{'name': 'debian', 'username': 'ci', 'python-path': '/usr/bin/python3', 'image-filters': [
            {'name': 'owner-alias', 'values': ['amazon']}, {'name': 'architecture', 'values': ['x86_64']}]}],
        'pools': [
            {'name': 'main', **of_all, 'labels': [
                {'name': 'plain', 'instance-type': 't3.medium', **image},
                {'name': 'spot', 'instance-type': 't3.medium', 'use-spot': True, **image}]},
            {'name': 'net', **of_all, 'subnet-id': subnet['SubnetId'], 'security-group-id': group['GroupId'],
             'availability-zone': subnet['AvailabilityZone'], 'public-ipv4': False, 'labels': [
                 {'name': 'special', 'instance-type': 't3.large', 'volume-type': 'gp3', 'volume-size': 80, 'iops': 4000,
                  'throughput': 200, 'userdata': '#cloud-config\n', 'imdsv2': 'required', 'ebs-optimized': True,
                  'tags': {'team': 'infra', 'asked-by': 'nobody'},
                  'dynamic-tags': {'wanted': '{request.labels[0]}', 'tenant': '{request.tenant_name}'}, **image},
                 {'name': 'any', 'volume-type': 'gp3', 'volume-size': 30, 'userdata': 'hello', 'tags': {'team': 'infra'},
                  'fleet': {'instance-types': ['t3.large', 't3.medium'], 'allocation-strategy': 'lowest-price'},
                  **image}]},
            {'name': 'hosts', **of_all, 'availability-zone': 'us-east-1a', 'labels': [
                {'name': 'own', 'instance-type': 'm5.large', 'dedicated-host': True, **image}]}]}


def instance_of(record):
    id = record['external_id']
    return id if isinstance(id, str) else id['instance']


def host_of(record):
    id = record['external_id']
    return None if isinstance(id, str) else id.get('host')


def by_tags(thing):
    return {**thing, 'Tags': tags(thing)}


def names_of(record):
    names = {instance_of(record): 'instance'}
    if host := host_of(record):
        names[host] = 'host'
    for kind in ('public_ipv4', 'private_ipv4'):
        if address := record[kind]:
            names |= {address: kind, address.replace('.', '-'): f'{kind} in a name'}
    return names


def look_at(cloud, record):
    """All that AWS has of the node."""
    instance_id, host_id = instance_of(record), host_of(record)
    (instance,) = [each for each in cloud.instances() if each['InstanceId'] == instance_id]
    volumes = [each['Ebs']['VolumeId'] for each in instance['BlockDeviceMappings']]
    userdata = cloud.ec2.describe_instance_attribute(InstanceId=instance_id, Attribute='userData')
    seen = {'instance': by_tags(instance), 'userdata': userdata['UserData'],
            'volumes': [by_tags(each) for each in cloud.volumes() if each['VolumeId'] in volumes]}
    if host_id:
        (host,) = cloud.ec2.describe_hosts(HostIds=[host_id])['Hosts']
        seen['host'] = by_tags(host)
    return seen


def things(cloud):
    """What costs money, or is in somebody's way. moto keeps the interfaces of machines that have gone."""
    return {*(('instance', each['InstanceId']) for each in cloud.instances()),
            *(('volume', each['VolumeId']) for each in cloud.volumes()),
            *(('host', each['HostId']) for each in cloud.ec2.describe_hosts()['Hosts'] if each['State'] != 'released'),
            *(('address', each['PublicIp']) for each in cloud.ec2.describe_addresses()['Addresses']),
            *(('template', each['LaunchTemplateName'])
              for each in cloud.ec2.describe_launch_templates()['LaunchTemplates'])}


@pytest.fixture(scope='module')
def made(servers, cloud, sky, tmp_path_factory):
    """By kind of launcher: what there was of each label while its node was in use, and what was left after that."""
    found = {}
    for name, kind in KINDS.items():
        before = things(cloud)
        nodes = specimens(kind, tmp_path_factory.mktemp(name) / 'launcher', servers, sky, cloud.environment(), LABELS,
                          lambda record: look_at(cloud, record), names_of)
        found[name] = {'nodes': nodes, 'left': sorted(kind for kind, _ in things(cloud) - before)}
    return found


@pytest.mark.parametrize('label', [pytest.param(LABELS[0], marks=pytest.mark.smoke), *LABELS[1:]])
def test_the_records_and_the_machines_are_the_same(made, label):
    nodes = {name: each['nodes'][label] for name, each in made.items()}
    assert unexplained(nodes['ours'], nodes['theirs'], CHANGING, DIFFERENT) == {}


def test_neither_leaves_anything_but_its_launch_template(made):
    assert made['ours']['left'] == made['theirs']['left'] == ['template']


@pytest.mark.parametrize('way', ['there', 'back'])
def test_either_ends_what_the_other_has_made(servers, cloud, sky, tmp_path, way):
    before, after = ('theirs', 'ours') if way == 'there' else ('ours', 'theirs')
    left = {thing for thing in things(cloud) if thing[0] != 'template'}
    with empty_store(servers) as (tree, zuul):
        with running(KINDS[before], tmp_path / before, servers, tree, sky, cloud.environment()):
            nodes = Nodes(tree, zuul, LABELS)
        if way == 'there':  # as releases before had it
            path = f'/nodepool/nodes/{nodes.id("spot")}'
            record = tree.record(path)
            tree.client.set(path, json.dumps({**record, 'external_id': instance_of(record)}).encode())
        with running(KINDS[after], tmp_path / after, servers, tree, sky, cloud.environment()):
            nodes.give_back()
            wait_until('the machines are gone',
                       lambda: {thing for thing in things(cloud) if thing[0] != 'template'} == left)
