"""Images for AWS: built, uploaded, used and deleted by the programs."""
import json

import pytest

from aws_cloud import tags
from cloud_builder import await_image, builders, delete_image
from launcher import wait_until


@pytest.fixture
def with_images(nodepool, sky, tmp_path):
    """A launcher and a builder of one image, whose entry in the provider is `options`."""
    with builders(tmp_path) as start:
        def make(options, filled=None, **provider):
            return start(nodepool(sky(
                labels=[{'name': 'built', 'diskimage': 'trixie', 'cloud-image': None}],
                diskimages=[{'name': 'trixie', 'tags': {'team': 'infra'}, **options}], **provider)), filled)
        yield make


@pytest.fixture
def bucket(cloud):
    cloud.s3.create_bucket(Bucket='images')
    return {'object-storage': {'bucket-name': 'images'}}


class Calls:
    """Those that are made from now on."""

    def __init__(self, cloud):
        self.cloud = cloud
        self.before = cloud.calls()

    def __getitem__(self, action):
        return self.cloud.calls().get(action, 0) - self.before.get(action, 0)


def expect_deletable(launcher, lease, cloud, image):
    """When nobody has a node of it any more."""
    delete_image(launcher, 'sky')
    launcher.release(lease)
    launcher.await_no_nodes()
    wait_until('the upload is gone', lambda: image['ImageId'] not in [each['ImageId'] for each in own_images(cloud)])


def uploads(launcher):
    return json.loads(launcher.run('image-list', '-o', 'json'))


def expect_first_upload(launcher):
    """The one that is ready is the one that was begun first."""
    log = launcher.builder.log.read_text()
    assert ' failed: ' not in log and 'abandoned by its builder' not in log
    (upload,) = uploads(launcher)
    assert upload['state'] == 'ready'


def own_images(cloud):
    return cloud.ec2.describe_images(Owners=['self'])['Images']


def own_snapshots(cloud):
    """Those that somebody's tags are on."""
    return [each for each in cloud.ec2.describe_snapshots(OwnerIds=['self'])['Snapshots'] if each.get('Tags')]


def expect_nothing_else(cloud):
    """Of the one image that there is, nothing is left but the image and its snapshot."""
    (image,) = own_images(cloud)
    (snapshot,) = own_snapshots(cloud)
    assert image['BlockDeviceMappings'][0]['Ebs']['SnapshotId'] == snapshot['SnapshotId']
    expect_empty_bucket(cloud)


def expect_empty_bucket(cloud):
    assert 'Contents' not in cloud.s3.list_objects_v2(Bucket='images')
    assert 'Uploads' not in cloud.s3.list_multipart_uploads(Bucket='images')


@pytest.mark.smoke
def test_an_image_is_built_uploaded_and_used(with_images, cloud):
    calls = Calls(cloud)
    launcher = with_images({'import-method': 'ebs-direct', 'architecture': 'arm64', 'volume-size': 20})
    await_image(launcher)
    lease = launcher.ask('built').lease()
    (node,) = lease['nodes']
    (image,) = own_images(cloud)
    assert image['RootDeviceName'] == '/dev/sda1'
    found = tags(image)
    assert (found['team'], found['nodepool_provider_name']) == ('infra', 'sky')
    assert image['Name'].startswith('trixie-')
    (instance,) = cloud.instances()
    assert instance['ImageId'] == image['ImageId']
    assert node['external_id'] == {'instance': instance['InstanceId']}
    assert node['username'] == 'ci'
    assert calls['PUT blocks'] == 2, 'what is empty is not sent'

    expect_deletable(launcher, lease, cloud, image)


@pytest.mark.parametrize('options', [{}, {'import-method': 'image'}], ids=['snapshot', 'image'])
def test_an_image_is_imported_and_used(with_images, bucket, cloud, options):
    calls = Calls(cloud)
    launcher = with_images({'architecture': 'arm64', **options}, **bucket)
    await_image(launcher)
    lease = launcher.ask('built').lease()
    (image,) = own_images(cloud)
    assert (tags(image)['team'], tags(image)['nodepool_provider_name']) == ('infra', 'sky')
    (snapshot,) = own_snapshots(cloud)
    assert tags(snapshot)['team'] == 'infra'
    (instance,) = cloud.instances()
    assert instance['ImageId'] == image['ImageId']
    expect_nothing_else(cloud)
    assert calls['ImportImage' if options else 'ImportSnapshot'] == 1
    assert calls['RegisterImage'] == (0 if options else 1)

    expect_deletable(launcher, lease, cloud, image)


