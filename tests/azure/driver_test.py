"""Nodes from Azure: the programs, end to end, in the simulated cloud. Every call is judged."""
import json
import re

import pytest

from azure_cloud import ADDRESSES, DISKS, GROUP, SUBNET
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
    (interface,), (address,), (disk,) = (cloud.resources(type) for type in PARTS[1:])
    stem = disk['name'].removesuffix('disk')
    assert re.fullmatch(f'{name}-[0-9a-f]{{16}}-1-', stem)
    assert address['name'].startswith(f'{stem}v4-ip') and interface['name'].startswith(f'{stem}nic')
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
    changes = {call: count for call, count in cloud.calls().items() if call.split()[0] in ('PUT', 'DELETE')}
    assert changes == {'PUT Microsoft.Compute/virtualMachines': 1, 'DELETE Microsoft.Compute/virtualMachines': 1}


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


WINDOWS = {'publisher': 'MicrosoftWindowsServer', 'offer': 'WindowsServer', 'sku': '2022-datacenter-g2',
           'version': 'latest'}


@pytest.mark.smoke
def test_windows_has_its_password_and_nothing_else_has_it(nodepool, sky, cloud):
    image = {'username': 'ci', 'connection-type': 'winrm', 'image-reference': WINDOWS}
    size = {'hardware-profile': {'vm-size': 'Standard_D4s_v3'}}
    launcher = nodepool(sky(labels=[{'name': 'given', 'cloud-image': 'given', **size},
                                    {'name': 'generated', 'cloud-image': 'generated', **size}],
                            **{'cloud-images': [{'name': 'debian', **image, 'password': 'unused'},
                                                {'name': 'given', 'password': 'Very-Secret-4711', **image},
                                                {'name': 'generated', 'generate-password': True, **image}]}))
    nodes = {label: launcher.ask(label).lease()['nodes'][0] for label in ('given', 'generated')}
    passwords = {label: cloud.passwords()[node['external_id']] for label, node in nodes.items()}
    assert passwords['given'] == 'Very-Secret-4711'
    assert len(passwords['generated']) == 64
    for node in nodes.values():
        assert (node['connection_type'], node['connection_port'], node['username']) == ('winrm', 5986, 'ci')
    seen = json.dumps(launcher.nodes()) + launcher.log.read_text() + launcher.run('history', nodes['generated']['id'])
    assert not [password for password in passwords.values() if password in seen]


def test_a_refused_password_is_in_no_log_and_no_record(nodepool, sky, cloud):
    cloud.fail({'method': 'PUT', 'path': '/virtualMachines/', 'times': 99, 'status': 400, 'code': 'InvalidParameter',
                'message': "adminPassword 'Very-Secret-4711' is too simple"})
    launcher = nodepool(sky(**{'cloud-images': [{
        'name': 'debian', 'username': 'ci', 'password': 'Very-Secret-4711', 'connection-type': 'winrm',
        'image-reference': WINDOWS}]}))
    answer = launcher.ask('small').refusal()
    assert 'is too simple' in launcher.log.read_text()
    assert 'Very-Secret' not in answer + json.dumps(launcher.nodes()) + launcher.log.read_text()


def test_the_console_log_of_a_machine_without_host_keys_is_logged(nodepool, sky, cloud):
    launcher = nodepool(sky(pool={'host-key-checking': True}, labels=[{'name': 'mute', 'console-log': True}],
                            **{'boot-timeout': 30, 'launch-retries': 1}))
    request = launcher.ask('mute')
    wait_until('the machine is there', lambda: machines(cloud))
    (name,) = machines(cloud)
    cloud.change(name, console='Kernel panic - not syncing\nsecond line\n')
    request.refusal()
    assert 'Kernel panic - not syncing' in launcher.log.read_text()
    assert 'sig=' not in launcher.log.read_text()
    await_nothing(cloud)


def test_a_machine_that_is_switched_off_says_so_on_its_node(nodepool, sky, cloud):
    launcher = nodepool(sky())
    lease = launcher.ask('small').lease()
    (node,) = lease['nodes']
    cloud.change(node['external_id'], power='deallocated')
    wait_until('the node says so', lambda: [each['comment'] for each in launcher.nodes()] != [None])
    assert f'{node["external_id"]} is deallocated' in launcher.nodes()[0]['comment']
    launcher.release(lease)
    launcher.await_no_nodes()
    await_nothing(cloud)


