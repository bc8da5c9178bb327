"""The simulated AWS that the programs are run against."""
import json
import pathlib
import socket
import subprocess
import sys
import urllib.request

import boto3
import botocore.config

from launcher import PATIENCE, wait_until

REGION = 'us-east-1'
KEYS = {'AWS_ACCESS_KEY_ID': 'AKIDSUITE', 'AWS_SECRET_ACCESS_KEY': 'of-the-suite'}
SERVER = pathlib.Path(__file__).parent / 'server.py'
AS_SUITE = botocore.config.Config(user_agent='suite')  # whose calls are not counted


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


class AwsCloud:
    """`python` has moto."""

    def __init__(self, log, python=sys.executable):
        self.port = free_port()
        self.url = f'http://127.0.0.1:{self.port}'
        with log.open('w') as output:
            self.process = subprocess.Popen([python, SERVER, str(self.port)], stdout=output, stderr=output)
        wait_until('moto answers', self.answers, PATIENCE)
        self.ec2, self.s3 = (
            boto3.client(service, region_name=REGION, endpoint_url=self.url, config=AS_SUITE,
                         aws_access_key_id=KEYS['AWS_ACCESS_KEY_ID'],
                         aws_secret_access_key=KEYS['AWS_SECRET_ACCESS_KEY'])
            for service in ('ec2', 's3'))

    def place(self):
        """The environment of a program that is to find it, and has no keys."""
        return {'AWS_ENDPOINT_URL': self.url, 'AWS_CONFIG_FILE': '/nonexistent',
                'AWS_SHARED_CREDENTIALS_FILE': '/nonexistent', 'AWS_EC2_METADATA_DISABLED': 'true'}

    def environment(self):
        return {**KEYS, **self.place()}

    def answers(self):
        assert self.process.poll() is None, 'moto has ended'
        with socket.socket() as probe:
            return probe.connect_ex(('127.0.0.1', self.port)) == 0

    def suite(self, what, content=None):
        data = None if content is None else json.dumps(content).encode()
        with urllib.request.urlopen(f'{self.url}/suite/{what}', data, timeout=PATIENCE) as answer:
            return json.load(answer)

    def problems(self):
        """What AWS would have refused, or taken for something else, of all calls since the last reset()."""
        return sorted(set(self.suite('problems')['problems']))

    def calls(self):
        """How often each action was called by the programs."""
        return self.suite('calls')['calls']

    def fail(self, **actions):
        """The next calls of each action fail so: fail(RunInstances=[{'status': 400, 'code': '…'}])."""
        self.suite('failures', actions)

    def hold(self, **actions):
        """So many calls of each action pass yet: hold(UploadPart=1). Without any, all pass."""
        self.suite('hold', actions)

    def hold_imports(self, held):
        self.suite('imports', {'held': held})

    def hold_boots(self, held):
        """Whether instances that are made from now on stay `pending`."""
        self.suite('boots', {'held': held})

    def set_quotas(self, **services):
        self.suite('quotas', services)

    def instances(self, *states):
        """Those that are not terminated, or in one of these states."""
        pages = self.ec2.get_paginator('describe_instances').paginate()
        found = [instance for page in pages for reservation in page['Reservations']
                 for instance in reservation['Instances']]
        return [instance for instance in found
                if (instance['State']['Name'] in states if states else instance['State']['Name'] != 'terminated')]

    def volumes(self):
        return self.ec2.describe_volumes()['Volumes']

    def reset(self):
        """As it was when it was started."""
        self.suite('reset', {})
        urllib.request.urlopen(urllib.request.Request(f'{self.url}/moto-api/reset', method='POST'), timeout=PATIENCE)

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE)


def tags(thing):
    return {tag['Key']: tag['Value'] for tag in thing.get('Tags', [])}
