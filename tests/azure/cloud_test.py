"""The simulated Azure itself: what it does as Azure does, and that it is strict."""
import base64
import hashlib
import http.client
import json
import os
import time
import urllib.error
import uuid

import jwt
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes

from arm import Answer, Request
from azure_cloud import ADDRESSES, DISKS, GROUP, IMAGES, INTERFACES, MACHINES, NETWORKS, SUBNET
from azure_catalog import CLIENT, SUBSCRIPTION, TENANT
from disks import fixed_vhd
from launcher import wait_until
from server import Judge

USAGES = f'/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Compute/locations/westeurope/usages'
KEY = 'ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAAQCx ci'


def machine(size='Standard_D2s_v3', **properties):
    """The body of a PUT, with an interface and a public address that go with the machine."""
    return {'location': 'westeurope', 'tags': {'team': 'infra'}, 'properties': {
        'hardwareProfile': {'vmSize': size},
        'osProfile': {'computerName': 'np1', 'adminUsername': 'zuul', 'linuxConfiguration': {
            'disablePasswordAuthentication': True,
            'ssh': {'publicKeys': [{'path': '/home/zuul/.ssh/authorized_keys', 'keyData': KEY}]}}},
        'storageProfile': {
            'imageReference': {'publisher': 'Debian', 'offer': 'debian-12', 'sku': '12-gen2', 'version': 'latest'},
            'osDisk': {'createOption': 'FromImage', 'deleteOption': 'Delete'}},
        'networkProfile': {'networkApiVersion': '2020-11-01', 'networkInterfaceConfigurations': [
            {'name': 'nic', 'properties': {'deleteOption': 'Delete', 'ipConfigurations': [
                {'name': 'v4', 'properties': {'subnet': {'id': SUBNET}, 'publicIPAddressConfiguration': {
                    'name': 'ip', 'sku': {'name': 'Standard'},
                    'properties': {'deleteOption': 'Delete', 'publicIPAllocationMethod': 'Static'}}}}]}}]},
        **properties}}


def create(cloud, name, body=None):
    reply = cloud.call('PUT', f'{MACHINES}/{name}', body or machine())
    assert reply.status == 201, reply.content
    return reply


def names(cloud, path):
    return [each['name'] for each in cloud.call('GET', path).body['value']]


def await_nothing(cloud, *types):
    wait_until(f'no {types} are left', lambda: not any(cloud.resources(type) for type in types))


def refusal(reply):
    return reply.status, reply.body.get('error', reply.body)['code']


@pytest.mark.smoke
def test_a_machine_and_all_that_belongs_to_it(cloud):
    cloud.set(held=True)
    made = create(cloud, 'np1')
    assert made.body['properties']['provisioningState'] == 'Creating'
    assert 'Location' not in made.headers and 'Retry-After' not in made.headers
    assert len(made.headers['Azure-AsyncOperation']) > 3000
    assert cloud.call('GET', made.headers['Azure-AsyncOperation']).body['status'] == 'InProgress'
    assert names(cloud, MACHINES) == ['np1']  # it is there at once
    cloud.set(held=False)
    assert cloud.finish(made)['status'] == 'Succeeded'

    shown = cloud.call('GET', f'{MACHINES}/np1').body
    (nic,), (address,), (disk,) = (cloud.call('GET', path).body['value'] for path in (INTERFACES, ADDRESSES, DISKS))
    assert shown['properties']['networkProfile']['networkInterfaces'][0]['id'] == nic['id']
    assert nic['properties']['virtualMachine']['id'] == shown['id'] == disk['managedBy']
    configuration = nic['properties']['ipConfigurations'][0]
    assert configuration['properties']['privateIPAddress'] == '127.30.0.4'
    assert configuration['properties']['publicIPAddress']['id'] == address['id']
    assert address['properties']['ipAddress'] == '127.20.0.10'
    assert 'adminPassword' not in json.dumps(shown)

    cloud.set(held=True)
    deleted = cloud.call('DELETE', f'{MACHINES}/np1')
    assert (deleted.status, deleted.content) == (202, b'')
    assert cloud.call('GET', f'{MACHINES}/np1').body['properties']['provisioningState'] == 'Deleting'
    assert cloud.call('GET', deleted.headers['Location']).status == 202
    cloud.set(held=False)
    assert cloud.finish(deleted)['status'] == 'Succeeded'
    assert refusal(cloud.call('GET', f'{MACHINES}/np1')) == (404, 'ResourceNotFound')
    assert cloud.call('DELETE', f'{MACHINES}/np1').status == 204
    await_nothing(cloud, 'networkInterfaces', 'publicIPAddresses', 'disks')


