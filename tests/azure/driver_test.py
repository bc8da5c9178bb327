"""Nodes from Azure: the programs, end to end, in the simulated cloud. Every call is judged."""
import json

import pytest

from azure_cloud import GROUP, SUBNET
from azure_catalog import CLIENT, SUBSCRIPTION, TENANT
from launcher import wait_until

PARTS = ('virtualMachines', 'networkInterfaces', 'publicIPAddresses', 'disks')


def machines(cloud):
    return {each['name']: each for each in cloud.resources('virtualMachines')}


def await_nothing(cloud):
    wait_until('all parts are gone', lambda: not any(cloud.resources(type) for type in PARTS))


@pytest.mark.smoke
def test_a_node_is_launched_recorded_and_deleted(nodepool, sky, cloud):
    launcher = nodepool(sky(pool={'node-attributes': {'zone': 'north'}}))
    lease = launcher.ask('small').lease()
    (node,) = lease['nodes']
    ((name, machine),) = machines(cloud).items()
    assert name == f'np{node["id"]}'
    found = dict(machine['tags'])
    assert len(found.pop('nodepool_installation_id')) == 32
    assert float(found.pop('nodepool_node_created')) > 0
    assert found == {'nodepool_node_id': node['id'], 'nodepool_pool_name': 'main', 'nodepool_provider_name': 'sky'}
    (address,), (interface,) = cloud.resources('publicIPAddresses'), cloud.resources('networkInterfaces')
    assert (address['name'], interface['name']) == (f'{name}-v4-ip', f'{name}-nic')
    assert address['tags'] == interface['tags'] == machine['tags']
    (configuration,) = interface['properties']['ipConfigurations']
    assert configuration['properties']['subnet']['id'] == SUBNET
    public = address['properties']['ipAddress']
    expected = {
        'external_id': name, 'az': '', 'interface_ip': public, 'public_ipv4': public,
        'private_ipv4': configuration['properties']['privateIPAddress'], 'cloud': 'Azure', 'region': 'westeurope',
        'provider': 'sky', 'pool': 'main', 'type': ['small'], 'image_id': 'debian', 'username': 'ci',
        'connection_type': 'ssh', 'connection_port': 22, 'attributes': {'zone': 'north'}}
    assert {key: node.get(key) for key in expected} == expected
    assert node['resources'] == {'instances': 1, 'cores': 2, 'ram': 8192, 'standardDSv3Family': 2}
    launcher.release(lease)
    launcher.await_no_nodes()
    await_nothing(cloud)


def test_a_machine_is_made_as_its_label_says(nodepool, sky, cloud):
    launcher = nodepool(sky(pool={'public-ipv6': True, 'use-internal-ip': True}, labels=[{
        'name': 'special', 'volume-size': 64, 'use-spot': True, 'user-data': 'hello', 'custom-data': '#cloud-config\n',
        'tags': {'team': 'infra'}, 'dynamic-tags': {'asked-by': '{request.requestor}'}, 'console-log': True}]))
    (node,) = launcher.ask('special').lease()['nodes']
    (machine,) = machines(cloud).values()
    properties = machine['properties']
    assert machine['tags']['team'] == 'infra' and machine['tags']['asked-by']
    assert properties['storageProfile']['osDisk']['diskSizeGB'] == 64
    assert (properties['priority'], properties['evictionPolicy']) == ('Spot', 'Delete')
    assert properties['osProfile']['linuxConfiguration']['disablePasswordAuthentication'] is True
    assert node['interface_ip'] == node['private_ipv4']
    assert node['public_ipv6'].startswith('2001:db8:20:')
    assert node['resources']['lowPriorityCores'] == 2


def test_a_password_is_in_no_log_and_no_record(nodepool, sky, cloud):
    launcher = nodepool(sky(**{'cloud-images': [{
        'name': 'debian', 'username': 'ci', 'password': 'Very-Secret-4711', 'connection-type': 'winrm',
        'community-gallery-image': {'gallery-name': 'ci-7e1d', 'name': 'debian'}}]}))
    (node,) = launcher.ask('small').lease()['nodes']
    assert node['connection_port'] == 5986
    assert 'Very-Secret' not in json.dumps(launcher.nodes()) + launcher.log.read_text()


@pytest.mark.parametrize('kind', ['certificate', 'workload', 'machine'])
def test_credentials(nodepool, sky, cloud, tmp_path, kind):
    environment = {'AZURE_RESOURCE_MANAGER_URL': cloud.url, 'NO_PROXY': '127.0.0.1',
                   'AZURE_SUBSCRIPTION_ID': SUBSCRIPTION, 'AZURE_POD_IDENTITY_AUTHORITY_HOST': cloud.url}
    if kind != 'machine':
        environment |= {'AZURE_TENANT_ID': TENANT, 'AZURE_CLIENT_ID': CLIENT, 'AZURE_AUTHORITY_HOST': cloud.url}
    if kind == 'certificate':
        environment['AZURE_CLIENT_CERTIFICATE_PATH'] = str(cloud.directory / 'client.pem')
    if kind == 'workload':
        environment['AZURE_FEDERATED_TOKEN_FILE'] = str(cloud.directory / 'federated-token')
    launcher = nodepool(sky(**{'auth-path': ''}), environment=environment)
    lease = launcher.ask('small').lease()
    cloud.revoke_tokens()
    launcher.release(lease)
    launcher.await_no_nodes()
    assert cloud.calls()['GET metadata' if kind == 'machine' else 'POST token'] >= 2


