"""Nodes from IBM Cloud VPC by the Python Nodepool and by this one, in the same region: the same records, the same
machines, and each ends what the other has made."""
import os

import pytest

from comparison import (
    OF_THE_BUILD, OF_THE_RUN, Nodes, empty_store, running, specimens, unexplained, upload_and_delete)
from ibm_catalog import BUCKET
from ibm_cloud import ZONE, IbmCloud
from installation import OwnLauncher, PythonLauncher, wait_until

KINDS = {'ours': OwnLauncher, 'theirs': PythonLauncher}
LABELS = ['plain', 'special', 'public']
# What IBM has of one machine.
THINGS = ('instances', 'instances.*network_interface*', 'instances.*volume_attachment*', 'volumes',
          'volumes.*volume_attachment*', 'floating_ips', 'floating_ips.target*')

# What is another one for each machine, and has no name (names_of).
CHANGING = {
    **{f'record.{place}': reason for place, reason in OF_THE_RUN.items()},
    **{f'cloud.{thing}.{key}': 'of each thing' for thing in THINGS for key in ('id', 'crn', 'href')},
    'cloud.*.created_at': 'a time', 'cloud.*.primary_ip.name': 'invented by IBM'}
DIFFERENT = {
    'cloud.*volume_attachment*.name': 'ours say more exactly whose they are'}

IMAGES_DIFFERENT = {'cloud.*.name': 'ours say more exactly whose they are'}


@pytest.fixture(scope='module')
def cloud(tmp_path_factory):
    cloud = IbmCloud(tmp_path_factory.mktemp('ibmvpc'), os.environ['IBMVPC_PYTHON'])
    cloud.set(old_fields=True)  # the Python Nodepool needs them
    try:
        yield cloud
        assert cloud.problems() == []
    finally:
        cloud.stop()


@pytest.fixture(scope='module')
def dallas():
    """A provider with each kind of machine."""
    of_all = {'host-key-checking': False, 'max-servers': 10, 'node-attributes': {'zone': 'north'}}
    return {
        'name': 'dallas', 'driver': 'ibmvpc', 'vpc': 'ci', 'region': 'us-south', 'zone': ZONE, 'subnet': 'ci-1',
        'rate': 100,
        'cloud-images': [
            {'name': 'debian', 'username': 'ci', 'keys': ['zuul'], 'image-filter': {
                'operating-system': {'name': 'debian-12-amd64'}, 'owner-type': 'provider', 'status': 'available'}},
            {'name': 'own', 'username': 'ci', 'image-name': 'ci-base', 'python-path': '/usr/bin/python3'}],
        'pools': [
            {'name': 'main', **of_all, 'labels': [
                {'name': 'plain', 'cloud-image': 'debian', 'profile': 'bx2-2x8'},
                {'name': 'special', 'cloud-image': 'own', 'profile': 'cx2-2x4', 'user-data': '#!/bin/sh'}]},
            {'name': 'net', **of_all, 'public-ipv4': True, 'labels': [
                {'name': 'public', 'cloud-image': 'debian', 'profile': 'bx2-2x8'}]}]}


def environment(cloud):
    return {**cloud.environment(), **cloud.redirection()}


def names_of(record):
    return {record['external_id']: 'instance',
            **{record[kind]: kind for kind in ('public_ipv4', 'private_ipv4') if record[kind]}}


def look_at(cloud, record):
    """All that IBM has of the node."""
    name = record['external_id']
    (made,) = [call['body'] for call in cloud.exchanges('create_instance') if call['body']['name'] == name][-1:]
    seen = {kind: cloud.things(kind).get(name) for kind in ('instances', 'volumes', 'floating_ips')}
    return {**seen, 'user_data': made.get('user_data'), 'keys': made['keys']}


def things(cloud):
    return {(kind, name) for kind in ('instances', 'volumes', 'floating_ips') for name in cloud.things(kind)}


@pytest.fixture(scope='module')
def made(servers, cloud, dallas, tmp_path_factory):
    """By kind of launcher: what there was of each label while its node was in use, and what was left after that."""
    found = {}
    for name, kind in KINDS.items():
        nodes = specimens(kind, tmp_path_factory.mktemp(name) / 'launcher', servers, dallas, environment(cloud), LABELS,
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
def test_either_ends_what_the_other_has_made(servers, cloud, dallas, tmp_path, way):
    before, after = ('theirs', 'ours') if way == 'there' else ('ours', 'theirs')
    with empty_store(servers) as (tree, zuul):
        with running(KINDS[before], tmp_path / before, servers, tree, dallas, environment(cloud)):
            nodes = Nodes(tree, zuul, LABELS)
        with running(KINDS[after], tmp_path / after, servers, tree, dallas, environment(cloud)):
            nodes.give_back()
            wait_until('the machines are gone', lambda: not things(cloud))


# --- images


def images(cloud):
    return [image for image in cloud.things('images').values() if image['resource_group']['name'].startswith('npimages')]


@pytest.fixture(scope='module')
def uploaded(servers, cloud, dallas, tmp_path_factory):
    """By kind of builder: the records of its build and upload, and the image. The other builder has deleted it."""
    storage = {'instance-name': 'ci-storage', 'endpoint': cloud.storage_url, 'bucket-name': BUCKET}
    provider = {**dallas, 'object-storage': storage,
                'diskimages': [{'name': 'deb', 'operating-system': 'debian-12-amd64'}]}
    found = {}
    for name, other in (('ours', 'theirs'), ('theirs', 'ours')):
        found[name] = upload_and_delete(
            servers, tmp_path_factory.mktemp(f'{name}-image'), provider, environment(cloud), lambda: images(cloud), name,
            other)
        assert images(cloud) == []
        assert list(cloud.objects()) == [f'{BUCKET}/README']
    return found


def test_the_records_and_the_images_are_the_same_and_either_deletes_them(uploaded):
    changing = {**OF_THE_BUILD, **{f'cloud.*.{key}': 'of each image' for key in ('id', 'crn', 'href', 'created_at')}}
    assert unexplained(uploaded['ours'], uploaded['theirs'], changing, IMAGES_DIFFERENT) == {}
