"""Stability (docs/stability.md): a version works with its predecessor on one store, and after a rollback."""
import sqlite3
import subprocess

import pytest

from aws_cloud import REGION
from installation import static_provider
from launcher import PATIENCE, CommandFailed, wait_until
from versions import CURRENT, NAMES, PREVIOUS

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
    return {'name': 'sky', 'driver': 'aws', 'region-name': REGION, 'rate': 100, 'launch-timeout': 120,
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