def test_the_same_again_is_no_second_machine(cloud):
    first, again = create(cloud, 'np1'), cloud.call('PUT', f'{MACHINES}/NP1', machine())
    assert again.status == 200
    cloud.finish(first), cloud.finish(again)
    assert names(cloud, MACHINES) == ['np1']
    assert len(names(cloud, INTERFACES)) == 1
    larger = cloud.call('PUT', f'{MACHINES}/np1', machine('Standard_D4s_v3'))
    assert refusal(larger) == (409, 'PropertyChangeNotAllowed')


def test_resources_in_use_stay(cloud):
    cloud.finish(create(cloud, 'np1'))
    (nic,), (address,), (disk,) = (names(cloud, path) for path in (INTERFACES, ADDRESSES, DISKS))
    assert refusal(cloud.call('DELETE', f'{INTERFACES}/{nic}')) == (400, 'NicInUse')
    assert refusal(cloud.call('DELETE', f'{ADDRESSES}/{address}')) == (400, 'PublicIPAddressCannotBeDeleted')
    assert refusal(cloud.call('DELETE', f'{DISKS}/{disk}')) == (409, 'OperationNotAllowed')
    assert refusal(cloud.call('DELETE', SUBNET)) == (400, 'InUseSubnetCannotBeDeleted')


def test_parts_that_were_made_apart_stay(cloud):
    network = cloud.call('PUT', f'{NETWORKS}/second', {'location': 'westeurope', 'properties': {
        'addressSpace': {'addressPrefixes': ['10.1.0.0/16']}}})
    cloud.finish(network)
    cloud.finish(cloud.call('PUT', f'{NETWORKS}/second/subnets/a', {'properties': {'addressPrefix': '10.1.2.0/24'}}))
    cloud.finish(cloud.call('PUT', f'{ADDRESSES}/ip', {
        'location': 'westeurope', 'sku': {'name': 'Standard'}, 'properties': {'publicIPAllocationMethod': 'Static'}}))
    nic = cloud.call('PUT', f'{INTERFACES}/nic', {'location': 'westeurope', 'properties': {'ipConfigurations': [
        {'name': 'a', 'properties': {'subnet': {'id': f'{NETWORKS}/second/subnets/a'}, 'publicIPAddress': {
            'id': f'{ADDRESSES}/ip'}}}]}})
    assert nic.status == 201
    assert nic.body['properties']['ipConfigurations'][0]['properties']['publicIPAddress'] == {'id': f'{ADDRESSES}/ip'}
    body = machine(networkProfile={'networkInterfaces': [{'id': f'{INTERFACES}/nic'}]})
    body['properties']['storageProfile']['osDisk'].pop('deleteOption')
    cloud.finish(create(cloud, 'np1', body))
    cloud.finish(cloud.call('DELETE', f'{MACHINES}/np1'))
    assert names(cloud, INTERFACES) == ['nic'] and names(cloud, ADDRESSES) == ['ip'] and len(names(cloud, DISKS)) == 1
    cloud.finish(cloud.call('DELETE', f'{INTERFACES}/nic'))
    cloud.finish(cloud.call('DELETE', f'{ADDRESSES}/ip'))
    assert names(cloud, ADDRESSES) == []


def test_states_are_in_the_list_of_the_subscription(cloud):
    cloud.finish(create(cloud, 'np1'))
    cloud.change('np1', power='deallocated')
    everywhere = f'/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Compute/virtualMachines'
    (shown,) = cloud.call('GET', f'{everywhere}?statusOnly=true').body['value']
    assert [each['code'] for each in shown['properties']['instanceView']['statuses']] == [
        'ProvisioningState/succeeded', 'PowerState/deallocated']
    for path in (everywhere, MACHINES):
        (shown,) = cloud.call('GET', path).body['value']
        assert 'instanceView' not in shown['properties']


def test_a_console_log(cloud):
    path = f'{MACHINES}/np1/retrieveBootDiagnosticsData'
    cloud.finish(create(cloud, 'np1'))
    assert refusal(cloud.call('POST', path)) == (409, 'BootDiagnosticsNotEnabled')
    cloud.finish(create(cloud, 'np2', machine(diagnosticsProfile={'bootDiagnostics': {'enabled': True}})))
    cloud.change('np2', console='Welcome\n')
    links = cloud.call('POST', path.replace('np1', 'np2')).body
    assert cloud.send('GET', links['serialConsoleLogBlobUri']).content == b'Welcome\n'


