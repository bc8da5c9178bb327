"""Measures launchers side by side on clouds: see bench/clouds, which builds and starts this.

Like side_by_side.py, in turns and with the same client. A turn begins with one request that is not measured, to fill the
caches of clouds and launchers. Machines and namespaces are ready at once, and pods as soon as the simulated kubelet has
seen them, so that only launcher and cloud are measured. The floor of AWS is the rate at which moto creates and terminates
machines without other calls.
"""
import concurrent.futures
import http.client
import json
import os
import pathlib
import re
import tempfile
import time
import urllib.parse

import botocore.auth
import botocore.awsrequest
import botocore.credentials

import gce_cloud
import turns
from api import as_admin
from aws_cloud import KEYS, REGION, AwsCloud
from azure_cloud import AzureCloud
from catalog import PROJECT
from control_plane import ControlPlane
from ibm_cloud import ZONE, IbmCloud
from installation import Servers, wait_until
from pods import Kubelet
from side_by_side import Installation, cpu_seconds, memory, run_clients, warm

CALLERS = 20  # concurrent callers for the floor
REST = 3  # seconds; longer than the launchers' polls of the cloud


class Aws:
    """moto, for one label of plain machines."""

    def __init__(self, directory):
        self.cloud = AwsCloud(directory / 'log', os.environ['MOTO_PYTHON'])
        self.image = self.cloud.ec2.describe_images(Filters=[
            {'Name': 'owner-alias', 'Values': ['amazon']}])['Images'][0]['ImageId']

    def environment(self):
        return self.cloud.environment()

    def provider(self, _):
        label = {'name': 'bench', 'cloud-image': 'debian', 'instance-type': 't3.medium', 'key-name': 'ci'}
        return {'name': 'sky', 'driver': 'aws', 'region-name': REGION, 'rate': 1000,
                'cloud-images': [{'name': 'debian', 'username': 'ci', 'image-id': self.image}],
                'pools': [{'name': 'main', 'host-key-checking': False, 'labels': [label]}]}

    def calls(self):
        """The number of the launcher's calls so far."""
        return sum(self.cloud.calls().values())

    def cpu_seconds(self):
        return cpu_seconds(self.cloud.process.pid)

    def leftovers(self):
        return self.cloud.instances()

    def reset(self):
        """Discards terminated machines, which moto keeps and lists."""
        self.cloud.reset()
        self.cloud.ec2.describe_images(ImageIds=[self.image])  # moto reloads the images

    def bare_call(self, parameters):
        """A launcher's call, ready to be sent: method, headers, body."""
        body = urllib.parse.urlencode({**parameters, 'Version': '2016-11-15'})
        request = botocore.awsrequest.AWSRequest('POST', f'{self.cloud.url}/', data=body, headers={
            'Content-Type': 'application/x-www-form-urlencoded; charset=utf-8'})
        credentials = botocore.credentials.Credentials(KEYS['AWS_ACCESS_KEY_ID'], KEYS['AWS_SECRET_ACCESS_KEY'])
        botocore.auth.SigV4Auth(credentials, 'ec2', REGION).add_auth(request)
        return dict(request.headers), body

    def send(self, calls):
        """Sends calls on one connection and returns the responses."""
        connection = http.client.HTTPConnection('127.0.0.1', self.cloud.port, timeout=60)
        answers = []
        for headers, body in calls:
            connection.request('POST', '/', body, headers)
            answer = connection.getresponse()
            answers.append(answer.read().decode())
            if answer.status != 200:
                raise RuntimeError(answers[-1])
        connection.close()
        return answers

    def send_all(self, calls):
        """Sends calls concurrently. Returns the seconds taken and the responses."""
        started = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(CALLERS) as pool:
            answers = [answer for part in pool.map(self.send, [calls[i::CALLERS] for i in range(CALLERS)])
                       for answer in part]
        return time.monotonic() - started, answers

    def floor(self, machines):
        """Machines per second that moto creates, terminates, and creates and terminates, without other calls."""
        self.reset()
        make = {'Action': 'RunInstances', 'ImageId': self.image, 'MinCount': 1, 'MaxCount': 1,
                'InstanceType': 't3.medium', 'KeyName': 'ci', 'NetworkInterface.1.DeviceIndex': 0,
                'NetworkInterface.1.AssociatePublicIpAddress': 'true'}
        making, answers = self.send_all([self.bare_call(make) for _ in range(machines)])
        ids = [re.search('<instanceId>(.*?)</instanceId>', answer)[1] for answer in answers]
        ending, _ = self.send_all([self.bare_call({'Action': 'TerminateInstances', 'InstanceId.1': id}) for id in ids])
        listing, _ = self.send_all([self.bare_call({'Action': 'DescribeInstances'})] * CALLERS)
        return {'made/s': machines / making, 'ended/s': machines / ending,
                'made and ended/s': machines / (making + ending),
                f'lists of {machines}/s': CALLERS / listing}

    def close(self):
        self.cloud.stop()


