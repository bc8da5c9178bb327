"""The stand-in's blobs answer as Azurite, but where Azurite differs from Azure; and our uploads reach it whole."""
import re

import pytest

from azure_cloud import DISKS
from conftest import await_ready
from disks import fixed_vhd
from emulator import Azurite
from launcher import wait_until

MIB = 1 << 20
SIZE = 20 * MIB + 512  # a fixed VHD has a footer
PAGE = {'x-ms-blob-type': 'PageBlob', 'x-ms-page-write': 'Update'}  # the driver's headers
NO_CODE = ''
# What both answer.
SAME = {
    'no pages yet': (200, NO_CODE),
    'the first range': (201, NO_CODE),
    'a range beside it': (201, NO_CODE),
    'a range in it': (201, NO_CODE),
    'the footer': (201, NO_CODE),
    'the pages': (200, NO_CODE),
    'some pages': (200, NO_CODE),
    'update in lower case': (201, NO_CODE),
    'a wrong ETag': (412, 'ConditionNotMet'),
    'any ETag': (201, NO_CODE),
    'a part': (206, NO_CODE),
    'the rest': (206, NO_CODE),
    'the properties': (200, NO_CODE),
    'delete': (403, 'AuthorizationPermissionMismatch'),
}
INVALID_RANGE = 416, 'Requested Range Not Satisfiable'
# Azurite's answer, Azure's, and how that is known.
DIFFERENT = {
    'more than 4 MiB': ((201, NO_CODE), (413, 'RequestBodyTooLarge'), 'the page of Put Page: up to 4 MiB'),
    'a range across the end': ((201, NO_CODE), (416, 'InvalidPageRange'), 'issue 333 of Azurite'),
    'a range after the end': (INVALID_RANGE, (416, 'InvalidPageRange'), 'the list of codes'),
    'more bytes than the range': (INVALID_RANGE, (416, 'InvalidPageRange'), 'the list of codes'),
    'fewer bytes than the range': (INVALID_RANGE, (416, 'InvalidPageRange'), 'the list of codes'),
    'a begin between pages': (INVALID_RANGE, (400, 'InvalidHeaderValue'), 'issue 331 of the SDK for Go'),
    'an end between pages': ((400, 'InvalidOperation'), (400, 'InvalidHeaderValue'), 'issue 331 of the SDK for Go'),
    'no range': (INVALID_RANGE, (400, 'MissingRequiredHeader'), 'the page of Put Page: required'),
    'a malformed range': ((201, NO_CODE), (400, 'InvalidHeaderValue'), 'the list of codes'),
    'no kind of write': ((400, NO_CODE), (400, 'MissingRequiredHeader'), 'the page of Put Page: required'),
    'an unknown kind of write': ((400, NO_CODE), (400, 'InvalidHeaderValue'), 'the list of codes'),
    'an unknown operation': ((400, NO_CODE), (400, 'InvalidQueryParameterValue'), 'the list of codes'),
    'no existing blob': ((201, NO_CODE), (412, 'ConditionNotMet'), 'the page on conditional headers: If-None-Match: *'),
    'bytes after the end': ((206, NO_CODE), (416, 'InvalidRange'), 'the list of codes'),
    'a wrong signature': ((403, 'AuthorizationFailure'), (403, 'AuthenticationFailed'), 'the list of codes'),
    'no signature': ((403, 'AuthorizationFailure'), (403, 'AuthenticationFailed'), 'the list of codes'),
    'a wrong signature for a write': (
        (403, 'AuthorizationFailure'), (403, 'AuthenticationFailed'), 'the list of codes'),
}
HEADERS = ['Content-Range', 'Content-Type', 'Retry-After', 'x-ms-blob-content-length', 'x-ms-blob-sequence-number',
           'x-ms-blob-type']


@pytest.fixture(scope='module')
def azurite(tmp_path_factory):
    emulator = Azurite(tmp_path_factory.mktemp('azurite'))
    emulator.start()
    yield emulator
    emulator.stop()
    print(f'--- {emulator.log}\n{emulator.log.read_text()}')


