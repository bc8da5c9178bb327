"""The manual names the permissions of all calls, and of no others."""
import json
import pathlib
import re

import pytest

from cloud_builder import await_image, builders, delete_image
from ibm_catalog import BUCKET
from launcher import wait_until

MANUAL = pathlib.Path(__file__).parents[2] / 'docs/drivers/ibmvpc.md'
POLICIES = MANUAL.with_name('ibmvpc-policies.json')
RARE = {'GET /instances/ID'}  # only for what a list lacks


def documented():
    section = MANUAL.read_text().split('\n## Permissions\n')[1].split('\n## ')[0]
    rows = [line.split('|')[1] for line in section.splitlines() if line.startswith('| `')]
    return {call for row in rows for call in re.findall('`([A-Z]+ /[^`]+)`', row)}


def in_manual(exchange):
    """The call as the manual writes it."""
    path = exchange['path'].rstrip('/').removeprefix('/v1')
    path = re.sub('^/(instances|floating_ips|images)/[^/]+$', r'/\1/ID', path)
    path = re.sub(f'^/{BUCKET}', '/BUCKET', path)
    return f'{exchange["verb"]} {re.sub("^/BUCKET/.+", "/BUCKET/KEY", path)}'


@pytest.mark.smoke
def test_the_manual_names_the_permissions_of_all_calls(nodepool, dallas, cloud, tmp_path):
    """Of a node with a floating IP, and of an image in two parts."""
    storage = {'instance-name': 'ci-storage', 'endpoint': cloud.storage_url, 'bucket-name': BUCKET}
    provider = dallas(pool={'public-ipv4': True}, diskimages=[{'name': 'trixie', 'operating-system': 'debian-12-amd64'}],
                      labels=[{'name': 'built', 'diskimage': 'trixie', 'cloud-image': None}],
                      **{'object-storage': storage})
    with builders(tmp_path) as start:
        launcher = start(nodepool(provider), filled=10)
        launcher.release(launcher.ask('small').lease())
        launcher.await_no_nodes()
        await_image(launcher)
        delete_image(launcher, 'dallas')
        wait_until('the image is deleted', lambda: cloud.exchanges('delete_image'))
    made = {in_manual(each) for each in cloud.exchanges() if each['call'] != 'token'}
    assert made | RARE == documented()
    assert made | RARE == {call for policy in json.loads(POLICIES.read_text()) for call in policy['description'].split(', ')}
