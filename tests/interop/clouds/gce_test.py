"""Nodes from Compute Engine by the Python Nodepool and by this one, in the same project: the same records, the same
machines, and each ends what the other has made."""
import pytest

from catalog import PROJECT
from comparison import OF_THE_RUN, Nodes, empty_store, running, specimens, unexplained
from gce_cloud import REGION, ZONE, GceCloud
from installation import OwnLauncher, PythonLauncher, wait_until

KINDS = {'ours': OwnLauncher, 'theirs': PythonLauncher}
LABELS = ['plain', 'special', 'internal']

# What is another one for each machine, and has no name (names_of).
CHANGING = {
    **{f'record.{place}': reason for place, reason in OF_THE_RUN.items()},
    **{f'cloud.instance.{place}': 'of each machine' for place in (
        'id', 'creationTimestamp', 'lastStartTimestamp', 'fingerprint', 'labelFingerprint', 'metadata.fingerprint',
        'tags.fingerprint', 'networkInterfaces.*.fingerprint')},
    **{f'cloud.disk.{place}': 'of each machine' for place in (
        'id', 'creationTimestamp', 'lastAttachTimestamp', 'labelFingerprint')}}
DIFFERENT = {
    'cloud.metadata.nodepool_installation_id': 'ours say more exactly whose they are',
    'cloud.metadata.nodepool_node_created': 'the same',
    'record.resources.CPUS': 'what the machine takes of the region\'s quota'}


@pytest.fixture(scope='module')
def cloud(tmp_path_factory):
    cloud = GceCloud(tmp_path_factory.mktemp('gce'))
    try:
        yield cloud
        assert cloud.problems() == []
    finally:
        cloud.stop()


@pytest.fixture(scope='module')
def iowa():
    """A provider with each kind of machine."""
    image = {'username': 'ci', 'key': 'ssh-rsa AAAA ci'}
    of_all = {'host-key-checking': False, 'node-attributes': {'zone': 'north'}}
    size = {'instance-type': 'n1-standard-2'}
    return {
        'name': 'iowa', 'driver': 'gce', 'project': PROJECT, 'region': REGION, 'zone': ZONE, 'rate': 100,
        'cloud-images': [
            {'name': 'debian', 'image-project': 'debian-cloud', 'image-family': 'debian-12', **image},
            {'name': 'own', 'image-id': f'projects/{PROJECT}/global/images/ci-1', 'python-path': '/usr/bin/python3',
             **image}],
        'pools': [
            {'name': 'main', **of_all, 'labels': [
                {'name': 'plain', 'cloud-image': 'debian', **size},
                {'name': 'special', 'cloud-image': 'own', 'volume-type': 'pd-ssd', 'volume-size': 40, **size}]},
            {'name': 'inside', **of_all, 'use-internal-ip': True, 'labels': [
                {'name': 'internal', 'cloud-image': 'debian', **size}]}]}


def environment(cloud):
    return {**cloud.environment(), **cloud.redirection()}


def names_of(record):
    return {record['external_id']: 'instance',
            **{record[kind]: kind for kind in ('public_ipv4', 'private_ipv4') if record[kind]}}


def look_at(cloud, record):
    """All that Google has of the node."""
    instance = cloud.things('instances')[record['external_id']]
    metadata = {item['key']: item['value'] for item in instance['metadata'].pop('items')}
    return {'instance': instance, 'metadata': metadata, 'disk': cloud.things('disks')[record['external_id']]}


def things(cloud):
    return {(kind, name) for kind in ('instances', 'disks') for name in cloud.things(kind)}


@pytest.fixture(scope='module')
def made(servers, cloud, iowa, tmp_path_factory):
    """By kind of launcher: what there was of each label while its node was in use, and what was left after that."""
    found = {}
    for name, kind in KINDS.items():
        nodes = specimens(kind, tmp_path_factory.mktemp(name) / 'launcher', servers, iowa, environment(cloud), LABELS,
                          lambda record: look_at(cloud, record), names_of)
        found[name] = {'nodes': nodes, 'left': things(cloud)}
    return found


@pytest.mark.parametrize('label', [pytest.param(LABELS[0], marks=pytest.mark.smoke), *LABELS[1:]])
def test_the_records_and_the_machines_are_the_same(made, label):
    nodes = {name: each['nodes'][label] for name, each in made.items()}
    assert unexplained(nodes['ours'], nodes['theirs'], CHANGING, DIFFERENT) == {}


def test_neither_leaves_anything(made):
    assert made['ours']['left'] == made['theirs']['left'] == set()


@pytest.mark.parametrize('way', ['there', 'back'])
def test_either_ends_what_the_other_has_made(servers, cloud, iowa, tmp_path, way):
    before, after = ('theirs', 'ours') if way == 'there' else ('ours', 'theirs')
    with empty_store(servers) as (tree, zuul):
        with running(KINDS[before], tmp_path / before, servers, tree, iowa, environment(cloud)):
            nodes = Nodes(tree, zuul, LABELS)
        with running(KINDS[after], tmp_path / after, servers, tree, iowa, environment(cloud)):
            nodes.give_back()
            wait_until('the machines are gone', lambda: not things(cloud))
