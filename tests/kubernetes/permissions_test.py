"""The roles of the manual: with them all works, and with one permission less the message names it."""
import pathlib

import pytest
import yaml

from driver_test import cluster, namespaces
from launcher import wait_until

MANUAL = pathlib.Path(__file__).parents[2] / 'docs' / 'drivers'
RBAC = '/apis/rbac.authorization.k8s.io/v1'


def role_of(page):
    return yaml.safe_load((MANUAL / page).read_text())


def permissions_of(role):
    """Each as (group, resource, verb)."""
    return [(group, resource, verb) for rule in role['rules'] for group in rule['apiGroups']
            for resource in rule['resources'] for verb in rule['verbs']]


def with_permissions(role, permissions):
    rules = [{'apiGroups': [group], 'resources': [resource], 'verbs': [verb]} for group, resource, verb in permissions]
    return {**role, 'rules': rules}


class User:
    """Somebody who has a cluster role, or a role in one namespace, and nothing else."""

    def __init__(self, admin, name, namespace=None):
        self.admin = admin
        self.name = name
        self.base = f'{RBAC}/namespaces/{namespace}' if namespace else RBAC
        self.kind = 'Role' if namespace else 'ClusterRole'
        self.namespace = namespace

    def may(self, role):
        kind = self.kind.lower()
        role = {**role, 'metadata': {'name': self.name}}
        self.admin.apply(f'{self.base}/{kind}s', role)
        self.admin.apply(f'{self.base}/{kind}bindings', {
            'metadata': {'name': self.name},
            'subjects': [{'kind': 'User', 'name': self.name, 'apiGroup': 'rbac.authorization.k8s.io'}],
            'roleRef': {'kind': self.kind, 'name': self.name, 'apiGroup': 'rbac.authorization.k8s.io'}})
        wanted = set(permissions_of(role))
        wait_until('the role counts', lambda: all(self.is_allowed(*each) for each in wanted))

    def may_not(self, role, missing):
        self.may(with_permissions(role, [each for each in permissions_of(role) if each != missing]))
        wait_until('the role counts', lambda: not self.is_allowed(*missing))

    def is_allowed(self, group, resource, verb):
        attributes = {'group': group, 'resource': resource, 'verb': verb, 'namespace': self.namespace or ''}
        review = self.admin.call('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
            'spec': {'user': self.name, 'resourceAttributes': attributes}})
        return review['status']['allowed']


def launch_until_listed(launcher, label, things):
    """Until the user may list them again: a launch does so, but not during the backoff after a refusal."""
    def is_listed():
        launcher.release(launcher.ask(label).lease())
        return f'The user may list {things} again' in launcher.log.read_text()
    wait_until(f'the user may list {things}', is_listed)


# What is needed only when something has gone wrong: it is provoked by a name that is taken.
TAKEN = 'main-0000000000'

KUBERNETES = role_of('kubernetes-role.yaml')
NOT_TO_MAKE = {('', 'namespaces', 'delete'), ('', 'pods', 'get'), ('', 'nodes', 'list')}


@pytest.mark.smoke
def test_with_the_role_nodes_are_made_and_deleted(nodepool, admin, as_user):
    User(admin, 'whole').may(KUBERNETES)
    launcher = nodepool(cluster(**{'limit-to-cluster-capacity': False}), kubeconfig=as_user('whole'))
    lease = launcher.ask('box', 'space').lease()
    launcher.release(lease)
    launcher.await_no_nodes()
    assert 'forbidden' not in launcher.log.read_text()


@pytest.mark.parametrize('missing', [each for each in permissions_of(KUBERNETES) if each not in NOT_TO_MAKE],
                         ids=lambda missing: f'{missing[1]}-{missing[2]}')
def test_a_permission_that_is_missing_is_named(nodepool, admin, as_user, missing):
    _, resource, verb = missing
    user = User(admin, f'lacks-{resource}-{verb}')
    user.may_not(KUBERNETES, missing)
    if (resource, verb) == ('namespaces', 'get'):
        admin.apply('/api/v1/namespaces', {'metadata': {'name': TAKEN}})
    launcher = nodepool(cluster(**{'launch-retries': 1, 'launch-timeout': 20}), kubeconfig=as_user(user.name))
    request = launcher.ask('box')
    if verb in ('escalate', 'bind'):
        launcher.await_log('is attempting to grant RBAC permissions')
    else:
        launcher.await_log(f'cannot {verb} resource "{resource}"')
    if verb in ('watch', 'list'):  # is not needed to serve the request
        launcher.release(request.lease())
    else:
        launcher.give_up(request)
    user.may(KUBERNETES)  # so that it can clear away
    launcher.await_no_nodes()
    if (resource, verb) == ('namespaces', 'get'):
        admin.delete(f'/api/v1/namespaces/{TAKEN}')


