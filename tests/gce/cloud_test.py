"""The simulated Compute Engine itself. The fixtures check that all its answers are as Google describes them."""
import base64
import concurrent.futures
import json
import time
import urllib.parse
import uuid

import google.auth.transport.requests
import google.oauth2.credentials
import google.oauth2.service_account
import pytest
import requests
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from catalog import PROJECT
from gce_cloud import ZONE
from launcher import PATIENCE, wait_until

SCOPE = 'https://www.googleapis.com/auth/compute'
INSTANCES = f'zones/{ZONE}/instances'
IMAGE = 'projects/debian-cloud/global/images/family/debian-12'


class Api:
    """The API as Google's own library for requests calls it."""

    def __init__(self, cloud, credentials):
        self.base = f'{cloud.url}/compute/v1/projects/{PROJECT}'
        self.session = google.auth.transport.requests.AuthorizedSession(credentials)
        self.session.trust_env = False

    def call(self, verb, path, body=None, **query):
        url = f'{self.base}/{path}' if path else self.base
        return self.session.request(verb, url, params=query, json=body, timeout=PATIENCE, max_allowed_time=PATIENCE)

    def get(self, path, **query):
        answer = self.call('GET', path, **query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def done(self, operation):
        return self.call('POST', f'zones/{ZONE}/operations/{operation["name"]}/wait').json()

    def state(self, operation):
        return self.get(f'zones/{ZONE}/operations/{operation["name"]}')['status']

    def insert(self, name, **more):
        """The operation."""
        query = {'requestId': more.pop('requestId')} if 'requestId' in more else {}
        answer = self.call('POST', INSTANCES, instance(name, **more), **query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def delete(self, name):
        return self.call('DELETE', f'{INSTANCES}/{name}').json()

    def names(self, **query):
        return [item['name'] for item in self.get(INSTANCES, **query).get('items', [])]


def instance(name='np1', **more):
    return {'name': name, 'machineType': f'zones/{ZONE}/machineTypes/n1-standard-4', 'disks': [{
        'boot': True, 'autoDelete': True, 'initializeParams': {'sourceImage': IMAGE}}],
            'networkInterfaces': [{'network': 'global/networks/default', 'accessConfigs': [{}]}], **more}


def api_of(cloud, scope=SCOPE):
    return Api(cloud, google.oauth2.service_account.Credentials.from_service_account_file(
        cloud.directory / 'key.json', scopes=[scope]))


@pytest.fixture
def api(cloud):
    return api_of(cloud)


def reason(answer):
    """The status, and Google's reason for it."""
    return answer.status_code, answer.json()['error']['errors'][0]['reason']


def code(operation):
    assert operation['status'] == 'DONE'
    return operation['error']['errors'][0]['code']


@pytest.mark.smoke
def test_an_instance_from_its_insert_to_its_end(cloud, api):
    cloud.stop_time()
    operation = api.insert('np1', labels={'of': 'suite'}, tags={'items': ['ci']})
    assert (operation['status'], operation['operationType']) == ('PENDING', 'insert')
    assert api.names() == []
    states = []
    for _ in range(3):
        cloud.step()
        states.append((api.state(operation), api.get(f'{INSTANCES}/np1')['status']))
    assert states == [('RUNNING', 'PROVISIONING'), ('RUNNING', 'STAGING'), ('DONE', 'RUNNING')]
    cloud.start_time()
    assert api.done(operation)['status'] == 'DONE'
    found = api.get(f'{INSTANCES}/np1')
    assert found == api.get(f'{INSTANCES}/{found["id"]}') and found['id'] == operation['targetId']
    assert found['networkInterfaces'][0]['accessConfigs'][0]['natIP']
    assert api.get(f'{INSTANCES}/np1/serialPort', start=8) == {
        'kind': 'compute#serialPortOutput', 'contents': 'np1\n', 'start': '8', 'next': '12',
        'selfLink': found['selfLink'] + '/serialPort'}
    assert api.get(f'zones/{ZONE}/disks/np1')['users'] == [found['selfLink']]
    deletion = api.delete('np1')
    assert api.done(deletion)['targetId'] == found['id']
    assert api.names() == [] and cloud.things('disks') == {}
    assert [one['operationType'] for one in api.get(f'zones/{ZONE}/operations')['items']] == ['insert', 'delete']


@pytest.mark.parametrize('path', [
    '', 'zones', f'zones/{ZONE}', 'regions', 'regions/us-central1', f'zones/{ZONE}/machineTypes',
    f'zones/{ZONE}/diskTypes/pd-ssd', f'zones/{ZONE}/machineTypes/e2-medium', 'global/images', 'global/images/ci-1',
    'global/networks', 'global/networks/default', 'regions/us-central1/subnetworks/ci',
    f'zones/{ZONE}/disks', f'zones/{ZONE}/operations'])
def test_what_can_be_read(cloud, api, path):
    assert api.get(path)['kind'].startswith('compute#')


def test_images_of_another_project_can_be_read(api):
    api.base = api.base.replace(PROJECT, 'debian-cloud')
    assert api.get('global/images')['items']
    assert reason(api.call('GET', 'zones')) == (404, 'notFound')


def test_a_family_has_its_newest_image_that_is_not_deprecated(api):
    assert api.get('global/images/family/ci')['name'] == 'ci-2'
    assert reason(api.call('GET', 'global/images/family/none')) == (404, 'notFound')


@pytest.mark.smoke
def test_quotas_and_exhausted_zones_are_seen_by_the_operation_alone(cloud, api):
    cloud.limit(CPUS=6)
    assert 'error' not in api.done(api.insert('np1'))
    cpus, = (quota for quota in api.get('regions/us-central1')['quotas'] if quota['metric'] == 'CPUS')
    assert cpus == {'metric': 'CPUS', 'limit': 6, 'usage': 4}
    refused = api.done(api.insert('np2'))
    assert code(refused) == 'QUOTA_EXCEEDED' and refused['httpErrorStatusCode'] == 403
    assert refused['error']['errors'][0]['message'] == "Quota 'CPUS' exceeded.  Limit: 6.0 in region us-central1."
    cloud.limit(CPUS=24)
    cloud.limit('global', CPUS_ALL_REGIONS=4)
    assert 'globally' in api.done(api.insert('np2'))['error']['errors'][0]['message']
    cloud.limit('global', CPUS_ALL_REGIONS=64)
    cloud.stop_time()
    cloud.exhaust()
    operation = api.insert('np2')
    cloud.step()
    assert api.names() == ['np1', 'np2']  # for a moment
    cloud.step()
    cloud.start_time()
    assert code(api.done(operation)) == 'ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS'
    assert api.names() == ['np1']
    cloud.exhaust(code=None)
    assert 'error' not in api.done(api.insert('np2'))


def test_the_same_request_is_carried_out_once(cloud, api):
    request_id = str(uuid.uuid4())
    operation = api.done(api.insert('np1', requestId=request_id))
    assert api.insert('np1', requestId=request_id)['name'] == operation['name']
    assert reason(api.call('POST', INSTANCES, instance('np1'))) == (409, 'alreadyExists')
    assert reason(api.call('POST', INSTANCES, instance('np2'), requestId=request_id)) == (400, 'invalid')
    assert list(cloud.things('instances')) == ['np1']
    cloud.stop_time()
    deletions = [api.delete('np1') for _ in range(2)]
    for _ in range(4):
        cloud.step()
    assert 'error' not in api.done(deletions[0]) and code(api.done(deletions[1])) == 'RESOURCE_NOT_FOUND'
    assert reason(api.call('DELETE', f'{INSTANCES}/np1')) == (404, 'notFound')


@pytest.mark.parametrize('change', [
    {'machineType': f'zones/{ZONE}/machineTypes/none'}, {'machineType': 'zones/us-central1-b/machineTypes/e2-medium'},
    {'machineType': 'e2-medium'}, {'networkInterfaces': [{'network': 'global/networks/none'}]},
    {'networkInterfaces': [{'subnetwork': 'regions/europe-west1/subnetworks/ci'}]},
    {'networkInterfaces': [{'network': 'global/networks/default', 'subnetwork': 'regions/us-central1/subnetworks/ci'}]},
    {'disks': [{'boot': True, 'initializeParams': {'sourceImage': 'global/images/none'}}]},
    {'disks': [{'boot': True, 'initializeParams': {'sourceImage': 'global/images/ci-1', 'diskSizeGb': '10'}}]}])
def test_what_an_instance_needs_has_to_be_there(api, change):
    assert reason(api.call('POST', INSTANCES, instance(**change))) == (400, 'invalid')
    assert api.names() == []


def test_a_network_without_subnetworks_of_its_own_needs_one_named(api):
    refused = api.call('POST', INSTANCES, instance(networkInterfaces=[{'network': 'global/networks/ci'}]))
    assert reason(refused) == (400, 'badRequest')
    api.done(api.insert('np1', networkInterfaces=[{'subnetwork': 'regions/us-central1/subnetworks/ci'}]))
    interface, = api.get(f'{INSTANCES}/np1')['networkInterfaces']
    assert interface['network'].endswith('/networks/ci') and 'accessConfigs' not in interface


def test_pages_and_filters(cloud, any_calls, api):
    cloud.add(7, labels={'of': 'somebody'})
    cloud.add(1, 'mine', labels={'of': 'me'})
    cloud.set(page_size=3)
    names, token = [], {}
    for size in (3, 3, 2):
        page = api.get(INSTANCES, **token)
        assert len(page['items']) == size
        names += [item['name'] for item in page['items']]
        token = {'pageToken': page.get('nextPageToken')}
    assert names == ['mine-00000', *(f'other-{number:05}' for number in range(7))] and token == {'pageToken': None}
    cloud.set(page_size=500)
    assert len(api.names(maxResults=5)) == 5
    assert api.names(filter='labels.of=me') == api.names(filter='name:mine') == ['mine-00000']
    assert len(api.names(filter='(labels.of:*) AND (status != TERMINATED) (name != "other-00001")')) == 7
    token = api.get(INSTANCES, maxResults=1)['nextPageToken']
    assert any_calls.problems() == []
    assert reason(api.call('GET', INSTANCES, pageToken=token, filter='labels.of=me')) == (400, 'invalid')
    for query in ({'filter': 'of me'}, {'orderBy': 'name'}, {'maxResults': '501'}):
        assert reason(api.call('GET', INSTANCES, **query)) == (400, 'invalid')
    assert len(any_calls.problems()) == 4
    any_calls.reset()


def test_failures_on_demand(cloud, api):
    cloud.fail(instances__list=[None, {'status': 403, 'reason': 'rateLimitExceeded'},
                                {'status': 503, 'headers': {'Retry-After': '7'}}, {'status': 502, 'text': '<html>'}])
    assert api.names() == []
    limited = api.call('GET', INSTANCES)
    assert reason(limited) == (403, 'rateLimitExceeded')
    assert limited.json()['error']['errors'][0]['domain'] == 'usageLimits'
    assert api.call('GET', INSTANCES).headers['Retry-After'] == '7'
    assert api.call('GET', INSTANCES).text == '<html>'
    cloud.lose('instances__insert')
    with pytest.raises(requests.ConnectionError):
        api.insert('np1')
    cloud.fail(instances__insert=[{'drop': True}])
    with pytest.raises(requests.ConnectionError):
        api.insert('np2')
    wait_until('it is there nevertheless', lambda: api.names() == ['np1'])
    cloud.cut(instances__list=[0])
    assert [api.names(), api.names()] == [[], ['np1']]
    cloud.set(latency=0.3)
    begin = time.monotonic()
    assert api.names() == ['np1'] and time.monotonic() - begin > 0.3
    assert cloud.calls()['compute.instances.insert'] == 2


def test_calls_are_held_and_lost(cloud, api):
    cloud.hold(instances__insert=1)
    api.insert('np1')
    with concurrent.futures.ThreadPoolExecutor() as pool:
        second = pool.submit(api_of(cloud).insert, 'np2')
        assert api.done(api.get(f'zones/{ZONE}/operations')['items'][0])  # others go on
        wait_until('the second one waits', lambda: cloud.held('instances__insert') == 1)
        cloud.hold()
        assert isinstance(second.exception(PATIENCE), requests.ConnectionError)
    assert list(cloud.things('instances')) == ['np1']


@pytest.mark.parametrize('action', [None, 'DELETE'])
def test_a_preemption(cloud, api, action):
    more = {'instanceTerminationAction': action} if action else {}
    cloud.set(stopping=3600)
    api.done(api.insert('np1', scheduling={'provisioningModel': 'SPOT', **more}))
    cloud.preempt('np1')
    assert api.get(f'{INSTANCES}/np1')['status'] == 'STOPPING'
    operation, = api.get(f'zones/{ZONE}/operations', filter='operationType="compute.instances.preempted"')['items']
    assert (operation['statusMessage'], operation['user']) == ('Instance was preempted.', 'system')
    cloud.step()
    states = [item['status'] for item in api.get(INSTANCES).get('items', [])]
    assert states == ([] if action else ['TERMINATED'])


def test_tokens_expire_and_permissions_are_needed(cloud, api):
    api.names()
    cloud.revoke_tokens()
    answer = api.session.request('GET', f'{api.base}/{INSTANCES}')  # the client takes a new token and calls again
    assert answer.status_code == 200
    assert [one['status'] for one in cloud.exchanges('compute.instances.list')] == [200, 401, 200]
    cloud.set(denied=['compute.subnetworks.useExternalIp'])
    assert reason(api.call('POST', INSTANCES, instance())) == (403, 'forbidden')
    reader = api_of(cloud, f'{SCOPE}.readonly')
    assert reason(reader.call('POST', INSTANCES, instance())) == (403, 'insufficientPermissions')
    api.insert('np1', networkInterfaces=[{}])
    assert 'compute.disks.create' in cloud.permissions()


BAD_CALLS = {
    'unknown field': {'autodelete': True}, 'only answers have it': {'status': 'RUNNING'},
    'not an enumerated value': {'networkInterfaces': [{'accessConfigs': [{'type': 'NAT'}]}]},
    'no name': {'name': None}, 'a bad name': {'name': 'NP_1'}, 'a bad label': {'labels': {'Of': 'Me'}},
    'a bad size': {'disks': [{'boot': True, 'initializeParams': {'diskSizeGb': '10G'}}]},
    'no boot disk': {'disks': [{'autoDelete': True}]}, 'a bad tag': {'tags': {'items': 'ci'}},
    'metadata twice': {'metadata': {'items': [{'key': 'a', 'value': ''}] * 2}},
    'metadata without a value': {'metadata': {'items': [{'key': 'a'}]}},
    'migrates though preemptible': {'scheduling': {'preemptible': True, 'onHostMaintenance': 'MIGRATE'}}}


@pytest.mark.parametrize('what', [*BAD_CALLS, 'parameter', 'request id', 'path', 'no token', 'a body'])
def test_calls_that_google_refuses_are_refused_and_noted(any_calls, what):
    api = api_of(any_calls)
    body = {name: value for name, value in instance(**BAD_CALLS.get(what, {})).items() if value is not None}
    query = {'parameter': {'dryRun': 'true'}, 'request id': {'requestId': str(uuid.UUID(int=0))}}.get(what, {})
    if what == 'path':
        answer = api.call('GET', f'zone/{ZONE}/instances')
    elif what == 'no token':
        answer = requests.get(f'{api.base}/{INSTANCES}', timeout=PATIENCE)
    elif what == 'a body':
        answer = api.call('GET', INSTANCES, {'name': 'np1'})
    else:
        answer = api.call('POST', INSTANCES, body, **query)
    assert answer.status_code == {'path': 404, 'no token': 401}.get(what, 400)
    problem, = any_calls.problems()
    assert problem
    assert any_calls.things('instances') == {}


def assertion(key, head=None, **claims):
    now = int(time.time())
    parts = [{'alg': 'RS256', 'typ': 'JWT', **(head or {})},
             {'iss': key['client_email'], 'aud': 'https://oauth2.googleapis.com/token', 'scope': SCOPE, 'iat': now,
              'exp': now + 3600, **claims}]
    text = '.'.join(encode(json.dumps(part).encode()) for part in parts)
    private = serialization.load_pem_private_key(key['private_key'].encode(), None)
    return f'{text}.{encode(private.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256()))}'


def encode(content):
    return base64.urlsafe_b64encode(content).decode().rstrip('=')


@pytest.mark.parametrize('what, claims', [
    ('good', {}), ('audience', {'aud': 'https://elsewhere'}), ('issuer', {'iss': 'other@example'}),
    ('old', {'iat': 1, 'exp': 3600}), ('long', {'exp': int(time.time()) + 7200}), ('scope', {'scope': ''}),
    ('algorithm', {'head': {'alg': 'none'}}), ('key id', {'head': {'kid': 'other'}}), ('key', {})])
def test_assertions_are_verified(any_calls, what, claims):
    key = json.loads((any_calls.directory / 'key.json').read_text())
    if what == 'key':
        key['private_key'] = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()
    answer = requests.post(key['token_uri'], timeout=PATIENCE, data={
        'grant_type': 'urn:ietf:params:oauth:grant-type:jwt-bearer', 'assertion': assertion(key, **claims)})
    assert (answer.status_code == 200) == (any_calls.problems() == []) == (what == 'good')
    assert what == 'good' or answer.json()['error'] in ('invalid_grant', 'invalid_scope')


def test_a_deletion_during_the_creation_comes_after_it(cloud, api):
    cloud.stop_time()
    creation, deletion = api.insert('np1'), api.delete('np1')
    cloud.step()
    cloud.step()
    assert [api.state(creation), api.state(deletion)] == ['RUNNING', 'PENDING']
    while api.state(deletion) != 'DONE':
        cloud.step()
    assert api.state(creation) == 'DONE' and api.names() == []


def test_a_person_and_a_machine_get_tokens_too(any_calls):
    content = json.loads((any_calls.directory / 'user.json').read_text())
    del content['type']
    user = google.oauth2.credentials.Credentials(None, **content)
    assert Api(any_calls, user).names() == []
    url = f'{any_calls.url}/computeMetadata/v1/instance/service-accounts/default/token'
    answer = requests.get(url, headers={'Metadata-Flavor': 'Google'}, timeout=PATIENCE)
    machine = google.oauth2.credentials.Credentials(answer.json()['access_token'])
    assert Api(any_calls, machine).names() == [] and any_calls.problems() == []
    assert requests.get(url, timeout=PATIENCE).status_code == 403
    assert urllib.parse.urlsplit(url).path in any_calls.problems()[0]
