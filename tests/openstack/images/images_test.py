"""Images: built by diskimage-builder, uploaded to Glance, booted, replaced, deleted; and what goes wrong."""
import hashlib
import signal
import subprocess

import pytest

from image_installation import HERE, mounted_below
from launcher import wait_until


def ids(images):
    return {image['id'] for image in images}


def external_ids(uploads):
    return {upload['external_id'] for upload in uploads}


def read_inside(image, path):
    """A file of an image, which is raw."""
    return subprocess.run(['/sbin/debugfs', '-R', f'cat {path}', image], text=True, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout


def glance_image(project, upload):
    return next(image for image in project.own_images() if image['id'] == upload['external_id'])


def image_of(project, node):
    """The id of the image that a node was made from."""
    return project.server(node['external_id'])['image']['id']


@pytest.mark.smoke
def test_an_image_is_built_uploaded_and_booted(nodepool, sky, project, tmp_path):
    installation = nodepool([sky({'name': 'tiny', 'meta': {'hw_disk_bus': 'virtio'}})], {'tiny': {}})
    installation.builder.start()
    installation.start()
    upload = installation.await_upload('tiny')

    image = glance_image(project, upload)
    content = installation.file(upload, 'qcow2').read_bytes()
    assert (image['name'], image['status'], image['disk_format']) == (
        upload['external_name'], 'active', 'qcow2')
    assert image['os_hash_value'] == hashlib.sha512(content).hexdigest()
    assert image['owner_specified.openstack.sha256'] == hashlib.sha256(content).hexdigest()
    properties = {'nodepool_provider_name': 'sky', 'nodepool_build_id': upload['id'],
                  'nodepool_upload_id': upload['upload_id'], 'hw_disk_bus': 'virtio'}
    assert {key: image[key] for key in properties} == properties
    raw = tmp_path / 'raw'
    subprocess.run(['qemu-img', 'convert', '-O', 'raw', installation.file(upload, 'qcow2'), raw], check=True)
    assert read_inside(raw, '/etc/hostname') == 'tiny\n'

    node = installation.launch('sky-tiny')
    assert image_of(project, node) == upload['external_id']
    assert node['username'] == 'ci'
    assert node['image_id'].endswith(f'{upload["id"]}/providers/sky/images/{upload["upload_id"]}')
    assert installation.aliens() == set()


def test_new_nodes_are_made_from_the_newest_upload_and_two_builds_stay(nodepool, sky, project):
    installation = nodepool([sky('tiny')], {'tiny': {}})
    installation.builder.start()
    installation.start()
    uploads = [installation.await_upload('tiny')]
    for _ in range(2):
        uploads.insert(0, installation.rebuild('tiny', besides=uploads))
        assert image_of(project, installation.launch('sky-tiny')) == uploads[0]['external_id']

    kept = external_ids(uploads[:2])
    wait_until('the oldest image is gone', lambda: ids(project.own_images()) == kept)
    builds = {upload['id'] for upload in uploads[:2]}
    wait_until('the oldest build is gone', lambda: {
        build['id'] for build in installation.builds('tiny')} == {f'tiny-{build}' for build in builds})
    assert external_ids(installation.uploads('tiny')) == kept
    assert installation.ids_of_files() == builds


def test_deleted_uploads_are_made_again_and_deleted_builds_are_not(nodepool, sky, project):
    installation = nodepool([sky('tiny')], {'tiny': {}})
    installation.builder.start()
    installation.start()
    older = installation.await_upload('tiny')
    newer = installation.rebuild('tiny', besides=[older])
    installation.run('image-pause', 'tiny')

    installation.run('image-delete', '--provider', 'sky', '--image', 'tiny', '--build-id', newer['id'],
                     '--upload-id', newer['upload_id'])
    again = installation.await_upload('tiny', besides=[older, newer])
    assert again['id'] == newer['id']
    wait_until('the deleted image is gone',
               lambda: ids(project.own_images()) == external_ids([older, again]))
    assert image_of(project, installation.launch('sky-tiny')) == again['external_id']

    installation.run('dib-image-delete', f'tiny-{newer["id"]}')
    wait_until('the deleted build is gone', lambda: [
        build['id'] for build in installation.builds('tiny')] == [f'tiny-{older["id"]}'])
    assert ids(project.own_images()) == external_ids([older])
    assert external_ids(installation.uploads('tiny')) == external_ids([older])
    assert installation.ids_of_files() == {older['id']}
    assert image_of(project, installation.launch('sky-tiny')) == older['external_id']


def test_each_provider_gets_the_format_that_its_cloud_wants(nodepool, sky, project):
    images = ['tiny', 'converted']
    installation = nodepool(
        [sky(*images), sky(*images, name='rawsky', cloud='fake-raw')],
        {'tiny': {}, 'converted': {'builder': 'command', 'command': str(HERE / 'make_qcow2')}})
    installation.builder.options = ['--build-workers', '2']
    installation.builder.start()
    installation.start()
    for image in images:
        uploads = {'qcow2': installation.await_upload(image), 'raw': installation.await_upload(image, 'rawsky')}
        for disk_format, upload in uploads.items():
            local = installation.file(upload, disk_format)
            assert glance_image(project, upload)['disk_format'] == disk_format
            assert project.content(upload['external_id']) == local.read_bytes()
        assert read_inside(installation.file(uploads['raw'], 'raw'), '/etc/hostname') == f'{image}\n'
        subprocess.run(['qemu-img', 'compare', '-f', 'qcow2', '-F', 'raw', *(
            installation.file(upload, disk_format) for disk_format, upload in uploads.items())], check=True)
    node = installation.launch('rawsky-converted')
    assert image_of(project, node) == uploads['raw']['external_id']


def failures(installation, image):
    """How many of its uploads have failed."""
    lines = installation.builder.log.read_text().splitlines()
    return sum('Uploading build' in line and f'of image {image} ' in line and ' failed: ' in line for line in lines)


def test_an_image_that_glance_refuses_holds_up_no_other(nodepool, sky, project):
    refused = {'name': 'refused', 'meta': {'os_glance_is_reserved': '1'}}
    installation = nodepool([sky(refused, 'tiny')], {'refused': {}, 'tiny': {}})
    installation.builder.options = ['--upload-workers', '1']
    installation.builder.start()
    upload = installation.await_upload('tiny')
    wait_until('the refused one is tried again', lambda: failures(installation, 'refused') >= 2)
    assert ids(project.own_images()) == {upload['external_id']}
    assert 'os_glance_is_reserved' in installation.builder.log.read_text()


def test_uploads_are_made_when_glance_is_back(nodepool, sky, cloud, project):
    installation = nodepool([sky('one', 'two')], {'one': {}, 'two': {}})
    with cloud.killed('glance-api'):
        installation.builder.start()
        wait_until('both are built, and could not be uploaded', lambda: all(
            failures(installation, image) for image in ('one', 'two')))
    uploads = [installation.await_upload(image) for image in ('one', 'two')]
    assert ids(project.own_images()) == external_ids(uploads)
    assert all(len(installation.builds(image)) == 1 for image in ('one', 'two'))


def test_the_upload_of_a_killed_builder_is_repeated_and_leaked_images_are_deleted(nodepool, sky, project):
    mine = {'nodepool_provider_name': 'rawsky', 'nodepool_build_id': '0' * 32, 'nodepool_upload_id': '0000000001',
            'visibility': 'private'}
    unmarked = project.upload_image('of nobody knows whom', b'0' * 1024, **mine)
    others = project.upload_image('of another', b'1' * 1024, **{**mine, 'nodepool_provider_name': 'sea'})
    strange = project.upload_image('of nobody', b'2' * 1024)
    # So large that it takes a second.
    installation = nodepool([sky('big', name='rawsky', cloud='fake-raw')],
                            {'big': {'env-vars': {'DIB_IMAGE_SIZE': '0.25'}}})
    installation.builder.start()
    begun = wait_until('Glance receives the image', lambda: next(
        (image for image in project.own_images() if image['status'] == 'saving'), None))
    installation.builder.kill()
    forgotten = project.upload_image(
        'forgotten', b'0' * 1024, **mine, nodepool_installation_id=begun['nodepool_installation_id'])
    (left,) = installation.uploads('big', 'rawsky')
    assert left['state'] == 'uploading'
    assert (begun['nodepool_build_id'], begun['nodepool_upload_id']) == (left['id'], left['upload_id'])

    installation.builder.start()
    upload = installation.await_upload('big', 'rawsky')
    assert upload['id'] == left['id']
    assert [known['external_id'] for known in installation.uploads('big', 'rawsky')] == [upload['external_id']]
    assert installation.aliens() == ids([unmarked, forgotten, others, begun])

    installation.start()
    kept = ids([unmarked, others, strange]) | {upload['external_id']}
    wait_until('what nobody knows is gone', lambda: ids(project.own_images()) == kept)
    assert installation.aliens() == ids([unmarked, others])


def loop_devices_of(directory):
    """Those of the files in a directory."""
    devices = subprocess.run(['losetup', '--list', '--noheadings', '--output', 'BACK-FILE'], text=True, check=True,
                             stdout=subprocess.PIPE).stdout
    return [file for file in devices.splitlines() if str(directory) in file]


def test_a_builder_that_is_stopped_leaves_no_mounts(nodepool, sky, project):
    installation = nodepool([sky('stuck')], {'stuck': {'elements': ['tiny', 'stuck']}})
    installation.builder.start()
    wait_until('the image is mounted', lambda: any(
        'The image is mounted.' in log.read_text() for log in installation.build_logs.glob('stuck-*.log')))
    assert mounted_below(installation.scratch)
    assert loop_devices_of(installation.scratch)
    installation.builder.stop(signal.SIGTERM)  # at once
    assert not mounted_below(installation.scratch)
    assert not loop_devices_of(installation.scratch)
    assert list(installation.images.glob('stuck-*')) == []
