"""packaging/kubernetes and packaging/compose: the API server and docker-compose accept what they are given."""
import copy
import os
import pathlib
import subprocess

import pytest
import yaml

from api import Refused
from launcher import wait_until
from permissions_test import KUBERNETES

PACKAGING = pathlib.Path(__file__).parents[2] / 'packaging'
FOLDER = PACKAGING / 'kubernetes'
COMPOSE = PACKAGING / 'compose'
KUSTOMIZATION = yaml.safe_load((FOLDER / 'kustomization.yaml').read_text())
NAMESPACE = KUSTOMIZATION['namespace']
PATHS = {'Namespace': '/api/v1/namespaces',
         'ConfigMap': f'/api/v1/namespaces/{NAMESPACE}/configmaps',
         'Service': f'/api/v1/namespaces/{NAMESPACE}/services',
         'ServiceAccount': f'/api/v1/namespaces/{NAMESPACE}/serviceaccounts',
         'Deployment': f'/apis/apps/v1/namespaces/{NAMESPACE}/deployments',
         'StatefulSet': f'/apis/apps/v1/namespaces/{NAMESPACE}/statefulsets',
         'ClusterRole': '/apis/rbac.authorization.k8s.io/v1/clusterroles',
         'ClusterRoleBinding': '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings'}
MANIFESTS = [manifest for name in KUSTOMIZATION['resources']
             for manifest in yaml.safe_load_all((FOLDER / name).read_text())]
WORKLOADS = [each for each in MANIFESTS if each['kind'] in ('Deployment', 'StatefulSet')]

pytestmark = pytest.mark.smoke


def manifest_of(kind):
    (manifest,) = [each for each in MANIFESTS if each['kind'] == kind]
    return manifest


def name_of(manifest):
    return f'{manifest["kind"]}-{manifest["metadata"]["name"]}'


def apply(admin, manifest, options='&dryRun=All'):
    """Server-side, with fields that the server does not know as errors."""
    path = f'{PATHS[manifest["kind"]]}/{manifest["metadata"]["name"]}'
    return admin.call('PATCH', f'{path}?fieldManager=test&fieldValidation=Strict{options}', manifest,
                      'application/apply-patch+yaml')


@pytest.fixture(scope='module')
def namespace(admin):
    """The namespace with its rules for pods, and the account of the launcher."""
    apply(admin, manifest_of('Namespace'), options='')
    apply(admin, manifest_of('ServiceAccount'), options='')
    yield
    admin.delete(f'/api/v1/namespaces/{NAMESPACE}')
    wait_until('it is gone', lambda: admin.find(f'/api/v1/namespaces/{NAMESPACE}') is None, 120)


def pod_of(workload):
    """The pod that the workload's controller would create."""
    template = workload['spec']['template']
    claims = [{'name': claim['metadata']['name'], 'persistentVolumeClaim': {'claimName': 'any'}}
              for claim in workload['spec'].get('volumeClaimTemplates', [])]
    spec = {**template['spec'], 'volumes': template['spec']['volumes'] + claims}
    # Its controller is not part of this cluster.
    spec.setdefault('serviceAccountName', manifest_of('ServiceAccount')['metadata']['name'])
    return {'apiVersion': 'v1', 'kind': 'Pod', 'spec': spec,
            'metadata': {'generateName': 'test-', 'labels': template['metadata']['labels']}}


def create(admin, pod):
    admin.call('POST', f'/api/v1/namespaces/{NAMESPACE}/pods?dryRun=All&fieldValidation=Strict', pod)


def test_every_file_is_used():
    assert {path.name for path in FOLDER.iterdir()} == {'kustomization.yaml', *KUSTOMIZATION['resources']}


@pytest.mark.parametrize('manifest', MANIFESTS, ids=name_of)
def test_the_server_accepts_it(admin, namespace, manifest):
    apply(admin, manifest)
    with pytest.raises(Refused, match='unknown|not declared'):
        apply(admin, {**manifest, 'unheard-of': 1})


@pytest.mark.parametrize('workload', WORKLOADS, ids=name_of)
def test_its_pods_follow_the_restricted_profile(admin, namespace, workload):
    create(admin, pod_of(workload))
    pod = copy.deepcopy(pod_of(workload))
    pod['spec']['containers'][0]['securityContext']['allowPrivilegeEscalation'] = True
    with pytest.raises(Refused, match='PodSecurity "restricted'):
        create(admin, pod)


