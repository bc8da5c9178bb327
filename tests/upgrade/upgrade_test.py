"""Stability (docs/stability.md): a version works with its predecessor on one store, and after a rollback."""
import sqlite3
import subprocess

import pytest

from aws_cloud import REGION
from installation import static_provider
from launcher import PATIENCE, CommandFailed, wait_until
from versions import CURRENT, NAMES, PREVIOUS, ApiClient

WAYS = pytest.mark.parametrize('before, after', [(PREVIOUS, CURRENT), (CURRENT, PREVIOUS)], ids=['upgrade', 'rollback'])
EACH = pytest.mark.parametrize('binaries', [PREVIOUS, CURRENT], ids=NAMES.get)


def rack(count):
    return static_provider('rack', {f'127.0.1.{number}': ['small'] for number in range(count)})


def test_leases_and_waiting_requests_outlive_an_upgrade_and_a_rollback(launcher, store):
    ours = launcher(store, rack(3))
    ours.start(PREVIOUS)
    ours.await_ready(3)
    leases = [ours.ask('small').lease() for _ in range(2)]
    waiting = ours.ask('small', 'small')  # its command has the previous version until the end
    wait_until('the request is recorded', lambda: len(ours.rows('request-list')) == 1)
    before = ours.states()
    for binaries in (CURRENT, PREVIOUS, CURRENT):
        ours.exchange(binaries)
        assert ours.states() == before
        assert ours.leases() == sorted(lease['lease'] for lease in leases)
        assert waiting.is_waiting()
    ours.release(leases[0])
    assert len(waiting.lease()['nodes']) == 2
    ours.run('release', '--all')
    ours.await_ready(3)
    node = leases[0]['nodes'][0]['id']
    assert 'in-use' in ours.run('history', node)  # written by the previous version


@WAYS
def test_a_lease_of_one_version_is_released_by_the_other(launcher, store, before, after):
    ours = launcher(store, rack(1))
    ours.start(before)
    ours.await_ready(1)
    lease = ours.ask('small').lease()
    ours.exchange(after)
    ours.run('renew', lease['lease'], '--lease', '3h')
    ours.release(lease)
    ours.await_ready(1)
    ours.release(ours.ask('small').lease())
    ours.await_ready(1)


def test_both_versions_serve_one_zookeeper(launcher, zookeeper):
    first, second = (launcher(zookeeper, rack(6)) for _ in range(2))  # for three requests at once, in any order
    first.start(PREVIOUS)
    first.await_ready(6)
    second.start(CURRENT)
    for _ in range(5):
        requests = [each.ask('small', 'small') for each in (first, second, first)]
        for request in requests:
            first.release(request.lease())
    second.await_ready(6)
    assert first.states() == second.states()


def sky():
    image = {'cloud-image': 'debian', 'key-name': 'ci'}
    return {'name': 'sky', 'driver': 'aws', 'region-name': REGION, 'rate': 100, 'launch-timeout': PATIENCE,
            'cloud-images': [{'name': 'debian', 'username': 'ci', 'image-filters': [
                {'name': 'owner-alias', 'values': ['amazon']}, {'name': 'architecture', 'values': ['x86_64']}]}],
            'pools': [{'name': 'main', 'host-key-checking': False,
                       'labels': [{'name': 'small', 'instance-type': 't3.medium', **image}]}]}


@WAYS
def test_the_other_version_resumes_a_launch(launcher, store, cloud, before, after):
    ours = launcher(store, sky(), environment=cloud.environment())
    ours.start(before)
    request = ours.ask('small')
    wait_until('an instance is created', cloud.instances)
    ours.kill()
    ours.start(after)
    (node,) = request.lease()['nodes']
    assert [instance['InstanceId'] for instance in cloud.instances()] == [node['external_id']['instance']]
    ours.run('release', '--all')
    ours.await_no_nodes()


def expect_in_use(launchers, leases, cloud):
    """Every node of every lease, with a machine of its own; and there are no other nodes, leases and machines."""
    nodes = [node for lease in leases for node in lease['nodes']]
    for each in launchers:
        assert each.states() == {node['id']: 'in-use' for node in nodes}
        assert each.leases() == sorted(lease['lease'] for lease in leases)
    machines = sorted(node['external_id']['instance'] for node in nodes)
    assert machines == sorted(instance['InstanceId'] for instance in cloud.instances())


def test_launchers_are_upgraded_and_rolled_back_one_at_a_time(launcher, zookeeper, cloud, tmp_path):
    sockets = [tmp_path / f'{number}.socket' for number in range(2)]
    pair = [launcher({**zookeeper, **ApiClient.keys(socket)}, sky(), environment=cloud.environment())
            for socket in sockets]
    for each in pair:
        each.start(PREVIOUS)
    requestors = [*pair, ApiClient(pair[0], sockets)]
    leases = [each.ask('small').lease() for each in requestors]
    for binaries in (CURRENT, PREVIOUS):
        for exchanged in pair:
            cloud.hold_boots(True)
            requests = [each.ask('small', 'small') for each in requestors]
            wait_until('the machines boot', lambda: len(cloud.instances('pending')) == 2 * len(requests))
            exchanged.exchange(binaries)
            assert all(request.is_waiting() for request in requests)
            cloud.hold_boots(False)
            leases += [request.lease() for request in requests]
            expect_in_use(pair, leases, cloud)
    for lease in leases:
        pair[0].release(lease)
    pair[0].await_no_nodes()
    wait_until('the machines are gone', lambda: not cloud.instances())


@WAYS
def test_a_builder_of_the_other_version_keeps_images_and_repeats_an_interrupted_build(
        builder, tree, images, workshop, before, after):
    victim, survivor = builder(), builder()
    victim.start(before)
    made = images.await_made('deb')
    build, uploads = images.builds('deb')[made], images.uploads('deb')
    workshop.order('hold-build')
    victim.run('image-build', 'deb')
    left = images.await_build('deb', 'building', {made})
    survivor.start(after)
    wait_until('the survivor is there', lambda: len(tree.children('/nodepool/components/builder')) == 2)
    victim.kill()
    repeated = images.await_build('deb', 'building', {made, left})
    assert images.builds('deb')[repeated]['builder_id'] == survivor.id()
    workshop.cancel('hold-build')
    assert images.await_made('deb', {made}) == repeated
    wait_until('the interrupted build is gone', lambda: set(images.builds('deb')) == {made, repeated})
    victim.start(after)
    wait_until('its files are gone', lambda: victim.builds_on_disk() == {f'deb-{made}'})
    assert images.builds('deb')[made] == build
    assert uploads.items() <= images.uploads('deb').items()


@EACH
def test_a_key_of_another_version_is_named(launcher, sqlite, binaries):
    ours = launcher({**sqlite, 'key-of-another-version': 1}, rack(1))
    ours.binaries = binaries
    with pytest.raises(CommandFailed, match='key-of-another-version'):
        ours.run('config-validate')
    ours.start()
    ours.await_ready(1)
    assert 'key-of-another-version' in ours.log.read_text()


@EACH
def test_a_store_of_another_format_is_refused_with_a_sentence(launcher, sqlite, tmp_path, binaries):
    ours = launcher(sqlite, rack(1))
    ours.start(binaries)
    ours.await_ready(1)
    assert ours.stop() == 0
    with sqlite3.connect(tmp_path / 'nodepool.db') as database:
        database.execute('PRAGMA user_version = 99')
    done = subprocess.run(ours.daemon(), env=ours.environment, text=True, capture_output=True, timeout=PATIENCE)
    assert done.returncode == 1
    assert 'the store has format 99' in done.stdout + done.stderr
