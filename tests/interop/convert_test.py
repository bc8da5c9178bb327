"""`nodepool convert --to zuul`: Zuul's own parsers accept the result, and understand what is meant."""
import os
import pathlib
import subprocess

import pytest
import voluptuous
import yaml

from fixtures_test import accepted_configurations, filled_in
from zuul_layout import Layout

EXAMPLES = pathlib.Path(__file__).parent / 'convert'
SECRET = 'do-not-write-this'


def convert(text, directory):
    """The result of the command: exit status, output, errors."""
    credentials = directory / 'azure.json'
    credentials.write_text('{"tenantId": "t", "clientId": "c", "clientSecret": "s", "subscriptionId": "i"}')
    path = directory / 'nodepool.yaml'
    path.write_text(text.replace('AUTH_PATH', str(credentials)))
    program = pathlib.Path(os.environ['NODEPOOL_BINARIES']) / 'nodepool'
    done = subprocess.run([program, '-c', path, 'convert', '--to', 'zuul'], capture_output=True,
                          text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def layout_of(tmp_path):
    """Zuul's view of an example after its conversion."""
    def layout(name):
        status, out, err = convert((EXAMPLES / f'{name}.yaml').read_text(), tmp_path)
        assert status == 0, err
        assert SECRET not in out + err
        return Layout(out)
    return layout


@pytest.mark.smoke
def test_aws(layout_of):
    layout = layout_of('aws')
    main, spare = layout.providers['ec2-main'], layout.providers['ec2-spare']
    assert main.region == 'eu-central-1' and main.object_storage['bucket_name'] == 'images'
    assert (main.launch_timeout, main.launch_attempts) == (900, 2)
    assert main.resource_limits == {'instances': 10, 'cores': 80, 'ram': 65536, 'L-1216C47A': 128}
    label = main.labels['debian-12']
    assert (label.az, label.subnet_ids, label.security_group_ids) == ('eu-central-1a', ['subnet-1'], ['sg-1'])
    assert (label.boot_timeout, label.host_key_checking, label.key_name) == (200, False, 'ci')
    assert (label.volume_type, label.volume_size, label.iops) == ('io2', 40, 4000)
    assert label.tags == {'cost': '{{ci}}', 'tenant': '{tenant_name}', 'request': '{request_id} {labels[0]}'}
    image = main.images[label.image]
    assert (image.type, image.username, image.format, image.import_method) == ('zuul', 'ci', 'raw', 'ebs-direct')
    assert (image.architecture, image.imds_support, image.tags) == ('arm64', 'v2.0', {'team': 'ci', 'year': '2026'})
    flavor = main.flavors[label.flavor]
    assert (flavor.instance_type, flavor.public_ipv4, flavor.dedicated_host) == ('m7g.large', False, False)
    large = main.labels['debian-12-large']
    assert (large.volume_type, large.volume_size, large.throughput) == ('gp3', 80, 200)
    assert large.imds_http_tokens == 'required' and large.iam_instance_profile == {'name': 'ci'}
    assert large.userdata == '#cloud-config\npackages: [git]\n'
    assert main.flavors[large.flavor].dedicated_host and main.flavors[large.flavor].ebs_optimized
    spot = spare.labels['debian-12']
    assert spare.flavors[spot.flavor].market_type == 'spot' and spare.flavors[spot.flavor].public_ipv6
    assert spare.images[spot.image].image_filters == [
        {'name': 'name', 'values': ['ubuntu/images/*24.04*']}, {'name': 'architecture', 'values': ['arm64']}]
    assert spare.images[spot.image].python_path == '/usr/bin/python3'
    windows = spare.images[spare.labels['windows'].image]
    assert (windows.connection_type, windows.connection_port, windows.shell_type) == ('winrm', 5986, 'powershell')
    assert spare.flavors[spare.labels['any-type'].flavor].fleet['instance_types'] == ['t4g.medium', 'm7g.medium']
    assert main.connection.rate == 3
    assert layout.layout.labels['debian-12'].min_ready == 2
    assert layout.layout.labels['debian-12'].max_ready_age == 3600


@pytest.mark.smoke
def test_azure(layout_of):
    layout = layout_of('azure')
    provider, other = layout.providers['azure'], layout.providers['azure-by-name']
    assert (provider.region, provider.resource_group) == ('westeurope', 'ci')
    assert provider.resource_limits == {'instances': 5}
    label = provider.labels['jammy']
    assert label.subnet_reference == {'network': 'ci', 'resource_group': 'net', 'subnet': 'nodes'}
    assert (label.key_data, label.userdata, label.tags) == ('ssh-ed25519 AAAA', 'hello', {'team': 'ci'})
    flavor = provider.flavors[label.flavor]
    assert (flavor.vm_size, flavor.priority, flavor.ipv6, flavor.public_ipv4) == ('Standard_D2s_v3', 'spot', True, False)
    assert provider.images[label.image].image_reference['sku'] == 'minimal'
    windows = provider.labels['windows']
    assert windows.volume_size == 128
    assert provider.images[windows.image].generate_password
    assert provider.images[windows.image].connection_port == 5987
    assert provider.images['built'].type == 'zuul' and provider.images['built'].username == 'zuul'
    assert provider.connection.rate == 5 and provider.connection.client_secret == 's'
    assert other.labels['jammy'].subnet_reference['network'] == 'ci'
    assert other.flavors[other.labels['jammy'].flavor].vm_size == 'Standard_D4s_v3'


@pytest.mark.smoke
def test_kubernetes(layout_of):
    layout = layout_of('kubernetes')
    cluster, projects = layout.providers['cluster'], layout.providers['projects']
    assert cluster.connection.context == 'admin@cluster' and not cluster.connection.use_openshift_projects
    assert cluster.resource_limits == {'pods': 7}
    pod = cluster.labels['pod']
    assert pod.kind == 'pod' and pod.tags == {'team': 'ci', 'tenant': '{tenant_name}'}
    assert pod.annotations == {'note': 'yes'}
    assert cluster.images[pod.image].python_path == '/usr/bin/python3'
    container, = pod.spec['containers']
    assert container['image'] == 'docker.io/library/debian:12' and container['imagePullPolicy'] == 'Always'
    assert container['resources'] == {
        'requests': {'cpu': '1', 'memory': '1024Mi', 'nvidia.com/gpu': '0.50'},
        'limits': {'cpu': '1', 'memory': '2048Mi', 'ephemeral-storage': '500M', 'nvidia.com/gpu': '0.50'}}
    assert container['securityContext'] == {'privileged': True}
    assert container['volumeMounts'] == [{'name': 'tmp', 'mountPath': '/data'}]
    assert pod.spec['nodeSelector'] == {'disk': 'ssd'} and pod.spec['schedulerName'] == 'own'
    assert cluster.labels['own-pod'].spec['containers'][0]['name'] == 'own'
    assert cluster.labels['space'].kind == 'namespace'
    assert projects.connection.use_openshift_projects and projects.resource_limits == {'pods': 3}
    assert projects.labels['project'].kind == 'namespace'
    assert projects.labels['project-pod'].spec['imagePullSecrets'] == [{'name': 'registry'}]


@pytest.mark.smoke
def test_openstack(layout_of):
    layout = layout_of('openstack')
    a, b = layout.providers['cloud-a'], layout.providers['cloud-b']
    assert (a.region, a.connection.cloud_name, a.connection.rate) == ('one', 'a', 4)
    assert (a.floating_ip_cleanup, a.port_cleanup_interval) == (True, 0)
    assert a.resource_limits == {'instances': 10, 'cores': 40, 'ram': 81920, 'volume_gb': 500}
    small, large = a.labels['small'], a.labels['large']
    assert (small.az, small.networks, small.security_groups) == ('nova', ['private', 'public'], ['ssh'])
    assert not small.auto_floating_ip and small.host_key_checking
    assert small.tags == {'team': 'ci', 'level': '3', 'request': '{request_id}'}
    assert (large.networks, large.host_key_checking, large.userdata) == (['private'], False, 'yes')
    assert large.boot_from_volume and large.volume_size == 50
    image = a.images[small.image]
    assert (image.type, image.username, image.python_path) == ('zuul', 'ci', '/usr/bin/python3')
    assert image.config_drive and image.tags == {'os_type': 'linux', 'min': '3'}
    assert image.import_timeout == 3600
    assert b.images[b.labels['small'].image].image_id == '0b1c'
    assert not b.images[b.labels['small'].image].config_drive
    assert b.flavors[b.labels['large'].flavor].flavor_name == '8'
    assert b.labels['large'].volume_size == 30
    assert 'by-memory' not in layout.layout.labels


@pytest.mark.smoke
def test_static(layout_of):
    layout = layout_of('static')
    rack, other = layout.providers['rack'], layout.providers['rack-2']
    nodes = {node.name: node for provider in (rack, other) for node in provider.nodes.values()}
    assert (nodes['host1'].label, nodes['host1'].aliases, nodes['host1'].username) == ('debian-12', ['gpu'], 'ci')
    assert nodes['host2'].connection_port == 2222 and rack.labels['debian-12'].slots == 2
    assert {node.name for node in other.nodes.values()} == {'host3'}
    assert other.labels['debian-12'].slots == 1 and not other.labels['debian-12'].host_key_checking
    assert (nodes['host3'].host_key, nodes['host3'].username) == ('ssh-ed25519 AAAA', 'zuul')
    assert nodes['host4'].host_key == 'ssh-ed25519 AAAA'


@pytest.mark.smoke
def test_metastatic(layout_of):
    layout = layout_of('metastatic')
    label = layout.providers['cloud'].labels['small']
    assert (label.slots, label.reuse, label.max_ready_age, label.max_age) == (4, True, 600, 86400)
    assert (label.key_name, label.flavor) == ('ci', 'large')
    assert set(layout.layout.labels) == {'small', 'backing'}


@pytest.mark.parametrize('name', accepted_configurations())
def test_configurations_of_the_python_nodepool(name, tmp_path):
    """Also those of which nothing can be converted are handled, with reasons."""
    status, out, err = convert(filled_in(name), tmp_path)
    if status == 0:
        assert Layout(out).providers
    else:
        reasons = ['no label can be converted', 'unknown driver `test`']
        assert any(reason in err for reason in reasons), err


@pytest.mark.smoke
def test_zuul_would_notice(layout_of, tmp_path):
    """The parsers are strict: an unknown key, a wrong type and a missing image are refused."""
    _, text, _ = convert((EXAMPLES / 'openstack.yaml').read_text(), tmp_path)
    for before, after, error in [('key-name: ci', 'keyname: ci', voluptuous.Invalid),
                                 ('port-cleanup-interval: 0', 'port-cleanup-interval: "0"', voluptuous.Invalid),
                                 ('cloud=b', 'clouds=b', Exception),
                                 ('image: small\n', 'image: other\n', Exception)]:
        assert before in text
        with pytest.raises(error):
            Layout(text.replace(before, after))
    assert yaml.safe_load(text)
