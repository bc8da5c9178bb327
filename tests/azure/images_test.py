"""Images for Azure: built, uploaded, used and deleted by the programs."""
import json
import pathlib

import pytest

from conftest import KEY
from launcher import BINARIES, Daemon, wait_until

HERE = pathlib.Path(__file__).parent


class Builder(Daemon):
    """Beside a launcher, with its configuration."""

    def __init__(self, launcher):
        super().__init__(launcher.config.parent / 'builder.log', launcher.environment)
        self.config = launcher.config

    def daemon(self):
        return [BINARIES / 'nodepool-builder', '-f', '-c', self.config]


@pytest.fixture
def with_images(nodepool, sky, tmp_path):
    """A launcher and a builder of one image."""
    builders = []

    def start():
        launcher = nodepool(sky(labels=[{'name': 'built', 'diskimage': 'trixie', 'cloud-image': None}],
                                diskimages=[{'name': 'trixie', 'key': KEY, 'tags': {'team': 'infra'}}]))
        launcher.stop()
        content = json.loads(launcher.config.read_text())
        content.update({'images-dir': str(tmp_path / 'images'), 'build-log-dir': str(tmp_path / 'logs'),
                        'elements-dir': str(tmp_path), 'diskimages': [
                            {'name': 'trixie', 'dib-cmd': str(HERE / 'make_image'), 'username': 'ci'}]})
        launcher.config.write_text(json.dumps(content))
        launcher.start()
        (tmp_path / 'images').mkdir()
        builders.append(Builder(launcher))
        builders[-1].start()
        return launcher, builders[-1]

    yield start
    for builder in builders:
        builder.stop()
        print(f'--- {builder.log}\n{builder.log.read_text()}')


def await_ready(launcher):
    wait_until('the image is there', lambda: 'ready' in launcher.run('image-list'))


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
    (upload,) = json.loads(launcher.run('image-list', '-o', 'json'))
    launcher.run('image-delete', '--provider', 'sky', '--image', 'trixie', '--strict', '--build-id', upload['id'],
                 '--upload-id', upload['upload_id'])
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
