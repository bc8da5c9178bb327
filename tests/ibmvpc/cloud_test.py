"""The simulated region itself. The fixtures check that all its answers are as IBM's models say."""
import concurrent.futures
import time
import urllib.parse

import ibm_vpc
import pytest
import requests
from ibm_cloud_sdk_core import ApiException
from ibm_cloud_sdk_core.authenticators import IAMAuthenticator

from ibm_catalog import BUCKET, REGION
from ibm_cloud import ZONE
from launcher import PATIENCE, wait_until
from iam_tokens import API_KEY, KEY_GRANT

ZONE_2 = f'{REGION}-2'


class Api(ibm_vpc.VpcV1):
    """IBM's own client."""

    def __init__(self, cloud, key=API_KEY):
        super().__init__(authenticator=IAMAuthenticator(key, url=cloud.url))
        self.set_service_url(f'{cloud.url}/v1')
        self.cloud = cloud

    def find(self, kind, name):
        found, = [one for one in getattr(self, f'list_{kind}')().get_result()[kind] if one['name'] == name]
        return found

    def prototype(self, name='np1', image='ci-base', subnet='ci-1', **more):
        return {'name': name, 'image': {'id': self.find('images', image)['id']}, 'zone': {'name': ZONE},
                'profile': {'name': 'cx2-2x4'},
                'primary_network_interface': {'subnet': {'id': self.find('subnets', subnet)['id']}}, **more}

    def create(self, name='np1', **more):
        return self.create_instance(self.prototype(name, **more)).get_result()

    def running(self, name='np1', **more):
        created = self.create(name, **more)
        wait_until('it is running', lambda: self.status(created) == 'running')
        return self.get_instance(created['id']).get_result()

    def status(self, instance):
        """None: it is gone."""
        try:
            return self.get_instance(instance['id']).get_result()['status']
        except ApiException as exception:
            assert exception.status_code == 404
            return None

    def reserve(self, name='np1', zone=ZONE):
        floating_ip = self.create_floating_ip({'name': name, 'zone': {'name': zone}}).get_result()
        wait_until('it is available', lambda: self.floating_ip(floating_ip)['status'] == 'available')
        return floating_ip

    def floating_ip(self, floating_ip):
        return self.get_floating_ip(floating_ip['id']).get_result()

    def attach(self, floating_ip, instance):
        interface = instance['primary_network_interface']['id']
        return self.add_instance_network_interface_floating_ip(instance['id'], interface, floating_ip['id'])

    def names(self, **query):
        return [one['name'] for one in self.list_instances(**query).get_result()['instances']]

    def call(self, verb, path, body=None, content_type='application/json', headers=None, **query):
        """Not by the client, which makes no wrong calls."""
        token = self.authenticator.token_manager.get_token()
        query = {'version': '2026-10-06', 'generation': '2', **query}
        query = {name: value for name, value in query.items() if value}
        return requests.request(
            verb, f'{self.cloud.url}/v1/{path}', params=query, json=body, timeout=PATIENCE, headers={
                'Authorization': f'Bearer {token}', **(headers or {}),
                **({'Content-Type': content_type} if body is not None else {})})


@pytest.fixture
def api(cloud):
    return Api(cloud)


def refused(call, *arguments, **more):
    """Status and code of the refusal."""
    with pytest.raises(ApiException) as refusal:
        call(*arguments, **more)
    return refusal.value.status_code, refusal.value.http_response.json()['errors'][0]['code']


@pytest.mark.smoke
def test_an_instance_from_its_creation_to_its_end(cloud, api):
    cloud.stop_time()
    created = api.create(keys=[{'id': api.find('keys', 'zuul')['id']}])
    states = []
    for _ in range(3):
        found = api.get_instance(created['id']).get_result()
        address = found['primary_network_interface']['primary_ip']['address']
        states.append((found['status'], found['lifecycle_state'], address.startswith('10.240.0.')))
        if found['status'] != 'running':
            assert refused(api.delete_instance, created['id']) == (409, 'instance_delete_conflict')
            cloud.step()
    assert states == [('pending', 'pending', False), ('starting', 'pending', True), ('running', 'stable', True)]
    assert found['boot_volume_attachment']['volume']['id'] == cloud.things('volumes').popitem()[1]['id']
    interface, = api.list_instance_network_interfaces(created['id']).get_result()['network_interfaces']
    attachment, = api.list_instance_volume_attachments(created['id']).get_result()['volume_attachments']
    assert (interface['type'], attachment['type']) == ('primary', 'boot')
    assert api.delete_instance(created['id']).status_code == 204
    assert api.status(created) == 'deleting'
    assert refused(api.delete_instance, created['id']) == (409, 'instance_delete_conflict')
    assert refused(api.create) == (400, 'validation_unique_failed')
    cloud.step()
    assert api.status(created) is None and refused(api.delete_instance, created['id']) == (404, 'not_found')
    assert cloud.things('volumes') == {}


