"""The Python Nodepool's own ibmvpc driver as a client: what it cannot do here, the simulated cloud does wrong."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

from ibm_catalog import BUCKET, REGION
from ibm_cloud import ZONE
from launcher import PATIENCE

REFERENCE = pathlib.Path(__file__).parent / 'reference.py'
NAME = 'np0000000007'
OWNER = {'nodepool_provider_name': 'ibm', 'nodepool_pool_name': 'main'}
LABELS = {'by-name': {'image-name': 'ibm-debian-12-11-minimal-amd64-1', 'keys': ['zuul']},
          'by-filter': {'image-filter': {'operating-system': {'name': 'ubuntu-24-04-amd64'}, 'owner-type': 'provider'}}}


@pytest.fixture
def configure(tmp_path, cloud):
    """Makes a configuration file."""
    def make(public_ipv4, **more):
        labels = [{'name': name, 'cloud-image': name, 'profile': 'cx2-2x4', 'user-data': '#!/bin/sh'}
                  for name in LABELS]
        provider = {
            'name': 'ibm', 'driver': 'ibmvpc', 'region': REGION, 'zone': ZONE, 'vpc': 'ci', 'subnet': 'ci-1',
            **more, 'rate': 100, 'quota': {'instances': 7, 'cores': 20}, 'public-ipv4': public_ipv4,
            'object-storage': {
                'instance-name': 'ci-storage', 'endpoint': cloud.storage_url, 'bucket-name': BUCKET},
            'cloud-images': [{'name': name, 'username': 'zuul', **image} for name, image in LABELS.items()],
            'diskimages': [{'name': 'built', 'operating-system': 'debian-12-amd64'}],
            'pools': [{'name': 'main', 'max-servers': 5, 'labels': [
                *labels, {'name': 'by-upload', 'diskimage': 'built', 'profile': 'bx2-2x8'}]}]}
        path = tmp_path / 'nodepool.yaml'
        path.write_text(json.dumps({
            'zookeeper-servers': [{'host': '127.0.0.1'}], 'providers': [provider], 'diskimages': [{'name': 'built'}],
            'labels': [{'name': name} for name in (*LABELS, 'by-upload')]}))
        return path
    return make


def run(cloud, configuration, label, *image, environment=None):
    result = subprocess.run([sys.executable, '-B', REFERENCE, configuration, label, NAME, *image], text=True,
                            capture_output=True, timeout=PATIENCE,
                            env={**os.environ, **(environment or cloud.environment()), **cloud.redirection()})
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def sequence(cloud):
    """The calls in order, without repetitions of lists."""
    found = []
    for exchange in cloud.exchanges():
        assert exchange['status'] in (200, 201, 202, 204)
        if found[-1:] != [exchange['call']]:
            found.append(exchange['call'])
    return found


START = ['token', 'list_vpcs', 'list_resource_instances', 'list_resource_groups', 'create_resource_group',
         'list_instance_profiles', 'list_subnets', 'list_keys']


def instance_body(cloud, image, keys=(), **more):
    """What the driver sends for an instance. Ids are those that the cloud has answered."""
    (sent,) = cloud.exchanges('create_instance')
    body = sent['body']
    assert [len(one['id']) for one in body['keys']] == [41] * len(keys)
    ids = {name: {'id': body[name]['id']} for name in ('resource_group', 'vpc')}
    return {
        'name': NAME, **ids, 'image': {'id': image}, 'zone': {'name': ZONE}, 'keys': body['keys'],
        'primary_network_interface': {'name': 'eth0', 'subnet': body['primary_network_interface']['subnet']},
        'boot_volume_attachment': {'delete_volume_on_instance_delete': True, 'volume': {
            'name': NAME, 'profile': {'name': 'general-purpose'}}}, **more}


@pytest.mark.smoke
def test_a_node_with_a_floating_ip(cloud, configure):
    cloud.set(old_fields=True, pending=0.3, starting=0.3, reserving=0.3, attaching=0.3, releasing=0.3, deleting=0.3)
    found = run(cloud, configure(True), 'by-name')
    assert sequence(cloud) == [
        *START, 'list_images', 'create_floating_ip', 'list_floating_ips', 'create_instance', 'list_instances',
        'add_instance_network_interface_floating_ip', 'list_floating_ips',
        'list_instances', 'list_images', 'list_floating_ips',  # looks for leaks and lists nodes
        'delete_floating_ip', 'list_floating_ips', 'list_instances', 'delete_instance', 'list_instances',
        'list_floating_ips']
    (create,), (reserve,) = (cloud.exchanges(call) for call in ('create_instance', 'create_floating_ip'))
    image = cloud.things('images')[LABELS['by-name']['image-name']]['id']
    assert create['body'] == instance_body(cloud, image, ['zuul'], profile={'name': 'cx2-2x4'}, user_data='#!/bin/sh')
    assert reserve['body'] == {'name': NAME, 'resource_group': create['body']['resource_group'], 'zone': {'name': ZONE}}
    metadata = {**OWNER, 'nodepool_node_id': '0000000007'}
    machine = found['machine']
    assert machine == {'external_id': NAME, 'cloud': 'IBM', 'region': REGION, 'az': ZONE, 'metadata': metadata,
                       'private_ipv4': machine['private_ipv4'], 'public_ipv4': machine['public_ipv4'],
                       'interface_ip': machine['public_ipv4']}
    assert machine['private_ipv4'].startswith('10.240.0.') and machine['public_ipv4'].startswith('169.48.0.')
    assert found['limits'] == {'cores': 20, 'instances': 7, 'ram': None}
    assert found['need'] == found['resources'] == {'cores': 2, 'instances': 1, 'ram': 4}  # GiB as MiB
    assert found['listed'] == [[NAME, machine['public_ipv4']]]
    assert [['instance', NAME, metadata], ['floatingip', NAME, metadata]] == found['leaks'][:2]
    assert found['after'] == [] and cloud.groups() == ['Default', 'np_ibm_main']
    assert cloud.things('instances') == cloud.things('floating_ips') == cloud.things('volumes') == {}


def test_a_node_of_an_image_that_is_uploaded(cloud, configure, tmp_path):
    cloud.set(old_fields=True, importing=0.3)
    file = tmp_path / 'image.qcow2'
    file.write_bytes(b'QFI\xfb' + bytes(20 << 20))
    configuration = configure(False, **{'credentials-file': str(cloud.directory / 'credentials.env')})
    found = run(cloud, configuration, 'by-upload', file, environment={'NO_PROXY': '127.0.0.1'})
    (create,), (upload,) = (cloud.exchanges(call) for call in ('create_instance', 'create_image'))
    assert upload['body'] == {
        'name': 'npimage0000000003', 'resource_group': upload['body']['resource_group'],
        'file': {'href': f'cos://us-south/{BUCKET}/npimage0000000003.qcow2'},
        'operating_system': {'name': 'debian-12-amd64'}}
    image = cloud.exchanges('delete_image')[0]['path'].rpartition('/')[2]
    assert create['body'] == instance_body(cloud, image, profile={'name': 'bx2-2x8'})
    assert found['machine']['public_ipv4'] is None and found['machine']['interface_ip'].startswith('10.240.0.')
    assert ['image', 'npimage0000000003', {'nodepool_provider_name': 'ibm', 'nodepool_upload_id': '0000000003'}] \
        in found['leaks']
    assert cloud.groups() == ['Default', 'np_ibm_main', 'npimages_ibm']
    assert list(cloud.objects()) == [f'{BUCKET}/README']
    assert cloud.calls()['storage_put'] > 1 and cloud.calls()['token'] == 2


@pytest.mark.parametrize('group, missing', [('Default', 'name'), ('np_ibm_main', 'primary_ipv4_address')])
def test_the_driver_reads_fields_that_are_not_in_the_models(cloud, configure, group, missing):
    """The name of a resource group that it has just created, and the former address of a network interface."""
    cloud.add(1, group=group)
    with pytest.raises(AssertionError, match=f"KeyError: '{missing}'"):
        run(cloud, configure(True), 'by-name')