def test_without_permission_to_list_pods_each_launch_reads_its_own(nodepool, admin, as_user):
    """At first without it; then with it, and without it again."""
    listing = {('', 'pods', 'list'), ('', 'pods', 'watch')}
    kept = [each for each in permissions_of(KUBERNETES) if each not in listing]
    user = User(admin, 'reader')
    user.may(with_permissions(KUBERNETES, kept))
    launcher = nodepool(cluster(), kubeconfig=as_user('reader'))
    launcher.release(launcher.ask('box').lease())
    launcher.await_no_nodes()
    log = launcher.log.read_text()
    assert log.count('Reading the pods of launches one by one') == 1
    assert 'cannot list resource "pods"' in log

    user.may(KUBERNETES)
    launch_until_listed(launcher, 'box', 'the pods of all namespaces')

    user.may(with_permissions(KUBERNETES, kept))
    wait_until('the role counts', lambda: not user.is_allowed('', 'pods', 'list'))
    launcher.release(launcher.ask('box').lease())
    launcher.await_no_nodes()
    assert launcher.log.read_text().count('Reading the pods of launches one by one') == 2


def test_without_permission_to_list_anything_nodes_are_made_and_deleted(nodepool, admin, as_user):
    """With what the Python Nodepool needs; to delete a namespace, also without permission to read it."""
    kept = [each for each in permissions_of(KUBERNETES) if each[2] not in ('list', 'watch')]
    user = User(admin, 'maker')
    user.may(with_permissions(KUBERNETES, kept))
    launcher = nodepool(cluster(), kubeconfig=as_user('maker'))
    launcher.release(launcher.ask('box', 'space').lease())
    launcher.await_no_nodes()
    assert namespaces(admin) == []

    lease = launcher.ask('space').lease()
    user.may_not(with_permissions(KUBERNETES, kept), ('', 'namespaces', 'get'))
    launcher.release(lease)
    launcher.await_no_nodes()
    assert namespaces(admin) == []
    assert launcher.log.read_text().count('Not finding leaked namespaces') == 1


def test_a_missing_permission_to_delete_is_reported(nodepool, admin, as_user):
    missing = ('', 'namespaces', 'delete')
    user = User(admin, 'keeps')
    user.may_not(KUBERNETES, missing)
    launcher = nodepool(cluster(), kubeconfig=as_user('keeps'))
    launcher.release(launcher.ask('space').lease())
    launcher.await_log('cannot delete resource "namespaces"')
    user.may(KUBERNETES)
    launcher.await_no_nodes()


# Pods in projects

PODS = role_of('openshiftpods-role.yaml')


def pods_in(namespace, **more):
    return {'name': 'pods', 'driver': 'openshiftpods', 'context': 'local', 'launch-timeout': 60, 'pools': [
        {'name': namespace, 'labels': [{'name': 'cell', 'image': 'debian:12', 'cpu': 1, 'memory': 256}]}], **more}


@pytest.fixture
def namespace(admin):
    name = 'ci-nodes'
    admin.apply('/api/v1/namespaces', {'metadata': {'name': name}})
    wait_until('it has an account',
               lambda: admin.find(f'/api/v1/namespaces/{name}/serviceaccounts/default'))
    yield name
    admin.delete(f'/api/v1/namespaces/{name}')
    wait_until('it is gone', lambda: not admin.find(f'/api/v1/namespaces/{name}'), 120)


@pytest.mark.smoke
def test_pods_in_a_project_come_and_go(nodepool, admin, as_user, namespace, plane):
    User(admin, 'podder', namespace).may(PODS)
    launcher = nodepool(pods_in(namespace), kubeconfig=as_user('podder'))
    lease = launcher.ask('cell').lease()
    (node,) = lease['nodes']
    (pod,) = admin.items(f'/api/v1/namespaces/{namespace}/pods')
    name = pod['metadata']['name']
    assert (name, node['external_id']) == (f'cell-{node["id"]}', f'{namespace}-cell-{node["id"]}')
    record = launcher.records()[node['id']]
    port = record['connection_port']
    assert (port['namespace'], port['pod'], port['host'], port['user'], port['token'], port['skiptls']) == (
        namespace, name, plane.url, 'zuul-worker', 'admin-token', False)
    assert record['resources'] == {'instances': 1, 'cores': 1, 'ram': 256}
    launcher.release(lease)
    launcher.await_no_nodes()
    assert admin.items(f'/api/v1/namespaces/{namespace}/pods') == []
    assert 'forbidden' not in launcher.log.read_text()


@pytest.mark.parametrize('missing', [each for each in permissions_of(PODS) if each[2] not in ('get', 'delete')],
                         ids=lambda missing: f'{missing[1]}-{missing[2]}')
def test_a_permission_in_a_project_that_is_missing_is_named(nodepool, admin, as_user, namespace, missing):
    _, resource, verb = missing
    user = User(admin, 'podder', namespace)
    user.may_not(PODS, missing)
    launcher = nodepool(pods_in(namespace, **{'launch-retries': 1, 'launch-timeout': 20}),
                        kubeconfig=as_user('podder'))
    request = launcher.ask('cell')
    launcher.await_log(f'cannot {verb} resource "{resource}"')
    if verb in ('watch', 'list'):  # is not needed to serve the request
        launcher.release(request.lease())
    else:
        launcher.give_up(request)
    user.may(PODS)
    launcher.await_no_nodes()