class Azure:
    """A simulated Azure, for one label of plain machines, which take 0.1 s. `rate`: of the launcher's calls."""

    def __init__(self, directory, rate):
        self.rate = rate
        self.cloud = AzureCloud(directory, os.environ['AZURE_JUDGE'])
        self.auth_path = self.cloud.credentials(directory / 'both.json')

    def environment(self):
        return {**self.cloud.environment(), **self.cloud.redirection()}

    def provider(self, _):
        label = {'name': 'bench', 'cloud-image': 'debian', 'hardware-profile': {'vm-size': 'Standard_B1s'}}
        return {'name': 'sky', 'driver': 'azure', 'location': 'westeurope', 'resource-group-location': 'westeurope',
                'resource-group': 'nodepool', 'auth-path': self.auth_path, 'network': 'network', 'rate': self.rate,
                'cloud-images': [{'name': 'debian', 'username': 'ci', 'key': 'ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAAQCx ci',
                                  'image-reference': {'publisher': 'Debian', 'offer': 'debian-12', 'sku': '12-gen2',
                                                      'version': 'latest'}}],
                'pools': [{'name': 'main', 'max-servers': 100, 'host-key-checking': False, 'labels': [label]}]}

    def calls(self):
        """The number of the launcher's calls so far, without those for tokens."""
        return sum(count for call, count in self.cloud.calls().items() if call != 'POST token')

    def cpu_seconds(self):
        return cpu_seconds(self.cloud.process.pid)

    def leftovers(self):
        return [each for type in ('virtualMachines', 'networkInterfaces', 'publicIPAddresses', 'disks')
                for each in self.cloud.resources(type)]

    def reset(self):
        self.cloud.reset()
        self.cloud.set(times={'vm': 0.1})

    def close(self):
        assert self.cloud.problems() == []
        self.cloud.stop()


class Gce:
    """A simulated Compute Engine, for one label of machines, which run after 0.15 s."""

    def __init__(self, directory):
        self.cloud = gce_cloud.GceCloud(directory)

    def environment(self):
        return {**self.cloud.environment(), **self.cloud.redirection()}

    def provider(self, _):
        return {'name': 'iowa', 'driver': 'gce', 'project': PROJECT, 'region': gce_cloud.REGION, 'zone': gce_cloud.ZONE,
                'rate': 1000, 'cloud-images': [{'name': 'debian', 'username': 'ci', 'key': 'ssh-rsa AAAA ci',
                                                'image-project': 'debian-cloud', 'image-family': 'debian-12'}],
                'pools': [{'name': 'main', 'max-servers': 1000, 'host-key-checking': False, 'labels': [
                    {'name': 'bench', 'cloud-image': 'debian', 'instance-type': 'n1-standard-1'}]}]}

    def calls(self):
        """The number of the launcher's calls so far."""
        return sum(self.cloud.calls().values())

    def cpu_seconds(self):
        return cpu_seconds(self.cloud.process.pid)

    def leftovers(self):
        return self.cloud.things('instances')

    def reset(self):
        self.cloud.reset()
        self.cloud.limit(CPUS=1000, INSTANCES=1000, IN_USE_ADDRESSES=1000)
        self.cloud.limit('global', CPUS_ALL_REGIONS=1000)

    def close(self):
        assert self.cloud.problems() == []
        self.cloud.stop()


class Kubernetes:
    """A Kubernetes API, for one label: a namespace, or a pod in one."""

    def __init__(self, directory, of_type):
        self.of_type = of_type
        self.plane = ControlPlane(directory)
        self.plane.start()
        self.admin = as_admin(self.plane)
        self.admin.apply('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
            'metadata': {'name': 'launchers'},
            'subjects': [{'kind': 'User', 'name': 'launcher', 'apiGroup': 'rbac.authorization.k8s.io'}],
            'roleRef': {'kind': 'ClusterRole', 'name': 'cluster-admin', 'apiGroup': 'rbac.authorization.k8s.io'}})
        self.kubeconfig = directory / 'kubeconfig-launcher'
        self.kubeconfig.write_text(json.dumps(self.plane.config_of('launcher', {'token': 'launcher-token'})))
        self.kubelet = Kubelet(self.admin)
        self.kubelet.start()

    def environment(self):
        return {'KUBECONFIG': str(self.kubeconfig)}

    def provider(self, _):
        label = {'name': 'bench', 'type': self.of_type}
        if self.of_type == 'pod':
            label |= {'image': 'debian:12', 'cpu': 1, 'memory': 512}
        return {'name': 'cluster', 'driver': 'kubernetes', 'context': 'local',
                'pools': [{'name': 'main', 'labels': [label]}]}

    def calls(self):
        """The number of the launcher's calls. Other clients have API flows of their own."""
        found = re.findall(r'apiserver_flowcontrol_dispatched_requests_total\{flow_schema="global-default".*\} (\S+)',
                           self.admin.text('/metrics'))
        return int(sum(float(each) for each in found))

    def cpu_seconds(self):
        return sum(cpu_seconds(pid) for pid in self.plane.pids.values())

    def leftovers(self):
        return [each for each in self.admin.items('/api/v1/namespaces') if each['metadata']['name'].startswith('main-')]

    def reset(self):
        """Does nothing: deleted objects are not listed."""

    def close(self):
        self.kubelet.stop()
        self.plane.stop()