def test_windows(cloud):
    body = machine()
    body['properties']['storageProfile']['imageReference'] = {
        'publisher': 'MicrosoftWindowsServer', 'offer': 'WindowsServer', 'sku': '2022-datacenter-g2', 'version': 'latest'}
    assert refusal(cloud.call('PUT', f'{MACHINES}/np1', body)) == (400, 'InvalidParameter')  # it has no keys
    body['properties']['osProfile'] = {'computerName': 'np1', 'adminUsername': 'ci', 'adminPassword': 'Of-The-Suite-1'}
    shown = create(cloud, 'np1', body).body['properties']
    assert shown['storageProfile']['osDisk']['osType'] == 'Windows'
    assert 'windowsConfiguration' in shown['osProfile'] and 'adminPassword' not in shown['osProfile']
    assert cloud.passwords() == {'np1': 'Of-The-Suite-1'}


@pytest.mark.smoke
def test_quotas(cloud):
    cloud.set(quotas={'cores': 3, 'PublicIPAddresses': 1})
    create(cloud, 'np1')
    refused = cloud.call('PUT', f'{MACHINES}/np2', machine())
    assert refusal(refused) == (409, 'OperationNotAllowed')
    assert 'approved Total Regional Cores quota' in refused.body['error']['message']
    cores = next(each for each in cloud.call('GET', USAGES).body['value'] if each['name']['value'] == 'cores')
    assert (cores['currentValue'], cores['limit']) == (2, 3)
    cloud.set(quotas={'cores': 100})
    too_many = cloud.finish(create(cloud, 'np3'))  # of addresses: known only later
    assert (too_many['status'], too_many['error']['code']) == ('Failed', 'PublicIPCountLimitReached')
    assert refusal(cloud.call('PUT', f'{MACHINES}/np4', machine('Standard_NV6s_v2'))) == (409, 'SkuNotAvailable')


@pytest.mark.smoke
def test_an_allocation_that_fails_leaves_the_machine(cloud):
    cloud.fail_allocation(times=1, code='ZonalAllocationFailed')
    failed = cloud.finish(create(cloud, 'np1'))
    assert (failed['status'], failed['error']['code']) == ('Failed', 'ZonalAllocationFailed')
    (shown,) = cloud.call('GET', MACHINES).body['value']
    assert shown['properties']['provisioningState'] == 'Failed'
    assert len(names(cloud, INTERFACES)) == 1
    cloud.finish(cloud.call('DELETE', f'{MACHINES}/np1'))
    await_nothing(cloud, 'networkInterfaces')


def test_a_deletion_preempts_the_creation(cloud):
    cloud.set(times={'vm': 60})
    made = create(cloud, 'np1')
    cloud.finish(cloud.call('DELETE', f'{MACHINES}/np1'))
    status = cloud.call('GET', made.headers['Azure-AsyncOperation']).body
    assert (status['status'], status['error']['code']) == ('Canceled', 'OperationPreempted')


def test_lists(cloud):
    cloud.set(page=2)
    for name in ('a', 'b', 'c'):
        create(cloud, name)
    first = cloud.call('GET', MACHINES).body
    second = cloud.call('GET', first['nextLink']).body
    assert '%24skiptoken' in first['nextLink'] and 'nextLink' not in second
    assert [each['name'] for each in first['value'] + second['value']] == ['a', 'b', 'c']
    cloud.set(page=1000, list_case='upper', times={'listing': 60})
    assert names(cloud, MACHINES) == []  # a list may be older than what it lists
    cloud.set(times={'listing': 0})
    assert '/resourceGroups/NODEPOOL/' in cloud.call('GET', MACHINES).body['value'][0]['id']
    cloud.fail({'path': 'virtualMachines$', 'cut': 100})
    with pytest.raises(http.client.IncompleteRead):
        cloud.call('GET', MACHINES)


