"""Nodes from Azure by the Python Nodepool and by this one, in the same resource group: the same records, the same
machines, and each ends what the other has made."""
import os
import pathlib

import pytest

from azure_cloud import AzureCloud
from comparison import (
    OF_THE_BUILD, OF_THE_RUN, Nodes, empty_store, running, specimens, unexplained, upload_and_delete, with_names)
from installation import OwnLauncher, PythonLauncher, wait_until

KINDS = {'ours': OwnLauncher, 'theirs': PythonLauncher}
LABELS = ['plain', 'special', 'internal', 'dual']
PARTS = ('networkInterfaces', 'publicIPAddresses', 'disks')

# What is another one for each machine, and has no name (names_of, look_at).
CHANGING = {
    **{f'record.{place}': reason for place, reason in OF_THE_RUN.items()},
    **{f'cloud.{place}': 'of each machine' for place in (
        '*.etag', '*.properties.vmId', '*.timeCreated', '*.resourceGuid', '*.uniqueId')}}
DIFFERENT = {
    'cloud.machine.tags.nodepool_installation_id': 'ours say more exactly whose they are',
    'cloud.machine.tags.nodepool_node_created': 'the same',
    'record.resources.cores': 'the Python Nodepool forgets the size when the machine is there',
    'record.resources.ram': 'the same',
    'record.resources.standardDSv3Family': 'the quota of the family counts'}


IMAGES_DIFFERENT = {'cloud.*.tags.nodepool_installation_id': 'ours say more exactly whose they are'}
AZURE_IMAGE = pathlib.Path(__file__).parents[2] / 'azure' / 'make_image'


@pytest.fixture(scope='module')
def cloud(tmp_path_factory):
    cloud = AzureCloud(tmp_path_factory.mktemp('azure'), os.environ['AZURE_JUDGE'])
    try:
        yield cloud
        assert cloud.problems() == []
    finally:
        cloud.stop()


@pytest.fixture(scope='module')
def sky(cloud):
    """A provider with each kind of machine."""
    of_all = {'max-servers': 9, 'host-key-checking': False, 'node-attributes': {'zone': 'north'}}
    image = {'cloud-image': 'debian', 'hardware-profile': {'vm-size': 'Standard_D2s_v3'}}
    return {
        'name': 'sky', 'driver': 'azure', 'location': 'westeurope', 'resource-group-location': 'westeurope',
        'resource-group': 'nodepool', 'auth-path': cloud.credentials(cloud.directory / 'both.json'),
        'network': 'network', 'rate': 100,
        'cloud-images': [{'name': 'debian', 'username': 'ci', 'key': 'ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAAQCx ci',
                          'python-path': '/usr/bin/python3', 'image-reference': {
                              'publisher': 'Debian', 'offer': 'debian-12', 'sku': '12-gen2', 'version': 'latest'}}],
        'pools': [
            {'name': 'main', **of_all, 'labels': [
                {'name': 'plain', **image},
                {'name': 'special', 'volume-size': 64, 'user-data': 'hello', 'custom-data': '#cloud-config\n',
                 'tags': {'team': 'infra', 'asked-by': 'nobody'},
                 'dynamic-tags': {'asked-by': '{request.labels[0]}', 'tenant': '{request.tenant_name}'}, **image}]},
            {'name': 'inside', **of_all, 'public-ipv4': False, 'use-internal-ip': True, 'labels': [
                {'name': 'internal', **image}]},
            {'name': 'both', **of_all, 'public-ipv6': True, 'labels': [{'name': 'dual', **image}]}]}


def environment(cloud):
    return {**cloud.environment(), **cloud.redirection()}


def names_of(record):
    return {record['external_id']: 'machine', **{record[kind]: kind for kind in (
        'public_ipv4', 'private_ipv4', 'public_ipv6') if record[kind]}}


def look_at(cloud, record):
    """All that Azure has of the node. Each launcher has names of its own for what belongs to a machine."""
    (machine,) = [each for each in cloud.resources('virtualMachines') if each['name'] == record['external_id']]
    found, names = {'machine': machine}, {}
    for type in PARTS:
        found[type] = sorted((each for each in cloud.resources(type) if each['name'].startswith(machine['name'])),
                             key=lambda part: part['properties'].get('publicIPAddressVersion', ''))
        names |= {part['name']: f'{type} {index}' for index, part in enumerate(found[type])}
    for interface in found['networkInterfaces']:
        for each in interface['properties']['ipConfigurations']:
            names[each['properties']['privateIPAddress']] = each['properties']['privateIPAddressVersion']
    return with_names(found, names)


def things(cloud):
    return {each['id'] for type in ('virtualMachines', *PARTS) for each in cloud.resources(type)}


@pytest.fixture(scope='module')
def made(servers, cloud, sky, tmp_path_factory):
    """By kind of launcher: what there was of each label while its node was in use."""
    found = {}
    for name, kind in KINDS.items():
        found[name] = specimens(kind, tmp_path_factory.mktemp(name) / 'launcher', servers, sky, environment(cloud), LABELS,
                                lambda record: look_at(cloud, record), names_of)
        wait_until('Azure has deleted what belonged to the machines', lambda: not things(cloud))
    return found


@pytest.mark.parametrize('label', [pytest.param(LABELS[0], marks=pytest.mark.smoke), *LABELS[1:]])
def test_the_records_and_the_machines_are_the_same(made, label):
    nodes = {name: each[label] for name, each in made.items()}
    assert unexplained(nodes['ours'], nodes['theirs'], CHANGING, DIFFERENT) == {}


@pytest.mark.parametrize('way', ['there', 'back'])
def test_either_ends_what_the_other_has_made(servers, cloud, sky, tmp_path, way):
    before, after = ('theirs', 'ours') if way == 'there' else ('ours', 'theirs')
    with empty_store(servers) as (tree, zuul):
        with running(KINDS[before], tmp_path / before, servers, tree, sky, environment(cloud)):
            nodes = Nodes(tree, zuul, LABELS)
        with running(KINDS[after], tmp_path / after, servers, tree, sky, environment(cloud)):
            nodes.give_back()
            wait_until('the machines are gone', lambda: not things(cloud))


# --- images


def images(cloud):
    return [each for each in cloud.resources('images') if each['name'].startswith('deb')]


@pytest.fixture(scope='module')
def uploaded(servers, cloud, sky, tmp_path_factory):
    """By kind of builder: the records of its build and upload, and the image. The other builder has deleted it."""
    image = {'name': 'deb', 'key': 'ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAAQCx ci', 'tags': {'team': 'infra'}}
    found = {}
    for name, other in (('ours', 'theirs'), ('theirs', 'ours')):
        found[name] = upload_and_delete(
            servers, tmp_path_factory.mktemp(f'{name}-image'), {**sky, 'diskimages': [image]}, environment(cloud),
            lambda: images(cloud), name, other, **{'dib-cmd': str(AZURE_IMAGE)})
        assert images(cloud) == []
        assert cloud.resources('disks') == []
    return found


def test_the_records_and_the_images_are_the_same_and_either_deletes_them(uploaded):
    changing = {**OF_THE_BUILD, 'cloud.*.etag': 'of each image'}
    assert unexplained(uploaded['ours'], uploaded['theirs'], changing, IMAGES_DIFFERENT) == {}
