"""The permissions that the manual lists are those that the programs need: neither more nor fewer."""
import json
import pathlib
import re

from azure_cloud import ADDRESSES, DISKS, INTERFACES, SUBNET
from conftest import await_ready, delete_upload
from launcher import wait_until

MANUAL = pathlib.Path(__file__).parents[2] / 'docs/drivers/azure.md'
ROLE = MANUAL.with_name('azure-role.json')


def documented():
    """`Microsoft.Compute/disks/read`, `delete`: the second one is of the same resources."""
    section = MANUAL.read_text().split('## Permissions\n')[1].split('\n## ')[0]
    found = set()
    for row in re.findall(r'^\|.*\|(.*)\|$', section, re.MULTILINE):
        resources = None
        for text in re.findall('`([^`]+)`', row):
            if text.startswith('Microsoft.'):
                resources = text.rsplit('/', 2 if text.endswith('/action') else 1)[0]
                found.add(text)
            else:
                found.add(f'{resources}/{text}')
    return found


def leave_parts(cloud, mark):
    """What is left of a lost machine."""
    where = {'location': 'westeurope'}
    for path, end, more in (
            (ADDRESSES, 'v4-ip', {'sku': {'name': 'Standard'}, 'properties': {'publicIPAllocationMethod': 'Static'}}),
            (INTERFACES, 'nic', {'properties': {'ipConfigurations': [
                {'name': 'v4', 'properties': {'subnet': {'id': SUBNET}}}]}}),
            (DISKS, 'disk', {'properties': {'creationData': {'createOption': 'Empty'}, 'diskSizeGB': 30}})):
        cloud.finish(cloud.call('PUT', f'{path}/np0000009999-{mark}-1-{end}', {**where, **more}))


def test_the_manual_lists_all_permissions_and_no_others(with_images, nodepool, sky, cloud):
    launcher, builder = with_images()
    await_ready(launcher)
    lease = launcher.ask('built').lease()
    (disk,) = cloud.resources('disks')
    leave_parts(cloud, disk['name'].split('-')[1])
    wait_until('the leaks are gone', lambda: len(cloud.resources('networkInterfaces')) == 1 and
               len(cloud.resources('publicIPAddresses')) == 1 and len(cloud.resources('disks')) == 1)
    launcher.release(lease)
    launcher.await_no_nodes()
    (image,) = cloud.resources('images')
    delete_upload(launcher)
    wait_until('the image is gone', lambda: image['id'] not in [each['id'] for each in cloud.resources('images')])
    other = nodepool(sky(pool={'host-key-checking': True}, labels=[{'name': 'mute', 'console-log': True}],
                         **{'resource-group': 'new', 'boot-timeout': 5, 'launch-retries': 1, 'network': {
                             'resource-group': 'nodepool', 'network': 'network'}}))
    other.run('config-validate', '--online')
    other.ask('mute').refusal()
    assert cloud.actions() == documented()
    assert cloud.actions() == set(json.loads(ROLE.read_text())['Actions'])
