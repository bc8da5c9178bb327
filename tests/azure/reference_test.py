"""The azure driver of the Python Nodepool 11, unmodified, on the simulated Azure: its calls and the resources."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

from azure_cloud import IMAGES, SUBNET
from disks import fixed_vhd
from launcher import PATIENCE, wait_until

HERE = pathlib.Path(__file__).parent
KEY = 'ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAAQCx ci'
SIZE = {'hardware-profile': {'vm-size': 'Standard_D2s_v3'}}
START = ['POST token', 'GET Microsoft.Network/virtualNetworks/subnets', 'list Microsoft.Compute/skus']


class Reference:
    def __init__(self, cloud, directory, **provider):
        self.cloud, self.config = cloud, directory / 'nodepool.yaml'
        labels = [label['name'] for pool in provider['pools'] for label in pool['labels']]
        self.config.write_text(json.dumps({  # JSON is YAML
            'labels': [{'name': name} for name in labels],
            'diskimages': [{'name': 'built', 'elements': ['vm'], 'username': 'zuul'}],
            'zookeeper-servers': [{'host': 'none'}], 'providers': [{
                'name': 'sky', 'driver': 'azure', 'location': 'westeurope', 'resource-group-location': 'westeurope',
                'resource-group': 'nodepool', 'auth-path': str(cloud.directory / 'auth.json'), 'rate': 100,
                **provider}]}))

    def perform(self, *arguments):
        environment = {**os.environ, **self.cloud.redirection()}
        done = subprocess.run([sys.executable, HERE / 'reference.py', self.config, *arguments], text=True,
                              timeout=PATIENCE, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        print(done.stderr)  # shown when the test fails
        return done

    def run(self, *arguments):
        """The result of an action of reference.py, and the calls that it made after those of every start."""
        before = len(self.cloud.log())
        done = self.perform(*arguments)
        assert done.returncode == 0 and 'Traceback' not in done.stderr
        calls = [each['call'] for each in self.cloud.log()[before:]]
        assert calls[:3] == START
        return json.loads(done.stdout), calls[3:]


@pytest.fixture
def reference(cloud, tmp_path):
    def image(name, **more):
        return {'name': name, 'username': 'zuul', 'key': KEY, **more}
    images = [
        image('debian', **{'image-reference': {
            'publisher': 'Debian', 'offer': 'debian-12', 'sku': '12-gen2', 'version': 'latest'}}),
        image('filtered', **{'image-filter': {'tags': {'nodepool_build_id': '1'}}}),
        image('named', **{'image-id': f'{IMAGES}/built-1', 'generate-password': True}),
        image('community', **{'community-gallery-image': {'gallery-name': 'ci-7e1d', 'name': 'debian'}})]
    return Reference(cloud, tmp_path, network='network', diskimages=[{'name': 'built', 'key': KEY}], pools=[
        {'name': 'main', 'max-servers': 9, 'labels': [
            *({'name': each['name'], 'cloud-image': each['name'], **SIZE} for each in images),
            {'name': 'built', 'diskimage': 'built', **SIZE}]},
        {'name': 'dual', 'max-servers': 9, 'public-ipv6': True, 'labels': [
            {'name': 'special', 'cloud-image': 'debian', 'volume-size': 64, 'tags': {'team': 'infra'},
             'dynamic-tags': {'tenant': '{request.tenant_name}'}, 'user-data': 'hello',
             'custom-data': '#cloud-config\n', **SIZE}]},
        {'name': 'inner', 'max-servers': 9, 'public-ipv4': False, 'labels': [
            {'name': 'private', 'cloud-image': 'debian', **SIZE}]}], **{'cloud-images': images})


def parts_of(cloud, type):
    return {each['name']: each for each in cloud.resources(type)}


@pytest.mark.smoke
def test_nodes(cloud, reference):
    nodes, calls = reference.run('launch', 'np1=debian', 'np2=special', 'np3=private')
    seen = {name: [node[key] for key in ('public_ipv4', 'public_ipv6', 'private_ipv4', 'interface_ip')]
            for name, node in nodes.items()}
    assert seen == {'np1': ['127.20.0.10', None, '127.30.0.4', '127.20.0.10'],
                    'np2': ['127.20.0.11', '2001:db8:20::a', '127.30.0.5', '127.20.0.11'],
                    'np3': [None, None, '127.30.0.6', '127.30.0.6']}
    assert nodes['np2'].items() >= {'external_id': 'np2', 'cloud': 'Azure', 'region': 'westeurope', 'az': ''}.items()
    # One PUT makes everything. Then it asks for lists only, at most every 10 seconds, and not for the operation.
    machines, interfaces, addresses = (f'list Microsoft.{type}' for type in (
        'Compute/virtualMachines', 'Network/networkInterfaces', 'Network/publicIPAddresses'))
    assert calls.count('PUT Microsoft.Compute/virtualMachines') == 3
    assert set(calls) == {'PUT Microsoft.Compute/virtualMachines', machines, interfaces, addresses}
    assert calls.index(machines) < calls.index(interfaces) < calls.index(addresses)

    special, owner = parts_of(cloud, 'virtualMachines')['np2'], {
        'nodepool_provider_name': 'sky', 'nodepool_pool_name': 'dual', 'nodepool_node_id': '2'}
    assert special['tags'] == {'team': 'infra', 'tenant': 'acme', **owner}
    disk = special['properties']['storageProfile']['osDisk']
    assert (disk['diskSizeGB'], disk['createOption'], disk['deleteOption']) == (64, 'FromImage', 'Delete')
    key = special['properties']['osProfile']['linuxConfiguration']['ssh']['publicKeys']
    assert key == [{'path': '/home/zuul/.ssh/authorized_keys', 'keyData': KEY}]
    # Names begin with the host's. Nothing but the machine has tags: the rest goes by deleteOption.
    rest = [each for type in ('networkInterfaces', 'publicIPAddresses', 'disks') for each in cloud.resources(type)]
    begins = sorted(each['name'].rsplit('-' if '-' in each['name'] else '_OsDisk', 1)[0] for each in rest)
    assert begins == ['np1', 'np1-nic', 'np1-v4-ip', 'np2', 'np2-nic', 'np2-v4-ip', 'np2-v6-ip', 'np3', 'np3-nic']
    assert not [each for each in rest if each.get('tags')]
    for address in cloud.resources('publicIPAddresses'):
        assert address['sku']['name'] == 'Standard'
        assert address['properties']['publicIPAllocationMethod'] == 'Static'
    (nic,) = [each for each in cloud.resources('networkInterfaces') if each['name'].startswith('np2')]
    assert [(each['name'], each['properties']['privateIPAddressVersion'], each['properties']['subnet']['id'])
            for each in nic['properties']['ipConfigurations']] == [
                ('np2-v4-config', 'IPv4', SUBNET), ('np2-v6-config', 'IPv6', SUBNET)]

    listed, calls = reference.run('list')
    assert sorted(calls) == sorted([machines, interfaces, addresses, 'list Microsoft.Compute/disks',
                                    'list Microsoft.Compute/images'])
    kinds = [kind for kind, _, _ in listed['resources']]
    assert {kind: kinds.count(kind) for kind in kinds} == {'INSTANCE': 3, 'nic': 3, 'pip': 3, 'disk': 3}
    assert {each['external_id'] for each in listed['instances']} == {'np1', 'np2', 'np3'}
    assert listed['instances'][0]['quota']['compute'] == {'cores': 2, 'instances': 1, 'ram': 8192}
    limits, calls = reference.run('limits', 'debian')
    assert calls == ['list Microsoft.Compute/usages']
    assert (limits['limits']['compute']['cores'], limits['limits']['compute']['instances']) == (100, 25000)

    _, calls = reference.run('delete', 'np1', 'np2', 'np3')
    assert calls[0] == machines and calls.count('DELETE Microsoft.Compute/virtualMachines') == 3
    assert set(calls) == {machines, 'DELETE Microsoft.Compute/virtualMachines'}
    wait_until('the parts are gone', lambda: not any(
        cloud.resources(type) for type in ('virtualMachines', 'networkInterfaces', 'publicIPAddresses', 'disks')))


@pytest.mark.smoke
def test_an_image_and_its_nodes(cloud, reference, tmp_path):
    file = fixed_vhd(tmp_path / 'image.vhd', 24, b'boot')
    name, calls = reference.run('upload', 'built-1', str(file))
    assert name == 'built-1'
    writes = [call for call in calls if call == 'PUT blob']
    assert len(writes) == 7  # of 4 MiB, and the footer
    assert [call for call in calls if call not in ('PUT blob', 'GET operation')] == [
        'PUT Microsoft.Compute/disks', 'POST Microsoft.Compute/disks/beginGetAccess',
        'POST Microsoft.Compute/disks/endGetAccess', 'PUT Microsoft.Compute/images', 'DELETE Microsoft.Compute/disks']
    (image,) = cloud.resources('images')
    assert image['tags'] == {'nodepool_provider_name': 'sky', 'nodepool_build_id': '1', 'nodepool_upload_id': '2'}
    assert image['properties']['hyperVGeneration'] == 'V2'
    assert image['properties']['storageProfile']['zoneResilient'] is True
    assert not cloud.resources('disks')

    reference.run('launch', 'np1=filtered', 'np2=named', 'np3=community', 'np4=built=built-1')
    references = {name: machine['properties']['storageProfile']['imageReference']
                  for name, machine in parts_of(cloud, 'virtualMachines').items()}
    by_id = {'id': image['id']}
    assert references == {'np1': by_id, 'np2': by_id, 'np4': by_id, 'np3': {
        'communityGalleryImageId': '/CommunityGalleries/ci-7e1d/Images/debian'}}
    _, calls = reference.run('delete-image', 'built-1')
    assert calls[0] == 'DELETE Microsoft.Compute/images' and set(calls[1:]) == {'GET operation'}
    assert not cloud.resources('images')


def test_a_launch_that_fails(cloud, reference):
    cloud.fail_allocation(times=1)
    assert 'LaunchStatusException: VM in failed state' in reference.perform('launch', 'np1=debian').stderr
    (machine,) = cloud.resources('virtualMachines')
    assert machine['properties']['provisioningState'] == 'Failed'