@pytest.mark.parametrize('workload', WORKLOADS, ids=name_of)
def test_parts_name_each_other(workload):
    (service,) = [each for each in MANIFESTS if each['kind'] == 'Service'
                  and each['metadata']['name'] == workload['metadata']['name']]
    labels = workload['spec']['template']['metadata']['labels']
    assert service['spec']['selector'] == workload['spec']['selector']['matchLabels'] == labels
    container, = workload['spec']['template']['spec']['containers']
    port, = container['ports']
    probes = [container[f'{kind}Probe']['httpGet'] for kind in ('startup', 'liveness', 'readiness')]
    assert [(probe['path'], probe['port']) for probe in probes] == [
        ('/live', port['name']), ('/live', port['name']), ('/ready', port['name'])]
    assert container['image'] == KUSTOMIZATION['images'][0]['name']


def images_set(manifest):
    """The manifest with the images that the kustomization names."""
    manifest = copy.deepcopy(manifest)
    images = {image['name']: f'{image["newName"]}:{image["newTag"]}' for image in KUSTOMIZATION['images']}
    for container in manifest.get('spec', {}).get('template', {}).get('spec', {}).get('containers', []):
        container['image'] = images[container['image']]
    return manifest


def test_kustomize_makes_these_objects():
    made = subprocess.run(['kubectl', 'kustomize', FOLDER], capture_output=True, text=True, timeout=60)
    assert made.returncode == 0, made.stderr
    assert (sorted(yaml.safe_load_all(made.stdout), key=name_of)
            == sorted(map(images_set, MANIFESTS), key=name_of))


def test_the_role_is_the_manual_s():
    assert manifest_of('ClusterRole')['rules'] == KUBERNETES['rules']


def validate(path):
    program = pathlib.Path(os.environ['NODEPOOL_BINARIES']) / 'nodepool'
    done = subprocess.run([program, '-c', path, 'config-validate'], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 0, done.stderr


def test_the_configuration_is_valid(tmp_path):
    path = tmp_path / 'nodepool.yaml'
    path.write_text(manifest_of('ConfigMap')['data']['nodepool.yaml'])
    validate(path)


def docker_compose(path):
    return subprocess.run(['docker-compose', '-f', path, 'config', '--quiet'], capture_output=True, text=True,
                          timeout=60)


def test_the_compose_file_is_valid(tmp_path):
    accepted = docker_compose(COMPOSE / 'compose.yaml')
    assert accepted.returncode == 0, accepted.stderr
    wrong = tmp_path / 'compose.yaml'
    wrong.write_text((COMPOSE / 'compose.yaml').read_text().replace('read_only:', 'read_olny:'))
    assert 'read_olny' in docker_compose(wrong).stderr


def test_the_configuration_of_the_compose_file_is_valid():
    validate(COMPOSE / 'nodepool.yaml')
    services = yaml.safe_load((COMPOSE / 'compose.yaml').read_text())['services']
    servers = yaml.safe_load((COMPOSE / 'nodepool.yaml').read_text())['zookeeper-servers']
    assert [server['host'] for server in servers] == ['zookeeper'] and 'zookeeper' in services


def test_compose_and_kubernetes_give_builders_the_same_time_to_stop():
    builder, = [each for each in WORKLOADS if each['metadata']['name'] == 'nodepool-builder']
    seconds = builder['spec']['template']['spec']['terminationGracePeriodSeconds']
    services = yaml.safe_load((COMPOSE / 'compose.yaml').read_text())['services']
    assert services['builder']['stop_grace_period'] == f'{seconds}s'


def test_a_process_that_a_hook_has_started_is_reaped():
    builder, = [each for each in WORKLOADS if each['metadata']['name'] == 'nodepool-builder']
    services = yaml.safe_load((COMPOSE / 'compose.yaml').read_text())['services']
    assert builder['spec']['template']['spec']['shareProcessNamespace'] and services['builder']['init']


def test_zookeeper_of_the_compose_file_deletes_old_snapshots():
    services = yaml.safe_load((COMPOSE / 'compose.yaml').read_text())['services']
    assert int(services['zookeeper']['environment']['ZOO_AUTOPURGE_PURGEINTERVAL']) > 0
