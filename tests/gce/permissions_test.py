"""The permissions that the manual lists are those that the launcher needs: neither more nor fewer."""
import pathlib
import re

import pytest
import yaml

from catalog import PROJECT
from launcher import wait_until

MANUAL = pathlib.Path(__file__).parents[2] / 'docs/drivers/gce.md'
ROLE = MANUAL.with_name('gce-role.yaml')


def documented():
    section = MANUAL.read_text().split('## Permissions\n')[1].split('\n## ')[0]
    cells = re.findall(r'^\|.*\|(.*)\|$', section, re.MULTILINE)
    return sorted(set(re.findall(r'`(compute\.[\w.]+)`', ' '.join(cells))))


@pytest.mark.smoke
def test_the_manual_lists_all_permissions_and_no_others(nodepool, iowa, cloud):
    provider = iowa(labels=[{'name': 'own', 'cloud-image': 'own', 'volume-size': 20, 'console-log': True,
                             'labels': {'team': 'infra'}}],
                    **{'boot-timeout': 5, 'launch-retries': 1})
    del provider['rate'], provider['pools'][0]['host-key-checking']  # which only daemons accept
    # Those of public images need none.
    provider['cloud-images'][0].update({'image-project': PROJECT, 'image-family': 'ci'})
    provider['pools'][0]['labels'][0]['volume-size'] = 20
    provider['cloud-images'].append({'name': 'own', 'username': 'ci', 'image-id': f'projects/{PROJECT}/global/images/ci-1'})
    launcher = nodepool(provider)
    launcher.ask('own').refusal()  # nobody answers at its address
    cloud.set(stopping=0)  # no list shows that the instance is stopping: it is read itself
    launcher.ask('own').refusal()
    wait_until('the instance itself is read', lambda: cloud.exchanges('compute.instances.get'))
    cloud.exhaust()
    launcher.ask('small').refusal()
    launcher.run('config-validate', '--online')
    assert cloud.permissions() == documented()
    assert cloud.permissions() == yaml.safe_load(ROLE.read_text())['includedPermissions']
