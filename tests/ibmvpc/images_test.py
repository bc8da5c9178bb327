"""Images for IBM Cloud VPC: built, uploaded, used and deleted by the programs. Every call is judged."""
import re

import pytest

from ibm_catalog import BUCKET
from cloud_builder import await_image, builders, delete_image
from launcher import wait_until

GROUP = 'npimages_dallas'


@pytest.fixture
def with_images(nodepool, dallas, cloud, tmp_path):
    """Starts a launcher and a builder of one image: with_images(filled=None, …)."""
    with builders(tmp_path) as start:
        def make(filled=None, **provider):
            storage = {'instance-name': 'ci-storage', 'endpoint': cloud.storage_url, 'bucket-name': BUCKET}
            return start(nodepool(dallas(
                labels=[{'name': 'built', 'diskimage': 'trixie', 'cloud-image': None}],
                diskimages=[{'name': 'trixie', 'operating-system': 'debian-12-amd64'}],
                **{'object-storage': storage, **provider})), filled)
        yield make


def own_images(cloud):
    return [image for image in cloud.things('images').values() if image['resource_group']['name'] == GROUP]


def expect_nothing_in_the_bucket(cloud):
    assert list(cloud.objects()) == [f'{BUCKET}/README']


@pytest.mark.smoke
def test_an_image_is_uploaded_used_and_deleted(with_images, cloud):
    launcher = with_images()
    await_image(launcher)
    (image,) = own_images(cloud)
    assert re.fullmatch('npimage-[0-9]{10}-[0-9a-f]{32}-[0-9a-f]{10}', image['name'])
    assert GROUP in cloud.groups()
    (create,) = cloud.exchanges('create_image')
    assert create['body'] == {
        'name': image['name'], 'resource_group': {'id': image['resource_group']['id']},
        'file': {'href': f'cos://us-south/{BUCKET}/{image["name"]}.qcow2'},
        'operating_system': {'name': 'debian-12-amd64'}}
    expect_nothing_in_the_bucket(cloud)
    lease = launcher.ask('built').lease()
    ((_, instance),) = cloud.things('instances').items()
    assert instance['image']['id'] == image['id']
    (call,) = cloud.exchanges('create_instance')
    assert call['body']['keys'] == []
    launcher.release(lease)
    launcher.await_no_nodes()
    delete_image(launcher, 'dallas')
    wait_until('the image is gone', lambda: image['id'] not in [each['id'] for each in own_images(cloud)])


def test_an_upload_goes_on_after_the_builder_has_died(with_images, cloud):
    cloud.hold(storage_put=1)
    launcher = with_images(filled=20)
    wait_until('a part is there, others are on their way', lambda: cloud.held('storage_put') == 2)
    launcher.builder.kill()
    cloud.hold()
    launcher.builder.start()
    await_image(launcher)
    assert len(cloud.exchanges('create_image')) == len(own_images(cloud)) == 1
    assert len([each for each in cloud.exchanges('storage_put') if each['status'] == 200]) == 3
    expect_nothing_in_the_bucket(cloud)


def test_an_import_goes_on_after_the_builder_has_died(with_images, cloud):
    cloud.set(importing=5)
    launcher = with_images()
    wait_until('it is imported', lambda: own_images(cloud))
    launcher.builder.kill()
    launcher.builder.start()
    await_image(launcher)
    assert len(cloud.exchanges('create_image')) == len(own_images(cloud)) == 1
    expect_nothing_in_the_bucket(cloud)


def test_answers_that_are_lost_are_looked_for(with_images, cloud):
    cloud.fail(create_image=[{'done': True, 'drop': True}], create_resource_group=[{'done': True, 'drop': True}],
               storage_post=[{'drop': True}], storage_put=[{'drop': True}], storage_delete=[{'drop': True}])
    launcher = with_images(filled=10)
    await_image(launcher)
    assert len(cloud.exchanges('create_image')) == len(own_images(cloud)) == 1
    expect_nothing_in_the_bucket(cloud)


def test_an_import_that_fails_leaves_nothing(with_images, cloud):
    cloud.set(import_error='image_data_corrupted')
    launcher = with_images()
    wait_until('it has failed', lambda: 'The image data is corrupt' in launcher.builder.log.read_text())
    cloud.set(import_error=None)
    await_image(launcher)
    assert len(own_images(cloud)) == 1
    expect_nothing_in_the_bucket(cloud)


def test_without_permission_for_images_the_upload_says_so(with_images, cloud):
    cloud.set(denied=['create_image'])
    launcher = with_images()
    wait_until('it is refused', lambda: 'create image' in launcher.builder.log.read_text())
    assert 'not authorized' in launcher.builder.log.read_text()
    cloud.set(denied=[])
    await_image(launcher)
