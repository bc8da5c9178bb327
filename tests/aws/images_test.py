"""Images for AWS: built, uploaded, used and deleted by the programs."""
import json
import pathlib

import pytest

from aws_cloud import tags
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

    def start(**options):
        provider = sky(labels=[{'name': 'built', 'diskimage': 'trixie', 'cloud-image': None}], diskimages=[
            {'name': 'trixie', 'import-method': 'ebs-direct', 'tags': {'team': 'infra'}, **options}])
        launcher = nodepool(provider)
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
        return launcher

    yield start
    for builder in builders:
        builder.stop()
        print(f'--- {builder.log}\n{builder.log.read_text()}')


def own_images(cloud):
    return cloud.ec2.describe_images(Owners=['self'])['Images']


def test_an_image_is_built_uploaded_and_used(with_images, cloud):
    before = cloud.calls()
    launcher = with_images(architecture='arm64', **{'volume-size': 20})
    wait_until('the image is there', lambda: 'ready' in launcher.run('image-list'))
    lease = launcher.ask('built').lease()
    (node,) = lease['nodes']
    (image,) = own_images(cloud)
    assert image['RootDeviceName'] == '/dev/sda1'
    found = tags(image)
    assert (found['team'], found['nodepool_provider_name']) == ('infra', 'sky')
    assert image['Name'].startswith('trixie-')
    (instance,) = cloud.instances()
    assert instance['ImageId'] == image['ImageId']
    assert node['external_id'] == instance['InstanceId']
    assert node['username'] == 'ci'
    calls = cloud.calls()
    assert calls['PUT blocks'] - before.get('PUT blocks', 0) == 2, 'what is empty is not sent'

    (upload,) = json.loads(launcher.run('image-list', '-o', 'json'))
    launcher.run('image-delete', '--provider', 'sky', '--image', 'trixie', '--strict', '--build-id',
                 upload['id'], '--upload-id', upload['upload_id'])
    launcher.release(lease)
    launcher.await_no_nodes()
    wait_until('the upload is gone', lambda: image['ImageId'] not in [each['ImageId'] for each in own_images(cloud)])