@pytest.mark.parametrize('kind', [
    'regions', 'vpcs', 'subnets', 'instances', 'floating_ips', 'images', 'keys', 'volumes', 'security_groups',
    'instance_profiles', 'operating_systems'])
def test_what_can_be_read(cloud, api, kind):
    cloud.add(1)
    api.reserve()
    (found, *_), = (value for value in getattr(api, f'list_{kind}')().get_result().values() if isinstance(value, list))
    name = 'name' if kind in ('regions', 'instance_profiles', 'operating_systems') else 'id'
    assert getattr(api, f'get_{kind[:-1]}')(found[name]).get_result() == found


@pytest.mark.smoke
def test_a_floating_ip_from_its_reservation_to_its_end(cloud, api):
    instance = api.running()
    cloud.stop_time()
    floating_ip = api.create_floating_ip({'name': 'np1', 'zone': {'name': ZONE}}).get_result()
    assert floating_ip['status'] == 'pending'
    assert refused(api.attach, floating_ip, instance) == (409, 'invalid_state')
    cloud.step()
    assert api.attach(floating_ip, instance).status_code == 201
    assert 'target' not in api.floating_ip(floating_ip)
    cloud.step()
    interface = api.get_instance_network_interface(
        instance['id'], instance['primary_network_interface']['id']).get_result()
    assert api.floating_ip(floating_ip)['target']['id'] == interface['id']
    assert interface['floating_ips'][0]['address'] == floating_ip['address']
    api.delete_instance(instance['id'])
    cloud.step()
    assert 'target' not in api.floating_ip(floating_ip)
    assert api.delete_floating_ip(floating_ip['id']).status_code == 204
    assert api.floating_ip(floating_ip)['status'] == 'deleting'
    assert refused(api.delete_floating_ip, floating_ip['id']) == (409, 'invalid_state')
    cloud.step()
    assert refused(api.get_floating_ip, floating_ip['id']) == (404, 'not_found')


def test_an_association_is_replaced_and_ended(cloud, api):
    instance, first, second = api.running(), api.reserve('first'), api.reserve('second')
    for floating_ip in (first, second):
        api.attach(floating_ip, instance)
        wait_until('it has its target', lambda: 'target' in api.floating_ip(floating_ip))
    assert 'target' not in api.floating_ip(first)
    patched = api.update_floating_ip(second['id'], {'name': 'third', 'target': None}).get_result()
    assert patched['name'] == 'third' and 'target' not in patched
    target = {'id': instance['primary_network_interface']['id']}
    api.update_floating_ip(second['id'], {'target': target})
    wait_until('it has its target', lambda: 'target' in api.floating_ip(second))
    association = instance['id'], target['id'], second['id']
    api.remove_instance_network_interface_floating_ip(*association)
    assert 'target' not in api.floating_ip(second)
    assert refused(api.remove_instance_network_interface_floating_ip, *association) == (404, 'not_found')
    elsewhere = api.reserve('elsewhere', ZONE_2)
    assert refused(api.attach, elsewhere, instance) == (400, 'invalid_zone')
    cloud.set(floating_ip_status='failed')
    failed = api.create_floating_ip({'target': target}).get_result()
    wait_until('it fails', lambda: api.floating_ip(failed)['status'] == 'failed')


@pytest.mark.smoke
def test_quotas_and_exhausted_zones(cloud, api):
    cloud.limit(floating_ips=1, vcpu=4)
    api.reserve()
    with pytest.raises(ApiException) as refusal:
        api.reserve('np2')
    answer = refusal.value.http_response.json()
    assert refusal.value.status_code == 400 and isinstance(answer['trace'], str)
    assert answer['errors'] == [{
        'code': 'over_quota', 'more_info': 'https://cloud.ibm.com/docs/vpc?topic=vpc-quotas',
        'message': 'Creating a new floating IP address will put the user over quota. Allocated: 1, Requested: 1, '
                   'Quota: 1'}]
    api.reserve('np2', ZONE_2)
    api.running()
    cloud.exhaust()
    failing = api.create('np2')
    wait_until('it fails', lambda: api.status(failing) == 'failed')
    reason, = api.get_instance(failing['id']).get_result()['status_reasons']
    assert reason['code'] == 'cannot_start_capacity'
    assert refused(api.create, 'np3') == (400, 'over_quota')  # the failed one counts
    api.delete_instance(failing['id'])
    wait_until('it is gone', lambda: api.status(failing) is None)
    cloud.exhaust(code=None)
    assert api.running('np3')['name'] == 'np3'
    cloud.limit(vcpu=200, instances=2)
    assert refused(api.create, 'np4') == (400, 'over_quota')


