"""Both projects' commands on both projects' records."""
import contextlib
import json

import pytest

from installation import static_provider, wait_until
from python_nodepool_test import LABELS, hosts, test_provider


@pytest.fixture
def rack(ours, tree):
    launcher = ours([static_provider('rack', hosts(4, ['rack-only']))], LABELS)
    tree.await_ready(4)
    return launcher


@pytest.fixture
def shelf(theirs, tree, rack):
    """Their launcher with two hosts, beside ours."""
    launcher = theirs([static_provider('shelf', {'127.0.2.0': ['cloud-only'], '127.0.2.1': ['cloud-only']})], LABELS)
    tree.await_ready(6)
    return launcher


def comparable(rows):
    """In one order, without what changes between two looks."""
    rows = [{column: cell for column, cell in row.items() if column != 'Age'} for row in rows]
    return sorted(rows, key=lambda row: list(row.values()))


def requests(tree):
    return {id: tree.record(f'/nodepool/requests/{id}') for id in tree.children('/nodepool/requests')}


def at_one_moment(tree, look):
    """What look() returns when no request has changed meanwhile."""
    def unchanged():
        before = requests(tree)
        seen = look()
        return seen if requests(tree) == before else None
    return wait_until('no request changes while one looks', unchanged)


def node_of(tree, provider):
    return next(id for id, node in tree.nodes().items() if node['provider'] == provider)


def gone(tree, id):
    return lambda: tree.record(f'/nodepool/nodes/{id}') is None


@pytest.mark.smoke
def test_both_print_the_same_nodes(tree, zuul, rack, shelf):
    with zuul.nodes('rack-only'), zuul.nodes('cloud-only'):
        for arguments in (['list'], ['list', '--detail']):
            ours, theirs = comparable(rack.rows(*arguments)), comparable(shelf.rows(*arguments))
            assert len(theirs) == 6
            assert ours == theirs
    tree.await_ready(6)


@pytest.mark.smoke
def test_both_print_the_same_requests(tree, zuul, rack, shelf):
    with zuul.nodes('cloud-only', 'cloud-only'), zuul.nodes('rack-only', 'rack-only', 'rack-only'):
        waiting = [zuul.ask('cloud-only'), zuul.ask('rack-only', 'rack-only'), zuul.ask('rack-only')]
        zuul.answer(waiting[-1])
        ours, theirs = at_one_moment(tree, lambda: [
            comparable(launcher.rows('request-list')) for launcher in (rack, shelf)])
        assert len(theirs) == 3
        assert ours == theirs
        for request in waiting:
            zuul.nodepool.cancelRequest(request)
    tree.await_ready(6)


def test_both_print_the_same_of_a_provider(tree, rack, shelf):
    for provider in ('rack', 'shelf'):
        ours, theirs = comparable(rack.rows('info', provider)), comparable(shelf.rows('info', provider))
        assert len(theirs) >= 2
        assert ours == theirs


def test_our_hold_and_delete_on_their_nodes(tree, zuul, rack, shelf):
    node = node_of(tree, 'shelf')
    rack.run('hold', node)
    assert tree.record(f'/nodepool/nodes/{node}')['state'] == 'hold'
    assert tree.children(f'/nodepool/nodes/{node}/lock') == []
    rack.run('delete', node)
    wait_until('their launcher has taken the node back', gone(tree, node))
    tree.await_ready(6)


def test_their_hold_and_delete_on_our_nodes(tree, zuul, rack, shelf):
    node = node_of(tree, 'rack')
    shelf.run('hold', node)
    assert tree.record(f'/nodepool/nodes/{node}')['state'] == 'hold'
    # Theirs lists the node at the end, and fails if it is gone by then.
    with contextlib.suppress(RuntimeError):
        shelf.run('delete', node)
    wait_until('our launcher has taken the node back', gone(tree, node))
    tree.await_ready(6)


def test_a_node_in_use_is_locked_for_the_others_command(tree, zuul, rack, shelf):
    with zuul.nodes('cloud-only') as (node,):
        with pytest.raises(RuntimeError, match='lock'):
            rack.run('hold', node.id)
    with zuul.nodes('rack-only') as (node,):
        with pytest.raises(RuntimeError, match='lock'):
            shelf.run('hold', node.id)
        assert tree.record(f'/nodepool/nodes/{node.id}')['state'] == 'in-use'
    tree.await_ready(6)


def test_our_requestor_is_served_by_their_launcher(tree, rack, shelf):
    lease = rack.run('request', 'cloud-only', '--lease', '10m', '--json')
    assert '"shelf"' in lease
    rack.run('release', json.loads(lease)['lease'])
    tree.await_ready(6)
