"""Nodes on nodes, by the Python Nodepool and by this one: the same records, and each goes on with the other's."""
import json

import pytest

from installation import static_provider, wait_until

LABELS = ['small', 'large']
RACK = static_provider('rack', {'127.0.3.1': ['large']}, {'node-attributes': {'executor-zone': 'berlin'}})
OWNER = 'NodePool:metastatic:shares'
CLEANUP = 150  # seconds: the Python launcher looks once a minute what can be given back


def shares(**label):
    return {'name': 'shares', 'driver': 'metastatic',
            'pools': [{'name': 'main', 'node-attributes': {'team': 'a'},
                       'labels': [{'name': 'small', 'backing-label': 'large', 'max-parallel-jobs': 3,
                                   'grace-time': 0, **label}]}]}


def small_nodes(tree):
    return {id: node for id, node in tree.nodes().items() if node and node['provider'] == 'shares'}


def backing_node(tree):
    (found,) = [(id, node) for id, node in tree.nodes().items()
                if node and node['provider'] == 'rack' and node['state'] == 'in-use']
    return found


def without_times_and_names(node):
    """What does not differ from one run to the next."""
    changing = ('id', 'state_time', 'created_time', 'launcher', 'allocated_to', 'external_id', 'requestor', 'tenant_name')
    return {key: value for key, value in node.items() if key not in changing}


def lock_holders(tree, id):
    lock = f'/nodepool/nodes/{id}/lock'
    return [tree.client.get(f'{lock}/{name}')[0].decode() for name in tree.children(lock)]


def records_of(start, tree, zuul):
    """What there is when one small node is in use: the backing node, and the small one."""
    launcher = start([RACK, shares()], LABELS)
    tree.await_ready(1)
    nodes = zuul.accept(zuul.ask('small'))
    zuul.use(nodes)
    id, backing = backing_node(tree)
    (small_id, small), = small_nodes(tree).items()
    holders = lock_holders(tree, id)
    places = {'node': small['external_id'] == small_id, 'driver_data': small['driver_data']['node'] == small_id,
              'backing_node': small['driver_data']['backing_node'] == id}
    zuul.give_back(nodes)
    wait_until('the small node is gone', lambda: not small_nodes(tree))
    launcher.stop()
    return backing, small, holders, places


def test_the_records_are_the_same(ours, theirs, tree, more_zuuls):
    their_backing, their_small, their_holders, their_places = records_of(theirs, tree, more_zuuls())
    tree.clear()  # ids begin anew: another Zuul, which knows none of them
    backing, small, holders, places = records_of(ours, tree, more_zuuls())
    assert holders == their_holders == [OWNER]
    assert places == their_places == dict.fromkeys(places, True)

    said, they_said = (json.loads(record.pop('user_data')) for record in (backing, their_backing))
    assert list(said)[:5] == list(they_said)  # what is added comes after it
    assert said.pop('launched') > 0 and they_said.pop('launched') > 0
    assert {key: said[key] for key in they_said} == they_said
    assert without_times_and_names(backing) == without_times_and_names(their_backing)

    assert small.pop('user_data').keys() == their_small.pop('user_data').keys()  # Zuul's
    data, their_data = small.pop('driver_data'), their_small.pop('driver_data')
    assert data.keys() == their_data.keys()
    metadata = {**data['metadata'], 'nodepool_node_id': ''}
    assert metadata.items() >= {**their_data['metadata'], 'nodepool_node_id': ''}.items()
    assert data['slot'] == their_data['slot'] == small['slot'] == 0
    assert without_times_and_names(small) == without_times_and_names(their_small)


@pytest.mark.parametrize('way', ['there', 'back'])
def test_either_adopts_the_backing_node_of_the_other(ours, theirs, tree, zuul, way):
    before, after = (theirs, ours) if way == 'there' else (ours, theirs)
    old = before([RACK, shares()], LABELS)
    tree.await_ready(1)
    in_use = [zuul.accept(zuul.ask('small')) for _ in range(2)]
    for nodes in in_use:
        zuul.use(nodes)
    old.stop()
    id, _ = backing_node(tree)
    after([RACK, shares()], LABELS)
    more = zuul.accept(zuul.ask('small'))
    zuul.use(more)
    assert backing_node(tree)[0] == id
    assert sorted(node['slot'] for node in small_nodes(tree).values()) == [0, 1, 2]
    for nodes in [*in_use, more]:
        zuul.give_back(nodes)
    wait_until('the small nodes are gone', lambda: not small_nodes(tree))
    wait_until('the backing node has been given back', lambda: id not in tree.nodes(), CLEANUP)
    tree.await_ready(1)


@pytest.mark.parametrize('who', ['ours', 'theirs'])
def test_the_backing_node_may_be_of_the_other(ours, theirs, tree, zuul, who):
    on_top, below = (ours, theirs) if who == 'ours' else (theirs, ours)
    below([RACK], LABELS)
    on_top([shares()], LABELS)
    tree.await_ready(1)
    in_use = [zuul.accept(zuul.ask('small')) for _ in range(3)]
    assert len(small_nodes(tree)) == 3
    backing_node(tree)
    for nodes in in_use:
        zuul.use(nodes)
        zuul.give_back(nodes)
    wait_until('the small nodes are gone', lambda: not small_nodes(tree))
    if who == 'ours':  # that theirs gives it back, too, takes a minute and another test
        tree.await_ready(1)