@pytest.mark.parametrize('change, code', [
    ({'image': {'id': 'none'}}, (400, 'bad_field')), ({'profile': {'name': 'none'}}, (400, 'bad_field')),
    ({'keys': [{'id': 'none'}]}, (400, 'bad_field')), ({'zone': {'name': 'none'}}, (400, 'bad_field')),
    ({'resource_group': {'id': 'none'}}, (400, 'bad_field')), ({'zone': {'name': ZONE_2}}, (400, 'invalid_zone')),
    ({'primary_network_interface': {'subnet': {'id': 'none'}}}, (400, 'bad_field')),
    ({'name': 'other-00000'}, (400, 'validation_unique_failed')), ({'image': 'ci-old'}, (409, 'invalid_state')),
    ({'profile': {'name': 'bx2-8x32'}, 'zone': {'name': f'{REGION}-3'}, 'subnet': 'ci-3'}, (400, 'bad_field')),
    ({'boot_volume_attachment': {'volume': {'profile': {'name': '10iops-tier'}, 'capacity': 10}}}, (400, 'bad_field'))])
def test_what_an_instance_needs_has_to_be_there(cloud, api, change, code):
    cloud.add(1)
    prototype = api.prototype(**{name: value for name, value in change.items() if isinstance(value, str)})
    prototype.update({name: value for name, value in change.items() if not isinstance(value, str)})
    assert refused(api.create_instance, prototype) == code
    assert api.names() == ['other-00000'] and len(cloud.things('volumes')) == 1


def test_a_subnet_has_so_many_addresses(api):
    for number in range(3):
        api.create(f'np{number}', subnet='small')
    assert refused(api.create, 'np3', subnet='small') == (409, 'subnet_out_of_ip_addresses')


def test_pages_and_filters(cloud, any_calls):
    api = Api(cloud)
    cloud.add(5, group='np_ibm_main')
    cloud.add(2, 'mine')
    names, query = [], {'limit': 3}
    for size in (3, 3, 1):
        page = api.list_instances(**query).get_result()
        assert len(page['instances']) == size and page['total_count'] == 7 and page['limit'] == 3
        names += [one['name'] for one in page['instances']]
        following = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(page.get('next', {}).get('href', '')).query))
        assert following.keys() <= {'limit', 'start'}  # neither version nor generation
        query['start'] = following.get('start')
    assert sorted(names) == sorted(cloud.things('instances')) and query['start'] is None
    group = cloud.things('instances')['other-00000']['resource_group']['id']
    assert len(api.names(resource_group_id=group)) == 5 and api.names(name='mine-00001') == ['mine-00001']
    assert len(api.list_images(status=['available'], visibility='public').get_result()['images']) == 2
    start = api.list_instances(limit=1).get_result()['next']['href'].rpartition('start=')[2]
    cloud.set(page_size=4)
    assert len(api.names(limit=100)) == 4 and cloud.problems() == []
    assert refused(api.list_floating_ips, start=start) == (400, 'invalid_id_format')
    assert refused(api.list_floating_ips, sort='name') == (400, 'invalid_id_format')
    assert len(cloud.problems()) == 2
    cloud.reset()


def test_failures_on_demand(cloud, api):
    cloud.fail(list_instances=[None, {'status': 429, 'code': 'rate_limit_exceeded', 'headers': {'Retry-After': '7'}},
                               {'status': 502, 'text': '<html>'}])
    assert api.names() == []
    limited = api.call('GET', 'instances')
    assert (limited.status_code, limited.headers['Retry-After']) == (429, '7') and limited.headers['X-Request-Id']
    assert limited.json()['errors'][0]['code'] == 'rate_limit_exceeded'
    assert api.call('GET', 'instances').text == '<html>'
    prototypes = [api.prototype(name) for name in ('np1', 'np2')]
    cloud.lose('create_instance')
    with pytest.raises(requests.ConnectionError):
        api.create_instance(prototypes[0])
    cloud.fail(create_instance=[{'drop': True}])
    with pytest.raises(requests.ConnectionError):
        api.create_instance(prototypes[1])
    cloud.cut(list_instances=[0])
    assert [api.names(), api.names()] == [[], ['np1']]
    cloud.set(latency=0.3)
    begin = time.monotonic()
    assert api.names() == ['np1'] and time.monotonic() - begin > 0.3
    assert cloud.calls()['create_instance'] == 2
    assert [one['status'] for one in cloud.exchanges('create_instance')] == [0, 0]


