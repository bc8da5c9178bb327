"""Images for Azure: built, uploaded, used and deleted by the programs."""
import pytest

from conftest import await_ready, delete_upload
from launcher import wait_until


@pytest.mark.smoke
def test_an_image_is_uploaded_used_and_deleted(with_images, cloud):
    launcher, builder = with_images()
    await_ready(launcher)
    (image,) = cloud.resources('images')
    assert image['tags'].items() >= {'team': 'infra', 'nodepool_provider_name': 'sky'}.items()
    assert cloud.calls()['PUT blob'] == 2, 'the first range, and the footer'
    assert cloud.resources('disks') == []
    lease = launcher.ask('built').lease()
    (machine,) = cloud.resources('virtualMachines')
    assert machine['properties']['storageProfile']['imageReference'] == {'id': image['id']}
    launcher.release(lease)
    launcher.await_no_nodes()
    delete_upload(launcher)
    wait_until('the image is gone', lambda: image['id'] not in [each['id'] for each in cloud.resources('images')])


def test_an_upload_goes_on_after_the_builder_has_died(with_images, cloud):
    cloud.fail({'method': 'PUT', 'path': '/blob/', 'delay': 5, 'after': 1})
    launcher, builder = with_images()
    wait_until('a range is there', lambda: cloud.calls().get('PUT blob', 0) == 2)
    builder.kill()
    builder.start()
    await_ready(launcher)
    assert cloud.calls()['PUT Microsoft.Compute/disks'] == 1
    assert cloud.calls()['GET blob'] == 1, 'the list of pages'
    assert cloud.resources('disks') == []


def test_an_upload_that_fails_leaves_nothing(with_images, cloud):
    cloud.fail({'method': 'PUT', 'path': '/images/', 'status': 409, 'code': 'InvalidVhd'})
    launcher, builder = with_images()
    wait_until('it has failed', lambda: 'InvalidVhd' in builder.log.read_text())
    await_ready(launcher)
    assert cloud.resources('disks') == []
    assert cloud.calls()['PUT Microsoft.Compute/disks'] == 2


def test_an_upload_that_is_cut_leaves_nothing(with_images, cloud):
    cloud.fail({'method': 'PUT', 'path': '/blob/', 'status': 403, 'code': 'AuthenticationFailed', 'times': 2})
    launcher, builder = with_images()
    wait_until('the disk has no footer', lambda: 'InvalidVhd' in builder.log.read_text())
    await_ready(launcher)
    assert cloud.resources('disks') == []