class IbmVpc:
    """A simulated IBM Cloud VPC, for one label of machines, which run after 0.1 s."""

    def __init__(self, directory):
        self.cloud = IbmCloud(directory, os.environ['IBMVPC_PYTHON'])

    def environment(self):
        return {**self.cloud.environment(), **self.cloud.redirection()}

    def provider(self, _):
        return {'name': 'dallas', 'driver': 'ibmvpc', 'vpc': 'ci', 'region': 'us-south', 'zone': ZONE, 'subnet': 'ci-1',
                'rate': 1000, 'cloud-images': [{'name': 'debian', 'username': 'ci', 'keys': ['zuul'],
                                                'image-name': 'ibm-debian-12-11-minimal-amd64-1'}],
                'pools': [{'name': 'main', 'max-servers': 1000, 'host-key-checking': False, 'labels': [
                    {'name': 'bench', 'cloud-image': 'debian', 'profile': 'cx2-2x4'}]}]}

    def calls(self):
        """The number of the launcher's calls so far."""
        return sum(self.cloud.calls().values())

    def cpu_seconds(self):
        return cpu_seconds(self.cloud.process.pid)

    def leftovers(self):
        return self.cloud.things('instances')

    def reset(self):
        self.cloud.reset()
        self.cloud.set(old_fields=True)  # the Python Nodepool needs them

    def close(self):
        self.cloud.stop()


def measure(kind, servers, cloud, requests, clients):
    with tempfile.TemporaryDirectory() as directory:
        cloud.reset()
        site = Installation(kind, servers, directory, cloud.provider, environment=cloud.environment())
        site.launcher.start()
        site.await_registration()
        run_clients(servers, 1, 1)
        site.await_no_nodes()
        time.sleep(REST)
        calls, cpu, cloud_cpu, started = cloud.calls(), cpu_seconds(site.pid), cloud.cpu_seconds(), time.monotonic()
        figures = run_clients(servers, requests, clients)
        site.await_no_nodes()
        wait_until('all is gone from the cloud', lambda: not cloud.leftovers(), 300)
        result = {
            'requests/s': figures['requests'] / figures['seconds'],
            'p50 ms': figures['p50_ms'],
            'p95 ms': figures['p95_ms'],
            'all gone after s': time.monotonic() - started,
            'calls of the cloud per node': (cloud.calls() - calls) / requests,
            'CPU s per 1,000': (cpu_seconds(site.pid) - cpu) * 1000 / requests,
            'CPU s of the cloud per 1,000': (cloud.cpu_seconds() - cloud_cpu) * 1000 / requests,
            'peak memory MB': memory(site.pid, 'VmHWM'),
        }
        site.close()
        return result


SCENARIOS = {'aws-burst': (Aws, 100, 100), 'aws-few': (Aws, 100, 20), 'aws-single': (Aws, 10, 1),
             'azure-few': (lambda directory: Azure(directory, 1000), 100, 20),
             'azure-paced': (lambda directory: Azure(directory, 1), 20, 20),
             'gce-few': (Gce, 100, 20), 'gce-single': (Gce, 10, 1),
             'namespace-burst': (lambda directory: Kubernetes(directory, 'namespace'), 100, 20),
             'namespace-single': (lambda directory: Kubernetes(directory, 'namespace'), 10, 1),
             'pod-burst': (lambda directory: Kubernetes(directory, 'pod'), 100, 20),
             'ibmvpc-few': (IbmVpc, 60, 20), 'ibmvpc-single': (IbmVpc, 10, 1)}


def main():
    run = turns.Run(turns.arguments('Compare the Python launcher with this one on clouds.'), SCENARIOS)
    servers = Servers()
    warm(servers)
    for name in run.scenarios:
        make_cloud, requests, clients = SCENARIOS[name]
        with tempfile.TemporaryDirectory() as directory:
            cloud = make_cloud(pathlib.Path(directory))
            try:
                run.measure(name, lambda kind: measure(kind, servers, cloud, requests, clients))
                if name == 'aws-burst':
                    floors = turns.summary({'floor': [cloud.floor(requests) for _ in range(run.options.rounds)]})
                    run.result['floor of AWS'] = floors['floor']
                    turns.show('moto alone', floors)
            finally:
                cloud.close()
    run.end()
    servers.close()


if __name__ == '__main__':
    main()