@pytest.mark.smoke
def test_a_refusal_for_quota_waits_for_capacity(nodepool, sky, cloud):
    cloud.set(quotas={'standardDSv3Family': 2})
    launcher = nodepool(sky())
    first = launcher.ask('small').lease()
    cloud.set(quotas={'standardDSv3Family': 3})
    second = launcher.ask('small')
    wait_until('the second one waits', second.is_waiting)
    launcher.release(first)
    (node,) = second.lease()['nodes']
    assert list(machines(cloud)) == [node['external_id']]


def test_a_location_without_machines_is_another_attempt(nodepool, sky, cloud):
    cloud.fail_allocation(times=1)
    launcher = nodepool(sky(**{'launch-retries': 2}))
    lease = launcher.ask('small').lease()
    assert 'AllocationFailed' in launcher.log.read_text()
    launcher.release(lease)
    launcher.await_no_nodes()
    cloud.fail_allocation(times=9)
    launcher.ask('small').refusal()
    await_nothing(cloud)


@pytest.mark.parametrize('type', ['publicIPAddresses', 'networkInterfaces', 'virtualMachines'])
def test_responses_are_lost(nodepool, sky, cloud, type):
    cloud.fail({'method': 'PUT', 'path': f'/{type}/', 'lost': True, 'times': 2})
    launcher = nodepool(sky())
    lease = launcher.ask('small').lease()
    assert len(cloud.resources(type)) == 1
    launcher.release(lease)
    launcher.await_no_nodes()
    await_nothing(cloud)


def test_answers_that_are_no_json(nodepool, sky, cloud):
    cloud.fail({'method': 'GET', 'path': '/virtualMachines', 'status': 503, 'shape': 'html', 'times': 2},
               {'method': 'PUT', 'path': '/networkInterfaces/', 'status': 429, 'code': 'RetryableError'},
               {'method': 'PUT', 'path': '/virtualMachines/', 'status': 429, 'code': 'OperationNotAllowed',
                'shape': 'bare', 'headers': {'Retry-After': '1'}})
    launcher = nodepool(sky())
    assert launcher.ask('small').lease()['nodes']


@pytest.mark.smoke
def test_a_launcher_that_dies(nodepool, sky, cloud):
    cloud.set(times={'vm': 3})
    launcher = nodepool(sky())
    request = launcher.ask('small')
    wait_until('the machine is being made', lambda: machines(cloud))
    launcher.kill()
    launcher.start()
    request.withdraw()
    lease = launcher.ask('small').lease()
    launcher.release(lease)
    launcher.await_no_nodes()
    await_nothing(cloud)


def test_a_group_is_made(nodepool, sky, cloud):
    launcher = nodepool(sky(**{'resource-group': 'new', 'network': {
        'resource-group': 'nodepool', 'network': 'network'}}))
    lease = launcher.ask('small').lease()
    (machine,) = machines(cloud).values()
    assert '/resourceGroups/new/' in machine['id']
    launcher.release(lease)
    launcher.await_no_nodes()
    await_nothing(cloud)


def test_leaks(nodepool, sky, cloud):
    """Those of this installation: another one's are not touched."""
    launcher = nodepool(sky())
    lease = launcher.ask('small').lease()
    (machine,) = machines(cloud).values()
    tags = {**machine['tags'], 'nodepool_node_id': '0000009999'}
    where = {'location': 'westeurope'}
    for number, owner in enumerate((tags, {**tags, 'nodepool_installation_id': 'f' * 32})):
        name = f'/publicIPAddresses/np000000999{number}-v4-ip'
        cloud.finish(cloud.call('PUT', f'{GROUP}/providers/Microsoft.Network{name}', {
            **where, 'tags': owner, 'sku': {'name': 'Standard'}, 'properties': {'publicIPAllocationMethod': 'Static'}}))
    launcher.run('leak-list')
    listed = json.loads(launcher.run('leak-list', '--json'))
    assert [each['id'] for each in listed if each['type'] == 'pip'] == ['np0000009990-v4-ip', 'np0000009991-v4-ip']
    launcher.run('leak-delete', 'sky', 'np0000009990-v4-ip')
    assert len(cloud.resources('publicIPAddresses')) == 2
    launcher.release(lease)
    launcher.await_no_nodes()
    wait_until('only the other is left', lambda: len(cloud.resources('publicIPAddresses')) == 1)


def test_without_permissions_in_the_subscription(nodepool, sky, cloud):
    cloud.set(denied=['Microsoft.Resources/resourceGroups/*'])
    launcher = nodepool(sky())
    assert launcher.ask('small').lease()['nodes']


def test_without_permission_for_machines(nodepool, sky, cloud):
    cloud.set(denied=['Microsoft.Compute/virtualMachines/write'])
    launcher = nodepool(sky())
    launcher.ask('small').refusal()
    assert 'AuthorizationFailed' in launcher.log.read_text()
    await_nothing(cloud)


def test_the_pace_slows_down_before_a_refusal(nodepool, sky, cloud):
    cloud.set(limits={'writes': 12})
    launcher = nodepool(sky())
    for request in [launcher.ask('small') for _ in range(3)]:
        request.lease()
    assert [each for each in cloud.log() if each['status'] == 429] == []