def begin_upload(cloud, name, size):
    """The URL of a new disk's blob."""
    cloud.finish(cloud.call('PUT', f'{DISKS}/{name}', {'location': 'westeurope', 'properties': {
        'creationData': {'createOption': 'Upload', 'uploadSizeBytes': size}}}))
    granted = cloud.call('POST', f'{DISKS}/{name}/beginGetAccess', {'access': 'Write', 'durationInSeconds': 600})
    return cloud.finish(granted)['properties']['output']['accessSAS']


def write(first, last, length=None, **headers):
    """The call for a range that the driver makes, with changed headers; those that are None are not sent."""
    sent = {'Range': f'bytes={first}-{last}', **PAGE, **{name.replace('_', '-'): value for name, value in headers.items()}}
    return ('PUT', '&comp=page', {name: value for name, value in sent.items() if value is not None},
            b'x' * (last - first + 1 if length is None else length))


def read(method='GET', query='', **headers):
    return method, query, headers, None


CALLS = {
    'no pages yet': read(query='&comp=pagelist'),
    'the first range': write(0, 4 * MIB - 1),
    'a range beside it': write(4 * MIB, 8 * MIB - 1),
    'a range in it': write(512, 1023),
    'the footer': write(SIZE - 512, SIZE - 1),
    'the pages': read(query='&comp=pagelist'),
    'some pages': read(query='&comp=pagelist', Range='bytes=512-1023'),
    'update in lower case': write(0, 511, x_ms_page_write='update'),
    'a wrong ETag': write(0, 511, If_Match='"0x1"'),
    'any ETag': write(0, 511, If_Match='*'),
    'no existing blob': write(0, 511, If_None_Match='*'),
    'a begin between pages': write(100, 611),
    'an end between pages': write(0, 99),
    'a range after the end': write(SIZE, SIZE + 511),
    'more bytes than the range': write(0, 511, 1024),
    'fewer bytes than the range': write(0, 1023, 512),
    'no range': write(0, 511, Range=None),
    'a malformed range': write(0, 511, Range='pages=0-511'),
    'no kind of write': write(0, 511, x_ms_page_write=None),
    'an unknown kind of write': write(0, 511, x_ms_page_write='append'),
    'an unknown operation': ('PUT', '&comp=nonsense', PAGE, b'x' * 512),
    'a part': read(Range='bytes=512-520'),
    'the rest': read(Range=f'bytes={SIZE - 9}-'),
    'bytes after the end': read(Range=f'bytes={SIZE}-{SIZE + 9}'),
    'the properties': read('HEAD'),
    'delete': read('DELETE'),
    'more than 4 MiB': write(0, 4 * MIB + 511),
    'a range across the end': write(SIZE - 512, SIZE + 511),  # the blob grows in Azurite
}


def code_of(reply):
    """The code in the header, which is the one of the body."""
    code = reply.headers.get('x-ms-error-code', NO_CODE)
    inside = re.search(r'<Code>(.*)</Code>', reply.content.decode(errors='replace'))
    assert (inside[1] if inside else code) == code
    return code


def outcome(reply):
    return reply.status, code_of(reply)


