"""Nodes from Kubernetes: the programs, end to end, and what is in the cluster meanwhile."""
import json
import signal

import pytest

from api import Api, Refused
from launcher import wait_until


def cluster(pool=None, labels=(), **more):
    """A provider named cluster with the labels space and box."""
    return {
        'name': 'cluster', 'driver': 'kubernetes', 'context': 'local', 'launch-timeout': 60,
        'pools': [{
            'name': 'main',
            'labels': [{'name': 'space', 'type': 'namespace'},
                       {'name': 'box', 'type': 'pod', 'image': 'debian:12', 'cpu': 2, 'memory': 512,
                        'labels': {'team': 'infra'}, 'dynamic-labels': {'request': '{request.id}',
                                                                        'bad': 'what no label is: {request.id}'}},
                       *labels],
            **(pool or {})}],
        **more}


def namespaces(admin, provider='cluster'):
    return admin.items(f'/api/v1/namespaces?labelSelector=nodepool_provider_name={provider}')


def await_no_namespaces(admin):
    wait_until('all namespaces are gone', lambda: not namespaces(admin))


def user_of(record):
    """A user of the node, by the kubeconfig that Zuul makes of the node's record."""
    port = record['connection_port']
    name = port.get('name', port['namespace'])
    return Api.of_kubeconfig({
        'apiVersion': 'v1', 'kind': 'Config', 'preferences': {}, 'current-context': name,
        'clusters': [{'name': name, 'cluster': {'server': port['host'], 'certificate-authority-data': port['ca_crt']}}],
        'users': [{'name': port['user'], 'user': {'token': port['token']}}],
        'contexts': [{'name': name, 'context': {
            'cluster': name, 'namespace': port['namespace'], 'user': port['user']}}]})


def can(user, method, path, body=None):
    """Whether the user may; a role counts a moment after it was made."""
    try:
        user.call(method, path, body)
    except Refused as refused:
        assert refused.status == 403, refused
        return False
    return True


@pytest.mark.smoke
def test_a_namespace_is_made_used_and_deleted(nodepool, admin, plane):
    launcher = nodepool(cluster(pool={'node-attributes': {'zone': 'north'}}))
    lease = launcher.ask('space').lease()
    (node,) = lease['nodes']
    (namespace,) = namespaces(admin)

    name = namespace['metadata']['name']
    assert name == f'main-{node["id"]}'
    labels = namespace['metadata']['labels']
    assert len(labels.pop('nodepool_installation_id')) == 32
    assert float(labels.pop('nodepool_node_created')) > 0
    assert labels == {'kubernetes.io/metadata.name': name, 'nodepool_node_id': node['id'],
                      'nodepool_pool_name': 'main', 'nodepool_provider_name': 'cluster',
                      'nodepool_node_label': 'space'}
    expected = {
        'external_id': name, 'cloud': 'local', 'provider': 'cluster', 'pool': 'main', 'type': ['space'],
        'connection_type': 'namespace', 'interface_ip': None, 'python_path': 'auto', 'shell_type': None,
        'username': None, 'host_id': None, 'resources': {'instances': 1, 'cores': 0, 'ram': 0},
        'attributes': {'zone': 'north'}}
    record = launcher.records()[node['id']]
    assert {key: record.get(key) for key in expected} == expected
    port = record['connection_port']
    assert sorted(port) == ['ca_crt', 'host', 'name', 'namespace', 'skiptls', 'token', 'user']
    assert (port['name'], port['namespace'], port['host'], port['skiptls'], port['user']) == (
        name, name, plane.url, False, 'zuul-worker')
    assert port['token'] not in launcher.log.read_text()
    assert port['token'] not in launcher.run('list', '--detail', '--json')

    user = user_of(record)
    wait_until('the role counts', lambda: can(user, 'GET', f'/api/v1/namespaces/{name}/pods'))
    assert can(user, 'POST', f'/api/v1/namespaces/{name}/configmaps', {'metadata': {'name': 'own'}})
    assert can(user, 'GET', f'/api/v1/namespaces/{name}/secrets')
    assert not can(user, 'GET', '/api/v1/namespaces/default/pods')
    assert not can(user, 'DELETE', f'/api/v1/namespaces/{name}')

    launcher.release(lease)
    await_no_namespaces(admin)
    launcher.await_no_nodes()


