"""The Python Nodepool's own gce driver as a client: what it cannot do here, the simulated cloud does wrong."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

from catalog import PROJECT, WWW
from gce_cloud import REGION, ZONE
from launcher import PATIENCE

REFERENCE = pathlib.Path(__file__).parent / 'reference.py'
OWN = f'projects/{PROJECT}'
NAME = 'np0000000007'
METADATA = {'nodepool_node_id': '0000000007', 'nodepool_pool_name': 'main', 'nodepool_provider_name': 'gce',
            'ssh-keys': 'zuul:ssh-rsa AAAA ci'}
LABELS = {  # keys of the image and of the label
    'by-family': ({'image-project': 'debian-cloud', 'image-family': 'debian-12'},
                  {'volume-type': 'pd-ssd', 'volume-size': 40}),
    'by-id': ({'image-id': f'{OWN}/global/images/ci-1'}, {'volume-size': 20})}


@pytest.fixture
def configuration(tmp_path):
    def image(name, of_image):
        return {'name': name, 'username': 'zuul', 'key': 'ssh-rsa AAAA ci', **of_image}

    provider = {
        'name': 'gce', 'driver': 'gce', 'project': PROJECT, 'region': REGION, 'zone': ZONE, 'rate': 100,
        'cloud-images': [image(label, of_image) for label, (of_image, _) in LABELS.items()],
        'pools': [{'name': 'main', 'max-servers': 5, 'labels': [
            {'name': label, 'cloud-image': label, 'instance-type': 'n1-standard-2', **of_label}
            for label, (_, of_label) in LABELS.items()]}]}
    path = tmp_path / 'nodepool.yaml'
    path.write_text(json.dumps({'zookeeper-servers': [{'host': '127.0.0.1'}], 'providers': [provider],
                                'labels': [{'name': label} for label in LABELS]}))
    return path


def run(cloud, configuration, label, environment):
    result = subprocess.run([sys.executable, '-B', REFERENCE, configuration, label, NAME], text=True,
                            capture_output=True, env={**os.environ, **cloud.redirection(), **environment}, timeout=PATIENCE)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def body(source, disk_type, size):
    """What the driver sends for an instance."""
    return {
        'name': NAME, 'machineType': f'{WWW}{OWN}/zones/{ZONE}/machineTypes/n1-standard-2',
        'disks': [{'boot': True, 'autoDelete': True, 'initializeParams': {
            'sourceImage': source, 'diskType': f'zones/{ZONE}/diskTypes/{disk_type}', 'diskSizeGb': size}}],
        'networkInterfaces': [{'network': 'global/networks/default',
                               'accessConfigs': [{'type': 'ONE_TO_ONE_NAT', 'name': 'External NAT'}]}],
        'serviceAccounts': [], 'metadata': {'items': [{'key': key, 'value': value} for key, value in METADATA.items()]}}


def sequence(cloud):
    """The methods in order, without repetitions of lists."""
    found = []
    for exchange in cloud.exchanges():
        assert exchange['status'] == 200
        if exchange['query']:
            assert exchange['query'] in ({'alt': 'json'}, {'grant_type': 'urn:ietf:params:oauth:grant-type:jwt-bearer'})
        if found[-1:] != [exchange['method']]:
            found.append(exchange['method'])
    return found


@pytest.mark.smoke
def test_a_node_by_the_family_of_its_image(cloud, configuration):
    cloud.set(starting=0.5, stopping=1)
    found = run(cloud, configuration, 'by-family', cloud.environment())
    assert sequence(cloud) == [
        'token', 'compute.regions.get', 'compute.machineTypes.get', 'compute.images.getFromFamily',
        'compute.instances.insert', 'compute.instances.list', 'compute.instances.delete', 'compute.instances.list']
    (insert,) = cloud.exchanges('compute.instances.insert')
    image = f'{WWW}projects/debian-cloud/global/images/debian-12-bookworm-v20240213'
    assert insert['path'] == f'/compute/v1/{OWN}/zones/{ZONE}/instances'
    assert insert['body'] == body(image, 'pd-ssd', '40')
    machine = found['machine']
    assert machine == {'external_id': NAME, 'cloud': 'Google', 'region': REGION, 'az': ZONE, 'metadata': METADATA,
                       'private_ipv4': '10.128.0.4', 'public_ipv4': '34.68.0.3', 'interface_ip': machine['public_ipv4']}
    assert found['limits'] == {'cores': 24.0, 'instances': 48.0, 'ram': None}
    assert found['need'] == found['resources'] == {'cores': 2, 'instances': 1, 'ram': 7680}
    assert found['listed'] == [NAME]
    assert found['leaks'] == [['instance', NAME, METADATA]]
    assert found['after'] == []
    assert cloud.things('instances') == cloud.things('disks') == {}
    assert cloud.permissions() == [
        'compute.disks.create', 'compute.instances.create', 'compute.instances.delete', 'compute.instances.list',
        'compute.instances.setMetadata', 'compute.machineTypes.get', 'compute.regions.get', 'compute.subnetworks.use',
        'compute.subnetworks.useExternalIp']


def test_a_node_by_the_id_of_its_image_on_a_machine_in_the_cloud(cloud, configuration):
    cloud.set(pending=0, starting=0, stopping=0)
    found = run(cloud, configuration, 'by-id', cloud.machine_environment())
    (insert,) = cloud.exchanges('compute.instances.insert')
    assert insert['body'] == body(f'{OWN}/global/images/ci-1', 'pd-standard', '20')
    assert found['machine']['metadata'] == METADATA
    assert 'token' not in cloud.calls()
    assert cloud.exchanges('metadata')[-1]['path'].endswith('/instance/service-accounts/default/token')


@pytest.mark.parametrize('kind', ['external_environment', 'impersonating_environment'])
def test_a_node_with_the_identity_of_another_provider(cloud, configuration, kind):
    cloud.set(pending=0, starting=0, stopping=0)
    found = run(cloud, configuration, 'by-family', getattr(cloud, kind)())
    assert found['machine']['metadata'] == METADATA
    assert cloud.exchanges('token')[0]['query'] == {'grant_type': 'urn:ietf:params:oauth:grant-type:token-exchange'}
    assert bool(cloud.exchanges('impersonation')) == (kind == 'impersonating_environment')