def test_calls_are_held_and_lost(cloud, api):
    cloud.hold(create_instance=1)
    api.create()
    prototype = api.prototype('np2')
    with concurrent.futures.ThreadPoolExecutor() as pool:
        second = pool.submit(api.create_instance, prototype)
        wait_until('the second one waits', lambda: cloud.held('create_instance') == 1)
        assert Api(cloud).names() == ['np1']  # others go on
        cloud.hold()
        assert isinstance(second.exception(PATIENCE), requests.ConnectionError)
    assert list(cloud.things('instances')) == ['np1']


def test_instances_change_on_demand(cloud, api):
    cloud.add(2, status_reasons=[])
    cloud.stop_instance('other-00000', 'stopped_by_preemption')
    found = api.find('instances', 'other-00000')
    assert (found['status'], found['status_reasons'][0]['code']) == ('stopped', 'stopped_by_preemption')
    api.delete_instance(found['id'])
    wait_until('it is gone', lambda: api.names() == ['other-00001'])
    cloud.stop_time()
    pending = api.create()
    for name in ('other-00001', 'np1'):
        cloud.remove(name)
    cloud.step()  # its start
    assert api.status(pending) is None and api.names() == [] and cloud.things('volumes') == {}


def test_tokens_expire_and_permissions_are_needed(cloud, api):
    cloud.set(token_seconds=3)
    assert api.names() == []
    headers = {'Authorization': f'Bearer {api.authenticator.token_manager.access_token}'}
    wait_until('the token expires', lambda: api.call('GET', 'instances', headers=headers).status_code == 401)
    cloud.set(token_seconds=3600, denied=['delete_instance'])
    api = Api(cloud)
    assert refused(api.delete_instance, 'any') == (403, 'not_authorized')
    cloud.revoke_tokens()
    assert refused(api.list_instances) == (401, 'not_authorized')


@pytest.mark.parametrize('form, code', [
    ({'grant_type': KEY_GRANT, 'apikey': 'other'}, 'BXNIM0415E'), ({'grant_type': 'password'}, 'BXNIM0137E'),
    ({'grant_type': KEY_GRANT, 'apikey': API_KEY, 'response_type': 'uaa'}, 'BXNIM0106E')])
def test_wrong_grants_are_refused_and_noted(any_calls, form, code):
    answer = requests.post(f'{any_calls.url}/identity/token', data=form, timeout=PATIENCE)
    assert (answer.status_code, answer.json()['errorCode']) == (400, code)
    assert len(any_calls.problems()) == 1


BAD_PROTOTYPES = {
    'unknown field': {'userdata': 'x'}, 'unknown field of a part': {'profile': {'name': 'cx2-2x4', 'size': 1}},
    'no zone': {'zone': None}, 'no profile of the volume': {'boot_volume_attachment': {'volume': {'name': 'np1'}}},
    'a wrong type': {'user_data': 1}, 'a wrong identity': {'image': {'name': 'ci-base'}}, 'a bad name': {'name': 'N_1'},
    'not an enumerated value': {'availability_policy': {'host_failure': 'none'}}, 'a wrong list': {'keys': {'id': 'k'}},
    'not simulated': {'volume_attachments': []}}
BAD_QUERIES = {'no version': {'version': None}, 'an old version': {'version': '2022-01-01'}, 'parameter': {'vpc': 'ci'},
               'generation 1': {'generation': '1'}, 'a limit too large': {'limit': '101'}}


@pytest.mark.parametrize('what', [*BAD_PROTOTYPES, *BAD_QUERIES, 'path', 'no token', 'a body', 'content type', 'patch'])
def test_calls_that_ibm_refuses_are_refused_and_noted(any_calls, what):
    api = Api(any_calls)
    body = {**api.prototype(), **BAD_PROTOTYPES.get(what, {})}
    body = {name: value for name, value in body.items() if value is not None}
    if what in BAD_QUERIES:
        answer = api.call('GET', 'instances', **BAD_QUERIES[what])
    elif what == 'path':
        answer = api.call('GET', 'instance')
    elif what == 'no token':
        query = {'version': '2026-10-06', 'generation': '2'}
        answer = requests.get(f'{any_calls.url}/v1/instances', query, timeout=PATIENCE)
    elif what == 'a body':
        answer = api.call('DELETE', 'instances/any', {'name': 'np1'})
    elif what == 'patch':
        answer = api.call('PATCH', 'floating_ips/any', {'name': 'np1'})
    else:
        answer = api.call('POST', 'instances', body, *(['text/plain'] if what == 'content type' else []))
    assert answer.status_code == {'path': 404, 'no token': 401, 'not simulated': 501}.get(what, 400)
    assert answer.json()['errors'][0]['code'] and answer.json()['trace']
    assert any_calls.problems() and any_calls.things('instances') == {}