@pytest.mark.smoke
def test_a_pod_comes_up_and_goes_with_its_namespace(nodepool, admin):
    launcher = nodepool(cluster())
    lease = launcher.ask('box').lease()
    (node,) = lease['nodes']
    (namespace,) = namespaces(admin)
    name = namespace['metadata']['name']
    (pod,) = admin.items(f'/api/v1/namespaces/{name}/pods')
    assert pod['metadata']['labels']['team'] == 'infra'
    assert pod['metadata']['labels']['request'] == node['allocated_to']
    assert 'bad' not in pod['metadata']['labels']
    (container,) = pod['spec']['containers']
    assert (container['name'], container['image'], container['imagePullPolicy']) == ('box', 'debian:12', 'IfNotPresent')
    assert container['resources'] == {'requests': {'cpu': '2', 'memory': '512Mi'},
                                      'limits': {'cpu': '2', 'memory': '512Mi'}}
    record = launcher.records()[node['id']]
    assert (record['connection_type'], record['interface_ip']) == ('kubectl', 'box')
    assert record['connection_port']['pod'] == 'box'
    assert record['resources'] == {'instances': 1, 'cores': 2, 'ram': 512}

    user = user_of(record)
    path = f'/api/v1/namespaces/{name}'
    wait_until('the role counts', lambda: can(user, 'GET', f'{path}/pods/box'))
    assert not can(user, 'POST', f'{path}/configmaps', {'metadata': {'name': 'own'}})
    assert not can(user, 'GET', f'{path}/secrets')
    launcher.release(lease)
    await_no_namespaces(admin)
    launcher.await_no_nodes()


def test_all_keys_of_a_label_reach_the_pod(nodepool, admin):
    launcher = nodepool(cluster(
        pool={'default-label-cpu': 1, 'default-label-memory-limit': 2048, 'max-resources': {'x.org/gpu': 2}},
        labels=[{'name': 'full', 'type': 'pod', 'image': 'debian:12', 'image-pull': 'Always', 'memory': 1024,
                 'storage': 100, 'gpu': 1.0, 'gpu-resource': 'x.org/gpu', 'env': [{'name': 'A', 'value': 'b'}],
                 'node-selector': {'disk': 'fast'}, 'scheduler-name': 'own', 'privileged': True,
                 'volumes': [{'name': 'v', 'emptyDir': {}}], 'volume-mounts': [{'name': 'v', 'mountPath': '/v'}],
                 'annotations': {'note': 'this'}, 'extra-resources': {'licences': 3}},
                {'name': 'own_spec', 'type': 'pod', 'spec': {'containers': [{
                    'name': 'c', 'image': 'alpine', 'command': ['sleep', '9']}], 'restartPolicy': 'Never'}}]))
    full, own = launcher.ask('full', 'own_spec').lease()['nodes']
    (pod,) = admin.items(f'/api/v1/namespaces/{full["external_id"]}/pods')
    (container,) = pod['spec']['containers']
    assert container['resources'] == {
        'requests': {'cpu': '1', 'memory': '1Gi', 'ephemeral-storage': '100M', 'x.org/gpu': '1'},
        'limits': {'cpu': '1', 'memory': '2Gi', 'ephemeral-storage': '100M', 'x.org/gpu': '1'}}
    assert container['env'] == [{'name': 'A', 'value': 'b'}]
    assert {'name': 'v', 'mountPath': '/v'} in container['volumeMounts']
    assert container['securityContext'] == {'privileged': True}
    assert container['imagePullPolicy'] == 'Always'
    assert (pod['spec']['nodeSelector'], pod['spec']['schedulerName']) == ({'disk': 'fast'}, 'own')
    assert {'name': 'v', 'emptyDir': {}} in pod['spec']['volumes']
    assert pod['metadata']['annotations']['note'] == 'this'
    assert launcher.records()[full['id']]['resources'] == {
        'instances': 1, 'cores': 1, 'ram': 1024, 'ephemeral-storage': 100, 'x.org/gpu': 1, 'licences': 3}
    (pod,) = admin.items(f'/api/v1/namespaces/{own["external_id"]}/pods')
    assert (pod['metadata']['name'], pod['spec']['restartPolicy']) == ('own-spec', 'Never')
    assert own['interface_ip'] == 'own-spec'


def test_a_pod_that_fails_is_tried_again_and_leaves_nothing(nodepool, admin, kubelet):
    kubelet.fails.add('box')
    launcher = nodepool(cluster(**{'launch-retries': 2}))
    launcher.ask('box').refusal()
    assert launcher.log.read_text().count('no room here') >= 2
    await_no_namespaces(admin)
    launcher.await_no_nodes()


