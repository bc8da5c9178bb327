"""Nodes from Kubernetes by the Python Nodepool and by this one, in the same cluster: the same records, the same objects,
and each ends what the other has made."""
import base64
import os

import pytest

from api import as_admin
from comparison import OF_THE_RUN, Nodes, empty_store, running, specimens, unexplained
from control_plane import ControlPlane
from installation import OwnLauncher, PythonLauncher, wait_until
from pods import Kubelet

KINDS = {'ours': OwnLauncher, 'theirs': PythonLauncher}
OBJECTS = {'serviceaccounts': 'api/v1', 'secrets': 'api/v1', 'configmaps': 'api/v1', 'pods': 'api/v1',
           'roles': 'apis/rbac.authorization.k8s.io/v1', 'rolebindings': 'apis/rbac.authorization.k8s.io/v1'}

CHANGING = {
    **{f'record.{place}': reason for place, reason in OF_THE_RUN.items()},
    **{f'cloud.*metadata.{place}': 'of each object' for place in (
        'uid', 'resourceVersion', 'creationTimestamp', 'annotations.kubernetes.io/service-account.uid')},
    'record.connection_port.token': 'of each account', 'record.ssh_port.token': 'the same',
    'cloud.secrets.zuul-worker.data.token': 'the same',
    'cloud.pods.*.spec.volumes.*.name': 'that of the token: the cluster draws it',
    'cloud.pods.*.spec.containers.*.volumeMounts.*.name': 'the same'}
DIFFERENT = {
    '*metadata.managedFields*': 'what the client calls itself, and when',
    '*metadata.labels.nodepool_installation_id': 'ours say more exactly whose they are',
    '*metadata.labels.nodepool_node_created': 'the same'}


@pytest.fixture(scope='module')
def plane(tmp_path_factory):
    """The cluster; started once, or the one of the folder KUBERNETES_CLUSTER, which is left running."""
    folder = os.environ.get('KUBERNETES_CLUSTER')
    plane = ControlPlane(folder or tmp_path_factory.mktemp('cluster'))
    try:
        plane.start()
        yield plane
    finally:
        if not folder:
            plane.stop()


@pytest.fixture(scope='module')
def admin(plane):
    """In whose cluster pods come up."""
    admin = as_admin(plane)
    kubelet = Kubelet(admin)
    kubelet.start()
    yield admin
    kubelet.stop()


@pytest.fixture(scope='module')
def environment(plane):
    return {'KUBECONFIG': str(plane.kubeconfig)}


PROVIDER = {
    'name': 'cluster', 'driver': 'kubernetes', 'context': 'local',
    'pools': [{
        'name': 'main', 'node-attributes': {'zone': 'north'}, 'default-label-cpu': 1,
        'default-label-memory-limit': 2048, 'max-resources': {'x.org/gpu': 2},
        'labels': [
            {'name': 'space', 'type': 'namespace', 'labels': {'team': 'infra'}},
            {'name': 'box', 'type': 'pod', 'image': 'debian:12', 'python-path': '/usr/bin/python3', 'shell-type': 'sh',
             'cpu': 2, 'memory': 512, 'labels': {'team': 'infra'},
             'dynamic-labels': {'wanted': '{request.labels[0]}', 'tenant': '{request.tenant_name}'}},
            {'name': 'full', 'type': 'pod', 'image': 'debian:12', 'image-pull': 'Always', 'memory': 1024,
             'storage': 100, 'gpu': 1.0, 'gpu-resource': 'x.org/gpu', 'env': [{'name': 'A', 'value': 'b'}],
             'node-selector': {'disk': 'fast'}, 'scheduler-name': 'own', 'privileged': True,
             'volumes': [{'name': 'v', 'emptyDir': {}}], 'volume-mounts': [{'name': 'v', 'mountPath': '/v'}],
             'annotations': {'note': 'this'}, 'extra-resources': {'licences': 3}},
            {'name': 'own-spec', 'type': 'pod', 'labels': {'team': 'infra'}, 'annotations': {'note': 'this'},
             'spec': {'containers': [{'name': 'c', 'image': 'alpine', 'command': ['sleep', '9']}],
                      'restartPolicy': 'Never'}}]}]}
LABELS = [label['name'] for label in PROVIDER['pools'][0]['labels']]


def names_of(record):
    name = record['external_id']
    return {name: 'namespace', base64.b64encode(name.encode()).decode(): 'namespace in base64'}


def rights(rules):
    """What they allow, however it is said."""
    return sorted(f'{verb} {group}/{resource}' for rule in rules for group in rule['apiGroups']
                  for resource in rule['resources'] for verb in rule['verbs'])


def look_at(admin, record):
    """All that the cluster has of the node."""
    name = record['external_id']
    seen = {'namespace': admin.get(f'/api/v1/namespaces/{name}')}
    for kind, api in OBJECTS.items():
        seen[kind] = {each['metadata']['name']: each for each in admin.items(f'/{api}/namespaces/{name}/{kind}')}
    for role in seen['roles'].values():
        role['rules'] = rights(role['rules'])
    return seen


def namespaces(admin):
    return {each['metadata']['name'] for each in admin.items('/api/v1/namespaces')}


@pytest.fixture(scope='module')
def made(servers, admin, environment, tmp_path_factory):
    """By kind of launcher: what there was of each label while its node was in use, and what was left after that."""
    found = {}
    for name, kind in KINDS.items():
        before = namespaces(admin)
        nodes = specimens(kind, tmp_path_factory.mktemp(name) / 'launcher', servers, PROVIDER, environment, LABELS,
                          lambda record: look_at(admin, record), names_of)
        found[name] = {'nodes': nodes, 'left': namespaces(admin) - before}
    return found


@pytest.mark.smoke
@pytest.mark.parametrize('label', LABELS)
def test_the_records_and_the_objects_are_the_same(made, label):
    nodes = {name: each['nodes'][label] for name, each in made.items()}
    assert unexplained(nodes['ours'], nodes['theirs'], CHANGING, DIFFERENT) == {}


@pytest.mark.smoke
def test_neither_leaves_anything(made):
    assert made['ours']['left'] == made['theirs']['left'] == set()


@pytest.mark.parametrize('way', ['there', 'back'])
def test_either_ends_what_the_other_has_made(servers, admin, environment, tmp_path, way):
    before, after = ('theirs', 'ours') if way == 'there' else ('ours', 'theirs')
    left = namespaces(admin)
    with empty_store(servers) as (tree, zuul):
        with running(KINDS[before], tmp_path / before, servers, tree, PROVIDER, environment):
            nodes = Nodes(tree, zuul, LABELS)
        assert len(namespaces(admin) - left) == len(LABELS)
        with running(KINDS[after], tmp_path / after, servers, tree, PROVIDER, environment):
            nodes.give_back()
            wait_until('the namespaces are gone', lambda: namespaces(admin) == left)