@pytest.mark.parametrize('fields, problem', [
    ({'status': 'asleep'}, "/status: 'asleep' is none of"), ({'vcpu': {'count': 2}}, '/vcpu/architecture is missing'),
    ({'created_at': 'today'}, '/created_at'), ({'owner': 'suite'}, '/owner: unknown field'),
    ({'memory': '4'}, '/memory')])
def test_wrong_answers_are_noted(any_calls, fields, problem):
    any_calls.add(1)
    any_calls.update('other-00000', **fields)
    Api(any_calls).names()
    assert any(problem in one for one in any_calls.problems())


def test_old_fields_are_answered_on_demand_alone(cloud, api):
    cloud.add(1)
    for wanted in (False, True):
        cloud.set(old_fields=wanted)
        interface = api.find('instances', 'other-00000')['primary_network_interface']
        assert (interface.get('primary_ipv4_address') == interface['primary_ip']['address']) == wanted
        assert ('owner_type' in api.find('images', 'ci-base')) == wanted


def put(cloud, api, key, content=b'QFI\xfb'):
    token = api.authenticator.token_manager.get_token()
    return requests.put(f'{cloud.storage_url}/{BUCKET}/{key}', content, timeout=PATIENCE,
                        headers={'Authorization': f'Bearer {token}'})


def image_prototype(key='np.qcow2', system='debian-12-amd64', place=f'cos://{REGION}/{BUCKET}'):
    return {'name': 'npimage1', 'file': {'href': f'{place}/{key}'}, 'operating_system': {'name': system}}


def test_an_image_is_imported(cloud, api):
    assert put(cloud, api, 'np.qcow2').status_code == 200
    cloud.stop_time()
    image = api.create_image(image_prototype()).get_result()
    assert (image['status'], image['status_reasons'][0]['code']) == ('pending', 'image_request_in_progress')
    assert refused(api.create, image='npimage1') == (409, 'invalid_state')
    assert refused(api.create_image, image_prototype()) == (400, 'validation_unique_failed')
    cloud.step()
    assert api.get_image(image['id']).get_result()['status'] == 'available'
    assert api.create(image='npimage1')['image']['id'] == image['id']
    assert api.delete_image(image['id']).status_code == 202
    assert refused(api.delete_image, image['id']) == (409, 'invalid_state')
    cloud.start_time()
    cloud.set(import_error='image_data_corrupted')
    failing = api.create_image({**image_prototype(), 'name': 'npimage2'}).get_result()
    wait_until('it fails', lambda: api.get_image(failing['id']).get_result()['status'] == 'failed')


@pytest.mark.parametrize('change, code', [
    ({'key': 'none.qcow2'}, (400, 'cos_not_found')), ({'key': 'np.raw'}, (400, 'cos_uri_not_supported')),
    ({'place': f'https://{BUCKET}'}, (400, 'cos_scheme_uri_invalid')), ({'system': 'none'}, (400, 'bad_field')),
    ({'place': f'cos://eu-de/{BUCKET}'}, (400, 'cos_region_mismatch')),
    ({'system': 'red-9-amd64'}, (400, 'operating_system_restricted'))])
def test_what_an_image_needs_has_to_be_there(cloud, api, change, code):
    put(cloud, api, 'np.qcow2')
    assert refused(api.create_image, image_prototype(**change)) == code
    public = cloud.things('images')['ibm-ubuntu-24-04-2-minimal-amd64-3']
    assert refused(api.delete_image, public['id']) == (403, 'invalid_action_for_public_image')
    cloud.limit(images=2)
    assert refused(api.create_image, image_prototype()) == (400, 'over_quota')


def test_the_object_storage_needs_tokens_and_fails_on_demand(cloud, api):
    cloud.fail(storage_put=[{'status': 503, 'code': 'SlowDown'}])
    slow = put(cloud, api, 'np.qcow2')
    assert (slow.status_code, '<Code>SlowDown</Code>' in slow.text) == (503, True)
    cloud.revoke_tokens()
    assert put(cloud, api, 'np.qcow2').status_code == 403
    assert list(cloud.objects()) == [f'{BUCKET}/README'] and cloud.calls()['storage_put'] == 2