def test_without_permission_to_list_pods_of_a_project_they_are_read_one_by_one(nodepool, admin, as_user, namespace):
    """With what the Python Nodepool needs, and then with more."""
    kept = [each for each in permissions_of(PODS) if each[2] in ('create', 'get', 'delete')]
    user = User(admin, 'podder', namespace)
    user.may(with_permissions(PODS, kept))
    launcher = nodepool(pods_in(namespace), kubeconfig=as_user('podder'))
    launcher.release(launcher.ask('cell').lease())
    launcher.await_no_nodes()
    assert admin.items(f'/api/v1/namespaces/{namespace}/pods') == []
    assert launcher.log.read_text().count(f'Reading the pods of project {namespace} one by one') == 1

    user.may(PODS)
    launch_until_listed(launcher, 'cell', f'the pods of project {namespace}')
    launcher.await_no_nodes()


def test_a_quota_of_the_project_is_waited_for(nodepool, admin, as_user, namespace):
    User(admin, 'podder', namespace).may(PODS)
    admin.apply(f'/api/v1/namespaces/{namespace}/resourcequotas', {
        'metadata': {'name': 'all'}, 'spec': {'hard': {'pods': '2', 'requests.cpu': '2'}}})
    wait_until('the quota counts', lambda: admin.get(
        f'/api/v1/namespaces/{namespace}/resourcequotas/all').get('status', {}).get('hard'))
    launcher = nodepool(pods_in(namespace), kubeconfig=as_user('podder'))
    assert 'quota' in launcher.ask('cell', 'cell', 'cell').refusal()
    first = launcher.ask('cell', 'cell').lease()
    second = launcher.ask('cell')
    wait_until('the second request is there', lambda: 'cell' in launcher.run('request-list'))
    launcher.release(first)
    assert len(second.lease()['nodes']) == 1


def test_a_refusal_for_quota_uses_no_attempt(nodepool, admin, as_user, namespace):
    """Of a quota that nobody may look at."""
    User(admin, 'podder', namespace).may_not(PODS, ('', 'resourcequotas', 'list'))
    admin.apply(f'/api/v1/namespaces/{namespace}/resourcequotas', {
        'metadata': {'name': 'all'}, 'spec': {'hard': {'pods': '1'}}})
    launcher = nodepool(pods_in(namespace, **{'launch-retries': 1}), kubeconfig=as_user('podder'))
    wait_until('the quota counts', lambda: admin.get(
        f'/api/v1/namespaces/{namespace}/resourcequotas/all').get('status', {}).get('hard'))
    first = launcher.ask('cell').lease()
    second = launcher.ask('cell')
    launcher.await_log('exceeded quota')
    launcher.release(first)
    assert len(second.lease()['nodes']) == 1


# Projects

PROJECTS = role_of('openshift-role.yaml')


def projects_of(**more):
    return {'name': 'shift', 'driver': 'openshift', 'context': 'local', 'launch-timeout': 60, 'pools': [
        {'name': 'shift', 'labels': [{'name': 'project', 'type': 'project'},
                                     {'name': 'cell', 'type': 'pod', 'image': 'debian:12'}]}], **more}


@pytest.mark.smoke
def test_projects_come_and_go(nodepool, admin, projects, as_user):
    User(admin, 'developer').may(PROJECTS)
    launcher = nodepool(projects_of(), kubeconfig=as_user('developer'))
    lease = launcher.ask('project', 'cell').lease()
    project, cell = lease['nodes']
    assert project['external_id'] == f'shift-{project["id"]}'
    namespace = admin.get(f'/api/v1/namespaces/{project["external_id"]}')
    assert 'nodepool_node_id' not in namespace['metadata'].get('labels', {})
    record = launcher.records()[project['id']]
    assert (record['connection_type'], record['interface_ip']) == ('project', None)
    assert sorted(record['connection_port']) == ['ca_crt', 'host', 'namespace', 'skiptls', 'token', 'user']
    record = launcher.records()[cell['id']]
    assert (record['connection_type'], record['interface_ip']) == ('kubectl', 'cell')
    assert record['connection_port']['pod'] == 'cell'
    launcher.release(lease)
    launcher.await_no_nodes()
    for node in lease['nodes']:
        assert admin.find(f'/api/v1/namespaces/{node["external_id"]}') is None
    assert 'forbidden' not in launcher.log.read_text()


@pytest.mark.parametrize('missing', [each for each in permissions_of(PROJECTS) if each[2] not in ('get', 'delete')],
                         ids=lambda missing: f'{missing[1]}-{missing[2]}')
def test_a_permission_for_projects_that_is_missing_is_named(nodepool, admin, projects, as_user, missing):
    _, resource, verb = missing
    user = User(admin, 'developer')
    user.may_not(PROJECTS, missing)
    launcher = nodepool(projects_of(**{'launch-retries': 1}), kubeconfig=as_user('developer'))
    request = launcher.ask('project')
    launcher.await_log(f'cannot {verb} resource "{resource}"')
    launcher.give_up(request)
    user.may(PROJECTS)
    launcher.await_no_nodes()