def test_a_busy_import_service_is_waited_for(with_images, bucket, cloud):
    cloud.fail(ImportSnapshot=[{'status': 400, 'code': 'ResourceCountLimitExceeded'}])
    launcher = with_images({}, **bucket, **{'image-import-timeout': 300})
    await_image(launcher)
    expect_first_upload(launcher)


def test_an_answer_that_is_lost_is_looked_for(with_images, bucket, cloud):
    lost = {'status': 500, 'code': 'InternalError', 'done': True}
    cloud.fail(CreateMultipartUpload=[lost], CompleteMultipartUpload=[lost], ImportSnapshot=[lost],
               RegisterImage=[lost])
    launcher = with_images({}, **bucket)
    await_image(launcher)
    expect_first_upload(launcher)
    expect_nothing_else(cloud)


def killed_and_back(launcher, cloud):
    """What AWS had not carried out when the builder died never is."""
    launcher.builder.kill()
    cloud.hold()
    launcher.builder.start()
    await_image(launcher)
    expect_first_upload(launcher)


def test_a_builder_that_dies_sends_only_the_parts_that_are_missing(with_images, bucket, cloud):
    calls = Calls(cloud)
    cloud.hold(UploadPart=1)
    launcher = with_images({}, filled=20, **bucket)
    wait_until('the second part is on its way', lambda: calls['UploadPart'] >= 1 and cloud.s3.list_multipart_uploads(
        Bucket='images').get('Uploads'))
    wait_until('the first part is there', lambda: parts(cloud))
    killed_and_back(launcher, cloud)
    assert (calls['CreateMultipartUpload'], calls['ImportSnapshot']) == (1, 1)
    assert calls['UploadPart'] == 3
    expect_nothing_else(cloud)


def parts(cloud):
    (upload,) = cloud.s3.list_multipart_uploads(Bucket='images')['Uploads']
    return cloud.s3.list_parts(Bucket='images', Key=upload['Key'], UploadId=upload['UploadId']).get('Parts')


@pytest.mark.parametrize('method, call', [('snapshot', 'ImportSnapshot'), ('image', 'ImportImage')])
def test_a_builder_that_dies_while_an_import_runs_waits_for_it(with_images, bucket, cloud, method, call):
    calls = Calls(cloud)
    cloud.hold_imports(True)
    launcher = with_images({'import-method': method}, **bucket)
    wait_until('the import runs', lambda: calls[call])
    launcher.builder.kill()
    cloud.hold_imports(False)
    launcher.builder.start()
    await_image(launcher)
    expect_first_upload(launcher)
    assert (calls[call], calls['CreateMultipartUpload']) == (1, 1)
    expect_nothing_else(cloud)


def test_a_builder_that_dies_goes_on_with_the_blocks_of_a_snapshot(with_images, bucket, cloud):
    calls = Calls(cloud)
    cloud.hold(**{'PUT blocks': 15})
    launcher = with_images({'import-method': 'ebs-direct'}, filled=20, **bucket)
    wait_until('15 blocks are there', lambda: calls['PUT blocks'] == 15)
    (begun,) = own_snapshots(cloud)
    killed_and_back(launcher, cloud)
    (image,) = own_images(cloud)
    assert image['BlockDeviceMappings'][0]['Ebs']['SnapshotId'] == begun['SnapshotId']
    expect_nothing_else(cloud)


def test_what_a_builder_has_begun_that_never_comes_back_goes(with_images, bucket, cloud, tmp_path):
    calls = Calls(cloud)
    cloud.hold_imports(True)
    launcher = with_images({}, **bucket)
    wait_until('the import runs', lambda: calls['ImportSnapshot'])
    launcher.builder.kill()
    cloud.hold_imports(False)
    for file in (tmp_path / 'images').glob('trixie-*'):
        if file.is_file():
            file.unlink()
    launcher.builder.start()
    wait_until('nobody goes on with it', lambda: not uploads(launcher))
    wait_until('what was imported is gone', lambda: not own_snapshots(cloud) and 'Contents' not in
               cloud.s3.list_objects_v2(Bucket='images'), 300)