@pytest.mark.smoke
def test_faults(cloud):
    path = 'virtualMachines/np1'
    cloud.fail({'method': 'PUT', 'path': path, 'lost': True})
    with pytest.raises((urllib.error.URLError, http.client.HTTPException, ConnectionError)):
        cloud.call('PUT', f'{MACHINES}/np1', machine())
    assert names(cloud, MACHINES) == ['np1']  # it was carried out
    cloud.fail({'path': path, 'after': 1, 'times': 2, 'status': 503, 'shape': 'html'},
               {'path': path, 'status': 429, 'code': 'SubscriptionRequestsThrottled', 'headers': {'Retry-After': '7'}},
               {'path': path, 'status': 409, 'code': 'Conflict', 'shape': 'bare'})
    replies = [cloud.call('GET', f'{MACHINES}/np1') for _ in range(6)]
    # The second fault takes the call that the first one lets pass.
    assert [reply.status for reply in replies] == [429, 503, 503, 409, 200, 200]
    assert replies[0].headers['Retry-After'] == '7'
    assert replies[1].headers['Content-Type'] == 'text/html'
    assert replies[3].body['code'] == 'Conflict'
    assert cloud.calls()['GET Microsoft.Compute/virtualMachines'] == 6


def test_rates(cloud):
    assert cloud.call('GET', USAGES).headers['x-ms-ratelimit-remaining-resource'] == (
        'Microsoft.Compute/GetSubscriptionInfoSubscriptionMaximum;359')
    cloud.set(limits={'HighCostGetSubscriptionMaximum': 0})
    throttled = cloud.call('GET', MACHINES)
    assert throttled.status == 429 and throttled.body['code'] == 'OperationNotAllowed'
    assert 1 <= int(throttled.headers['Retry-After']) <= 60
    assert throttled.body['details'][0]['target'] == 'HighCostGetSubscriptionMaximum'
    cloud.set(limits={'writes': 0})
    throttled = cloud.call('PUT', f'{ADDRESSES}/ip', {'location': 'westeurope'})
    assert refusal(throttled) == (429, 'SubscriptionRequestsThrottled')


def assertion_of_certificate(cloud, **claims):
    pem = (cloud.directory / 'client.pem').read_bytes()
    thumb = x509.load_pem_x509_certificate(pem).fingerprint(hashes.SHA1())
    now = int(time.time())
    return jwt.encode({'aud': f'https://login.microsoftonline.com/{TENANT}/oauth2/v2.0/token', 'iss': CLIENT,
                       'sub': CLIENT, 'jti': str(uuid.uuid4()), 'nbf': now, 'exp': now + 600, **claims},
                      pem[:pem.index(b'-----BEGIN CERT')], 'RS256',
                      {'x5t': base64.urlsafe_b64encode(thumb).decode().rstrip('=')})