def test_what_others_use_of_the_quota_is_counted_before_a_launch(nodepool, sky, cloud):
    """Their machine is in another group, which the launcher does not list."""
    cloud.set(quotas={'cores': 3})
    other = GROUP.replace('/nodepool', '/other')
    cloud.call('PUT', other, {'location': 'westeurope'})
    theirs = f'{other}/providers/Microsoft.Compute/virtualMachines/theirs'
    cloud.finish(cloud.call('PUT', theirs, machine_of_others()))
    launcher = nodepool(sky())
    assert 'quota' in launcher.ask('small').refusal()
    assert 'PUT Microsoft.Compute/virtualMachines' not in [
        each['call'] for each in cloud.log() if not each['path'].endswith('/theirs')]


def machine_of_others():
    return {'location': 'westeurope', 'properties': {
        'hardwareProfile': {'vmSize': 'Standard_D2s_v3'},
        'osProfile': {'computerName': 'theirs', 'adminUsername': 'ci', 'adminPassword': 'Of-Theirs-1'},
        'storageProfile': {'osDisk': {'createOption': 'FromImage'}, 'imageReference': {
            'publisher': 'Debian', 'offer': 'debian-12', 'sku': '12-gen2', 'version': 'latest'}},
        'networkProfile': {'networkApiVersion': '2020-11-01', 'networkInterfaceConfigurations': [
            {'name': 'nic', 'properties': {'ipConfigurations': [
                {'name': 'v4', 'properties': {'subnet': {'id': SUBNET}}}]}}]}}}


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


def test_responses_are_lost(nodepool, sky, cloud):
    cloud.fail({'method': 'PUT', 'path': '/virtualMachines/', 'lost': True, 'times': 2})
    launcher = nodepool(sky())
    lease = launcher.ask('small').lease()
    assert [len(cloud.resources(type)) for type in PARTS] == [1, 1, 1, 1]
    launcher.release(lease)
    launcher.await_no_nodes()
    await_nothing(cloud)


def test_answers_that_are_no_json(nodepool, sky, cloud):
    cloud.fail({'method': 'GET', 'path': '/virtualMachines', 'status': 503, 'shape': 'html', 'times': 2},
               {'method': 'GET', 'path': '/networkInterfaces', 'status': 429, 'code': 'RetryableError'},
               {'method': 'GET', 'path': '/publicIPAddresses', 'status': 404, 'code': 'NotFound', 'shape': 'html'},
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


def test_a_quota_that_azure_finds_exhausted_later(nodepool, sky, cloud):
    """The machine has been accepted, and Azure cannot make its address."""
    cloud.set(quotas={'PublicIPAddresses': 1})
    launcher = nodepool(sky())
    first = launcher.ask('small').lease()
    second = launcher.ask('small')
    wait_until('Azure has refused it', lambda: 'PublicIPCountLimitReached' in launcher.log.read_text())
    assert second.is_waiting()
    launcher.release(first)
    (node,) = second.lease()['nodes']
    wait_until('only the second one is left', lambda: list(machines(cloud)) == [node['external_id']])


def test_leaks(nodepool, sky, cloud):
    """What belonged to lost machines of this provider. Names without its mark are others'."""
    launcher = nodepool(sky())
    lease = launcher.ask('small').lease()
    (disk,) = cloud.resources('disks')
    mark = disk['name'].split('-')[1]
    left, others = [f'np0000009999-{each}-1-' for each in (mark, 'f' * 16)]
    for stem in (left, others):
        cloud.finish(cloud.call('PUT', f'{ADDRESSES}/{stem}v4-ip-1a2b', {
            'location': 'westeurope', 'sku': {'name': 'Standard'}, 'properties': {'publicIPAllocationMethod': 'Static'}}))
        cloud.finish(cloud.call('PUT', f'{DISKS}/{stem}disk', {
            'location': 'westeurope', 'properties': {'creationData': {'createOption': 'Empty'}, 'diskSizeGB': 30}}))
    listed = json.loads(launcher.run('leak-list', '--json'))
    assert {each['id']: each['type'] for each in listed} == {f'{left}v4-ip-1a2b': 'pip', f'{left}disk': 'disk'}
    launcher.run('leak-delete', 'sky', f'{left}v4-ip-1a2b')
    assert len(cloud.resources('publicIPAddresses')) == 2
    wait_until('the disk is gone', lambda: len(cloud.resources('disks')) == 2)
    launcher.release(lease)
    launcher.await_no_nodes()
    wait_until('only that of others is left', lambda: [each['name'] for type in PARTS for each in cloud.resources(type)] == [
        f'{others}v4-ip-1a2b', f'{others}disk'])


def test_without_permissions_in_the_subscription(nodepool, sky, cloud):
    cloud.set(denied=['Microsoft.Resources/subscriptions/resourceGroups/*'])
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