def written(reply):
    """The pages of a list, whether or not ranges beside each other are one."""
    spans = re.findall(r'<PageRange><Start>(\d+)</Start><End>(\d+)</End></PageRange>', reply.content.decode())
    pages = [page for first, last in spans for page in range(int(first) // 512, (int(last) + 1) // 512)]
    assert len(pages) == len(set(pages)), 'ranges do not overlap'
    return set(pages)


def check(what, theirs, ours):
    if what in SAME:
        assert (outcome(theirs), outcome(ours)) == (SAME[what], SAME[what])
    else:
        expected, right, _ = DIFFERENT[what]
        assert (outcome(theirs), outcome(ours)) == (expected, right)
    if theirs.status < 300 and ours.status < 300:
        assert [ours.headers[name] for name in HEADERS] == [theirs.headers[name] for name in HEADERS]
        assert re.fullmatch('"0x[0-9A-F]+"', theirs.headers['ETag']) and re.fullmatch('"0x[0-9A-F]+"', ours.headers['ETag'])


def test_each_call_has_the_same_answer(cloud, azurite):
    azurite.create_page_blob('compared', SIZE)
    theirs, ours = azurite.access('compared'), begin_upload(cloud, 'compared', SIZE)
    for what, (method, query, headers, data) in CALLS.items():
        print(what)
        replies = [cloud.send(method, url + query, data, headers) for url in (theirs, ours)]
        check(what, *replies)
        if method == 'GET' and query:
            pages = [written(reply) for reply in replies]
            assert pages[0] == pages[1]
            assert bool(pages[0]) == (what != 'no pages yet')
        elif method == 'GET' and what != 'bytes after the end':
            assert replies[0].content == replies[1].content


def test_an_etag_is_of_the_last_write(cloud, azurite):
    azurite.create_page_blob('tagged', SIZE)
    for url in azurite.access('tagged'), begin_upload(cloud, 'tagged', SIZE):
        def send(**headers):
            method, query, sent, data = write(0, 511, **headers)
            return cloud.send(method, url + query, data, sent)
        first = send()
        assert outcome(send(If_None_Match=first.headers['ETag'])) == (412, 'ConditionNotMet')
        second = send(If_Match=first.headers['ETag'])
        assert outcome(second) == (201, NO_CODE)
        assert outcome(send(If_Match=first.headers['ETag'])) == (412, 'ConditionNotMet')
        assert cloud.send('GET', url + '&comp=pagelist').headers['ETag'] == second.headers['ETag']


def test_a_wrong_signature_permits_nothing(cloud, azurite):
    azurite.create_page_blob('guarded', SIZE)
    urls = azurite.access('guarded'), begin_upload(cloud, 'guarded', SIZE)
    wrong = [re.sub('sig=.*', 'sig=AAAA', url) for url in urls]
    method, query, headers, data = write(0, 511)
    check('a wrong signature', *(cloud.send('GET', url + '&comp=pagelist') for url in wrong))
    check('a wrong signature for a write', *(cloud.send(method, url + query, data, headers) for url in wrong))
    check('no signature', *(cloud.send('GET', url.split('?')[0] + '?comp=pagelist') for url in urls))
    assert [written(cloud.send('GET', url + '&comp=pagelist')) for url in urls] == [set(), set()]


def test_what_does_not_exist(cloud, azurite):
    """The blob of a disk goes with the disk, its access policy before; so Azure refuses the signature."""
    ours = re.sub('/blob/[^/]*/', '/blob/none/', begin_upload(cloud, 'existing', SIZE))
    method, query, headers, data = write(0, 511)
    for theirs, code in ((azurite.access('none'), 'BlobNotFound'),
                         (azurite.access('none', container='none'), 'ContainerNotFound')):
        for reply in (cloud.send('GET', theirs + '&comp=pagelist'), cloud.send(method, theirs + query, data, headers)):
            assert outcome(reply) == (404, code)
    assert outcome(cloud.send('GET', ours + '&comp=pagelist')) == (403, 'AuthenticationFailed')
    assert outcome(cloud.send(method, ours + query, data, headers)) == (403, 'AuthenticationFailed')


def test_the_builder_uploads_to_it_and_resumes(with_images, cloud, azurite, tmp_path):
    """All ranges are there when the builder dies, so that it writes none after it has read their list."""
    azurite.create_page_blob('uploaded', 24 * MIB + 512)
    url = azurite.access('uploaded')
    cloud.set(upload=url)
    cloud.fail({'method': 'POST', 'path': '/endGetAccess', 'status': 503, 'times': 1000})
    calls = len(azurite.calls('PUT', 'comp=page'))
    launcher, builder = with_images()
    wait_until('all is written', lambda: cloud.calls().get('POST Microsoft.Compute/disks/endGetAccess'))
    wait_until('its log has both', lambda: len(azurite.calls('PUT', 'comp=page')) == calls + 2)
    assert azurite.calls('PUT', 'comp=page')[calls:] == [201, 201], 'the first range, and the footer'
    builder.kill()
    cloud.fail()
    lists = len(azurite.calls('GET', 'comp=pagelist'))
    builder.start()
    await_ready(launcher)
    assert azurite.calls('GET', 'comp=pagelist')[lists:] == [200]
    assert len(azurite.calls('PUT', 'comp=page')) == calls + 2
    assert cloud.send('GET', url).content == fixed_vhd(tmp_path / 'expected', 24, b'begins').read_bytes()
    assert cloud.resources('disks') == []