@pytest.mark.smoke
def test_a_launcher_that_is_killed_leaves_its_launch_to_the_next(nodepool, admin, kubelet):
    kubelet.holds_back.add('box')
    launcher = nodepool(cluster())
    request = launcher.ask('box')
    wait_until('there is a pod', lambda: admin.items('/api/v1/pods?labelSelector=nodepool_provider_name=cluster'))
    launcher.stop(signal.SIGKILL)
    kubelet.holds_back.clear()
    launcher.start()
    (node,) = request.lease()['nodes']
    (namespace,) = namespaces(admin)
    assert namespace['metadata']['name'] == node['external_id']


def test_what_belongs_to_no_node_is_deleted(nodepool, admin):
    launcher = nodepool(cluster())
    (node,) = launcher.ask('space').lease()['nodes']
    (namespace,) = namespaces(admin)
    labels = {**namespace['metadata']['labels'], 'nodepool_node_id': '0000009999'}
    del labels['kubernetes.io/metadata.name']
    admin.apply('/api/v1/namespaces', {'metadata': {'name': 'main-0000009999', 'labels': labels}})
    wait_until('the leak is gone', lambda: len(namespaces(admin)) == 1)
    assert namespaces(admin)[0]['metadata']['name'] == node['external_id']


# Limits


def test_a_request_waits_for_what_the_cluster_has(nodepool, admin):
    admin.apply('/api/v1/nodes', {'metadata': {'name': 'worker'}})
    admin.patch_status('/api/v1/nodes/worker', {'allocatable': {'cpu': '5', 'memory': '8Gi', 'pods': '10'}})
    other = {'metadata': {'name': 'other'}, 'spec': {'containers': [{
        'name': 'c', 'image': 'x', 'resources': {'requests': {'cpu': '500m'}}}]}}
    admin.apply('/api/v1/namespaces/default/pods', other)
    try:
        launcher = nodepool(cluster(**{'limit-to-cluster-capacity': True}))
        assert 'quota' in launcher.ask('box', 'box', 'box').refusal()
        first = launcher.ask('box', 'box').lease()
        second = launcher.ask('box')
        launcher.await_log('cores')
        assert len(namespaces(admin)) == 2
        launcher.release(first)
        assert len(second.lease()['nodes']) == 1
    finally:
        admin.delete('/api/v1/namespaces/default/pods/other')
        admin.delete('/api/v1/nodes/worker')


# Credentials


@pytest.mark.smoke
def test_an_exec_plug_in_provides_the_token(nodepool, plane, tmp_path):
    (tmp_path / 'plugin').write_text(
        '#!/bin/sh\necho "asked: $1 $FROM" >> "$0.log"\necho "$KUBERNETES_EXEC_INFO" >> "$0.log"\n'
        'echo \'{"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", '
        '"status": {"token": "admin-token", "expirationTimestamp": "2100-01-01T00:00:00Z"}}\'\n')
    (tmp_path / 'plugin').chmod(0o755)
    kubeconfig = write_kubeconfig(plane, tmp_path, {'exec': {
        'apiVersion': 'client.authentication.k8s.io/v1', 'command': './plugin', 'args': ['token'],
        'env': [{'name': 'FROM', 'value': 'test'}], 'provideClusterInfo': True, 'interactiveMode': 'Never'}})
    launcher = nodepool(cluster(), kubeconfig=kubeconfig)
    assert len(launcher.ask('space').lease()['nodes']) == 1
    log = (tmp_path / 'plugin.log').read_text()
    assert log.count('asked: token test') == 1
    assert plane.url in log


def test_a_token_in_a_file_is_read_anew(nodepool, plane, tmp_path):
    (tmp_path / 'token').write_text('not-yet\n')
    kubeconfig = write_kubeconfig(plane, tmp_path, {'tokenFile': 'token'})
    launcher = nodepool(cluster(), kubeconfig=kubeconfig)
    request = launcher.ask('space')
    launcher.await_log('HTTP 401')
    (tmp_path / 'token').write_text('admin-token\n')
    request.withdraw()
    assert len(launcher.ask('space').lease()['nodes']) == 1


def write_kubeconfig(plane, folder, credentials):
    path = folder / 'kubeconfig'
    path.write_text(json.dumps(plane.config_of('ci', credentials)))
    return path
