"""Images: built by a program, uploaded to the hosts, booted, replaced, deleted."""
import json
import pathlib

import pytest

from launcher import BINARIES, PATIENCE, Daemon, wait_until
from machines import place

HERE = pathlib.Path(__file__).parent


class Builder(Daemon):
    """Beside a launcher, with its configuration."""

    def __init__(self, launcher):
        super().__init__(launcher.config.parent / 'builder.log', launcher.environment)
        self.config = launcher.config

    def daemon(self):
        return [BINARIES / 'nodepool-builder', '-f', '-c', self.config]


@pytest.fixture
def with_images(nodepool, rack, image, tmp_path):
    """A launcher and a builder of the image `built`: with_images([host, …])."""
    builders = []

    def start(hosts, **more):
        for name in 'images', 'logs':
            (tmp_path / name).mkdir()
        launcher = nodepool(
            rack(hosts, labels=[{'name': 'built', 'diskimage': 'built', 'cloud-image': None}],
                 diskimages=[{'name': 'built'}], **more),
            diskimages=[{'name': 'built', 'builder': 'command', 'command': str(HERE / 'copy_image'), 'username': 'debian',
                         'env-vars': {'IMAGE': str(image)}}],
            **{'images-dir': str(tmp_path / 'images'), 'build-log-dir': str(tmp_path / 'logs')})
        builders.append(Builder(launcher))
        builders[-1].start()
        return launcher, builders[-1]

    yield start
    for builder in builders:
        builder.stop()
        print(f'--- {builder.log}\n{builder.log.read_text()}')


def uploads(launcher):
    return json.loads(launcher.run('image-list', '--json'))


def await_ready(launcher, besides=()):
    """An upload that is ready, and not one of these."""
    known = [upload['external_id'] for upload in besides]
    return wait_until('the image is there', lambda: next((
        upload for upload in uploads(launcher)
        if upload['state'] == 'ready' and upload['external_id'] not in known), None))


def volumes_of_images(host):
    return {name for name in host.volumes() - {'base.qcow2'} if not name.startswith('np')}


@pytest.mark.smoke
def test_an_image_is_uploaded_to_all_hosts_and_used(with_images, hosts, login):
    launcher, _ = with_images(hosts)
    upload = await_ready(launcher)
    names = [volumes_of_images(host) for host in hosts]
    assert names[0] == names[1]
    assert len(names[0]) == 1
    nodes = launcher.ask('built', 'built').lease()['nodes']
    assert {place(node)[0] for node in nodes} == {host.name for host in hosts}
    for node in nodes:
        assert login.run(node, 'hostname') == f'np{node["id"]}'
        assert node['image_id'].endswith(f'{upload["id"]}/providers/rack/images/{upload["upload_id"]}')


def test_an_image_is_replaced_and_stays_while_it_is_used(with_images, host, login):
    launcher, _ = with_images([host])
    seen = [await_ready(launcher)]
    (first,) = volumes_of_images(host)
    lease = launcher.ask('built').lease()
    for _ in range(2):
        launcher.run('image-build', 'built')
        seen.append(await_ready(launcher, besides=seen))
    (newer,) = launcher.ask('built').lease()['nodes']
    assert newer['image_id'].endswith(f'{seen[-1]["id"]}/providers/rack/images/{seen[-1]["upload_id"]}')
    assert first in volumes_of_images(host)
    (node,) = lease['nodes']
    assert login.run(node, 'hostname') == f'np{node["id"]}'
    launcher.release(lease)
    wait_until('the oldest image is gone', lambda: first not in volumes_of_images(host))
    assert len(volumes_of_images(host)) == 2


def test_an_image_is_not_on_a_host_whose_storage_pool_is_full(with_images, hosts, small_host, login):
    launcher, builder = with_images([hosts[0], small_host])
    first = await_ready(launcher)
    (line,) = [line for line in builder.log.read_text().splitlines() if 'has not stored all' in line]
    assert f'is not on host {small_host.name}' in line
    assert (len(volumes_of_images(hosts[0])), volumes_of_images(small_host)) == (1, set())
    nodes = launcher.ask('built', 'built').lease()['nodes']
    assert {place(node)[0] for node in nodes} == {hosts[0].name}
    small_host.virsh('vol-delete', 'base.qcow2', '--pool', 'default')
    launcher.run('image-build', 'built')
    await_ready(launcher, besides=[first])
    assert len(volumes_of_images(small_host)) == 1
    nodes += launcher.ask('built').lease()['nodes']
    assert place(nodes[-1])[0] == small_host.name
    for node in nodes:
        assert login.run(node, 'hostname') == f'np{node["id"]}'


def test_an_upload_of_a_killed_builder_is_repeated(with_images, host, login):
    launcher, builder = with_images([host])
    wait_until('the upload has begun', lambda: [each['state'] for each in uploads(launcher)] == ['uploading'])
    builder.kill()
    builder.start()
    await_ready(launcher)
    wait_until('nothing is left of the first one', lambda: len(volumes_of_images(host)) == 1)
    (node,) = launcher.ask('built').lease()['nodes']
    assert login.run(node, 'hostname') == f'np{node["id"]}'


def test_an_upload_is_repeated_after_libvirtd_was_killed_and_no_part_stays(with_images, host):
    # Seconds between the calls of the upload: to create the volume, and to write it.
    launcher, builder = with_images([host], rate=0.2)

    def parts():  # without libvirtd
        return {path.name for path in (host.folder / 'pool').iterdir()} - {'base.qcow2'}
    wait_until('the volume has been created', parts)
    host.kill_daemon()
    wait_until('the upload has failed', lambda: 'Error deleting a part of image' in builder.log.read_text())
    (part,) = parts()
    host.start_daemon()
    await_ready(launcher)
    wait_until('the part is gone', lambda: part not in volumes_of_images(host), 2 * PATIENCE)
    assert len(volumes_of_images(host)) == 1