@pytest.mark.smoke
def test_tokens(cloud):
    old = cloud.log_in(f'/{TENANT}/oauth2/token').body
    assert float(old['expires_on']) > time.time() and old['expires_in'] == '3600'
    assert cloud.log_in().body['expires_in'] == 3600
    kind = {'client_assertion_type': 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'}
    federated = (cloud.directory / 'federated-token').read_text
    assert cloud.log_in(client_assertion=assertion_of_certificate(cloud), **kind).status == 200
    assert cloud.log_in(client_assertion=federated(), **kind).status == 200
    for wrong in ({'client_secret': 'wrong'},
                  {'client_assertion': assertion_of_certificate(cloud, aud='other'), **kind},
                  {'client_assertion': assertion_of_certificate(cloud, exp=1), **kind}):
        assert (reply := cloud.log_in(**wrong)).status == 401 and reply.body['error'] == 'invalid_client'
    cloud.control('federate', {'lifetime': -600})
    assert cloud.log_in(client_assertion=federated(), **kind).body['error_codes'] == [700024]
    cloud.control('federate', {'sub': 'another'})
    assert cloud.log_in(client_assertion=federated(), **kind).body['error_codes'] == [700213]

    metadata = '/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https://management.azure.com/'
    assert cloud.send('GET', metadata).status == 400
    assert cloud.send('GET', metadata, headers={'Metadata': 'true'}).body['token_type'] == 'Bearer'

    cloud.set(token_lifetime=0)
    cloud.token = cloud.log_in().body['access_token']
    assert refusal(cloud.call('GET', MACHINES)) == (401, 'ExpiredAuthenticationToken')


def upload(cloud, path, name):
    """A disk with the file's content, as the state after each step tells; returns the SAS, which has ended."""
    size = path.stat().st_size
    made = cloud.call('PUT', f'{DISKS}/{name}', {'location': 'westeurope', 'properties': {
        'creationData': {'createOption': 'Upload', 'uploadSizeBytes': size}}})
    assert made.status == 202
    assert cloud.finish(made)['properties']['output']['properties']['diskState'] == 'ReadyToUpload'
    granted = cloud.call('POST', f'{DISKS}/{name}/beginGetAccess', {'access': 'Write', 'durationInSeconds': 600})
    url = cloud.finish(granted)['properties']['output']['accessSAS']
    assert cloud.call('GET', granted.headers['Location']).body == {'accessSAS': url}
    assert refusal(cloud.call('DELETE', f'{DISKS}/{name}')) == (409, 'OperationNotAllowed')
    data = path.read_bytes()
    for first in range(0, size, 4 << 20):
        assert write(cloud, url, first, data[first:first + (4 << 20)]) == 201
    assert write(cloud, url, 100, b'x' * 512) == 400
    assert write(cloud, url, size, b'x' * 512) == 416
    assert write(cloud, url, 0, b'x' * ((4 << 20) + 512)) == 413
    assert b'<Start>0</Start>' in cloud.send('GET', url + '&comp=pagelist').content
    assert hashlib.sha256(cloud.send('GET', url).content).digest() == hashlib.sha256(data).digest()
    return url, cloud.finish(cloud.call('POST', f'{DISKS}/{name}/endGetAccess'))


def write(cloud, url, first, data):
    return cloud.send('PUT', url + '&comp=page', data, {
        'Range': f'bytes={first}-{first + len(data) - 1}', 'x-ms-page-write': 'update'}).status


def image_of(disk):
    return {'location': 'westeurope', 'properties': {'hyperVGeneration': 'V2', 'storageProfile': {'osDisk': {
        'osType': 'Linux', 'osState': 'Generalized', 'managedDisk': {'id': f'{DISKS}/{disk}'}}}}}


@pytest.mark.smoke
def test_an_image_from_an_uploaded_disk(cloud, tmp_path):
    url, ended = upload(cloud, fixed_vhd(tmp_path / 'good', 20, b'boot'), 'good')
    assert ended['status'] == 'Succeeded'
    assert write(cloud, url, 0, b'x' * 512) == 403  # the access has ended
    assert cloud.finish(cloud.call('PUT', f'{IMAGES}/good', image_of('good')))['status'] == 'Succeeded'
    cloud.finish(cloud.call('DELETE', f'{DISKS}/good'))
    body = machine()
    body['properties']['storageProfile']['imageReference'] = {'id': f'{IMAGES}/good'}
    cloud.finish(create(cloud, 'np1', body))
    body['properties']['hardwareProfile']['vmSize'] = 'Standard_A2_v2'  # boots only generation 1
    assert refusal(cloud.call('PUT', f'{MACHINES}/np2', body)) == (400, 'BadRequest')

    broken = fixed_vhd(tmp_path / 'broken', 20)
    broken.write_bytes(broken.read_bytes()[512:] + bytes(512))
    _, ended = upload(cloud, broken, 'broken')
    assert ended['error']['code'] == 'InvalidVhd'
    assert refusal(cloud.call('PUT', f'{IMAGES}/broken', image_of('broken'))) == (409, 'OperationNotAllowed')
    assert cloud.finish(cloud.call('DELETE', f'{DISKS}/broken'))['status'] == 'Succeeded'
    small = cloud.call('PUT', f'{DISKS}/small', {'location': 'westeurope', 'properties': {
        'creationData': {'createOption': 'Upload', 'uploadSizeBytes': 1 << 20}}})
    assert refusal(small) == (400, 'InvalidParameter')


def test_a_group_with_all_in_it(cloud):
    create(cloud, 'np1')
    cloud.set(held=True)
    deleted = cloud.call('DELETE', GROUP)
    assert deleted.status == 202 and 'Azure-AsyncOperation' not in deleted.headers
    assert refusal(cloud.call('PUT', f'{MACHINES}/np2', machine()))[0] == 409
    assert cloud.call('GET', deleted.headers['Location']).status == 202
    cloud.set(held=False)
    await_nothing(cloud, 'resourceGroups', 'virtualMachines')
    assert cloud.call('GET', deleted.headers['Location']).status == 200
    assert refusal(cloud.call('GET', MACHINES)) == (404, 'ResourceGroupNotFound')
    assert cloud.call('PUT', GROUP, {'location': 'westeurope'}).status == 201


def test_permissions(cloud):
    cloud.set(denied=['Microsoft.Compute/virtualMachines/write'])
    assert refusal(cloud.call('PUT', f'{MACHINES}/np1', machine())) == (403, 'AuthorizationFailed')
    assert names(cloud, MACHINES) == []


WRONG = {
    'no such field': (lambda body: body['properties'].update(hardwareprofile={}), 'Judge'),
    'not in the enumeration': (
        lambda body: body['properties']['storageProfile']['osDisk'].update(createOption='Make'), 'Judge'),
    'not a number': (lambda body: body['properties']['storageProfile']['osDisk'].update(diskSizeGB='40'), 'Judge'),
    'no location': (lambda body: body.pop('location'), 'Judge'),
    'no size': (lambda body: body['properties'].update(hardwareProfile={'vmSize': 'Large'}), 'InvalidParameter'),
    'a plain password': (
        lambda body: body['properties']['osProfile'].update(adminPassword='secret'), 'InvalidParameter'),
    'data disks': (
        lambda body: body['properties']['storageProfile'].update(dataDisks=[{'lun': 0, 'createOption': 'Empty'}]),
        'NotSimulated'),
    'no base64': (lambda body: body['properties'].update(userData='#!/bin/sh'), 'InvalidParameter'),
    'a key for elsewhere': (
        lambda body: body['properties']['osProfile'].update(adminUsername='ci'), 'InvalidParameter'),
    'a slash in a tag': (lambda body: body['tags'].update({'a/b': 'c'}), 'InvalidTagNameCharacters'),
    'no subnet': (lambda body: body['properties']['networkProfile']['networkInterfaceConfigurations'][0]['properties'][
        'ipConfigurations'][0]['properties']['subnet'].update(id=SUBNET + 'x'), 'InvalidResourceReference'),
    'no such image': (lambda body: body['properties']['storageProfile'].update(
        imageReference={'id': f'{IMAGES}/none'}), 'ResourceNotFound')}


@pytest.mark.parametrize('what', WRONG)
def test_wrong_machines_are_refused(unjudged, what):
    change, code = WRONG[what]
    change(body := machine())
    assert refusal(unjudged.call('PUT', f'{MACHINES}/np1', body))[1] == code
    assert bool(unjudged.problems()) == (code == 'Judge')


@pytest.mark.smoke
def test_the_judge_reports_wrong_calls(unjudged):
    unjudged.call('GET', f'{MACHINES}?$top=3')
    unjudged.call('POST', f'{MACHINES}/np1/explode')
    unjudged.call('GET', f'{MACHINES}/np1', version='latest')
    unjudged.call('DELETE', f'{DISKS}/x', {'force': True})
    problems = unjudged.problems()
    assert [problem for problem in problems if '"$top" is not one' in problem]
    assert [problem for problem in problems if 'explode: no call of Microsoft' in problem]
    assert [problem for problem in problems if 'api-version is "latest"' in problem]
    assert [problem for problem in problems if 'a body, but this call has none' in problem]
    assert refusal(unjudged.call('GET', MACHINES, version='2099-01-01')) == (400, 'NoRegisteredProviderFound')


def test_the_judge_reports_wrong_answers():
    judge = Judge(os.environ['AZURE_JUDGE'])
    request = Request('GET', f'{MACHINES}?api-version=2024-11-01', {})
    good = {'value': [{'name': 'np1', 'location': 'westeurope'}]}
    assert judge.find_problems('answer', request, Answer(200, good)) == []
    assert judge.find_problems('answer', request, Answer(200, {'value': [{'nmae': 'np1'}]}))
    assert judge.find_problems('answer', request, Answer(200, {'value': 'none'}))
    assert judge.find_problems('answer', request, Answer(404, {'error': {'code': 'NotFound'}}))
    judge.process.kill()


def test_images_of_galleries(cloud):
    for field, id, is_there in (
            ('communityGalleryImageId', '/CommunityGalleries/ci-7e1d/Images/debian/Versions/1.1.0', True),
            ('communityGalleryImageId', '/CommunityGalleries/ci-7e1d/Images/debian/Versions/9.0.0', False),
            ('sharedGalleryImageId', f'/SharedGalleries/{SUBSCRIPTION}-ci/Images/debian', True),
            ('sharedGalleryImageId', '/SharedGalleries/ci-7e1d/Images/debian', False)):
        body = machine()
        body['properties']['storageProfile']['imageReference'] = {field: id}
        reply = cloud.call('PUT', f'{MACHINES}/np-{uuid.uuid4().hex}', body)
        assert reply.status == (201 if is_there else 404), id


def test_a_machine_that_vanishes(cloud):
    cloud.finish(create(cloud, 'np1'))
    cloud.vanish(f'{MACHINES}/np1')
    await_nothing(cloud, 'virtualMachines', 'networkInterfaces', 'disks')
    cloud.revoke_tokens()
    assert refusal(cloud.call('GET', MACHINES)) == (401, 'InvalidAuthenticationToken')
