"""The steps of docs/migrating.md: from the Python Nodepool to this one and back, while Zuul works."""
import json
import subprocess

import pytest
from zuul import model

from installation import static_provider, wait_until
from launcher import BINARIES
from python_nodepool_test import hosts

LABELS = ['small', 'large']


@pytest.fixture
def rack():
    """Two hosts of one label: one is in use while the launchers are exchanged."""
    return [static_provider('rack', hosts(2, ['small']))]


@pytest.mark.parametrize('way', ['there', 'back'])
def test_nodes_in_use_and_requests_that_wait_outlive_the_exchange(ours, theirs, tree, zuul, rack, way):
    before, after = (theirs, ours) if way == 'there' else (ours, theirs)
    old = before(rack, LABELS)
    tree.await_ready(2)
    in_use = [zuul.accept(zuul.ask('small')) for _ in range(2)]
    for nodes in in_use:
        zuul.use(nodes)
    ids = sorted(tree.nodes())
    waiting = zuul.ask('small')
    old.stop()
    after(rack, LABELS)
    assert sorted(tree.nodes()) == ids
    assert tree.record(f'/nodepool/requests/{waiting.id}')['state'] in ('requested', 'pending')
    zuul.give_back(in_use[0])
    assert zuul.answer(waiting).state == model.STATE_FULFILLED
    nodes = zuul.accept(waiting)
    zuul.use(nodes)
    zuul.give_back(nodes)
    zuul.give_back(in_use[1])
    tree.await_ready(2)


def test_the_files_are_taken_as_they_are(theirs, tree, rack):
    launcher = theirs(rack, LABELS)
    tree.await_ready(2)
    for arguments in (['config-validate'], ['list'], ['request-list'], ['status', '-o', 'json']):
        done = subprocess.run([BINARIES / 'nodepool', '-c', launcher.config, *arguments], text=True,
                              capture_output=True, timeout=60)
        # A Python launcher says less of itself than `status` would like to know.
        assert done.returncode in ((0, 1) if arguments[0] == 'status' else (0,)), done.stdout + done.stderr
    pools = json.loads(subprocess.run([BINARIES / 'nodepool', '-c', launcher.config, 'label-list', '-o', 'json'],
                                      text=True, capture_output=True, check=True, timeout=60).stdout)
    assert {row['label'] for row in pools} == {'small'}


def test_leases_stay_in_use_after_a_return_to_the_python_nodepool(ours, theirs, tree, zuul, rack):
    own = ours(rack, LABELS)
    tree.await_ready(2)
    lease = json.loads(own.run('request', 'small', '--lease', '1s', '--json'))
    own.stop()
    theirs(rack, LABELS)
    node = lease['nodes'][0]['id']
    nodes = zuul.accept(zuul.ask('small'))  # the other one
    zuul.use(nodes)
    zuul.give_back(nodes)
    assert tree.record(f'/nodepool/nodes/{node}')['state'] == 'in-use'
    own.run('release', lease['lease'])
    wait_until('the node is back', lambda: len([id for id in tree.nodes() if id != node]) >= 1)
    tree.await_ready(2)
