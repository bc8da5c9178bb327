"""Zuul's own classes as the requestor of this project's launcher."""
import concurrent.futures
import contextlib
import threading
import time

import pytest
from zuul import model

from installation import static_provider, wait_until

HOSTS = {f'127.0.1.{number}': ['a', 'b'] if number % 2 else ['a'] for number in range(20)}


@pytest.fixture
def rack(ours, tree):
    """A launcher with 20 hosts: all have label a, every other one b too."""
    launcher = ours([static_provider('rack', HOSTS)], ['a', 'b', 'nobody-has-it'])
    tree.await_ready(len(HOSTS))
    return launcher


@pytest.fixture
def one_host(ours, tree):
    launcher = ours([static_provider('rack', {'127.0.1.1': ['a']})], ['a'])
    tree.await_ready(1)
    return launcher


def in_parallel(jobs, times, job):
    """Does job() many times, some at once; returns the results."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return [future.result() for future in [pool.submit(job, number) for number in range(times)]]


class Occupancy:
    """Which hosts are in use: one that two have at a time is an error."""

    def __init__(self):
        self._lock = threading.Lock()
        self._used = set()

    @contextlib.contextmanager
    def of(self, hosts):
        with self._lock:
            shared = hosts & self._used
            self._used |= hosts
        try:
            assert not shared, f'used by two at a time: {shared}'
            yield
        finally:
            with self._lock:
                self._used -= hosts - shared


def test_a_host_that_two_have_at_a_time_is_noticed():
    occupancy = Occupancy()
    with occupancy.of({'x', 'y'}):
        with pytest.raises(AssertionError, match='used by two'), occupancy.of({'y', 'z'}):
            pass
        with pytest.raises(AssertionError, match='used by two'), occupancy.of({'y'}):
            pass
        with occupancy.of({'z'}):
            pass
    with occupancy.of({'x', 'y', 'z'}):
        pass


def state(tree, node):
    return (tree.record(f'/nodepool/nodes/{node.id}') or {}).get('state')


@pytest.mark.smoke
def test_one_node_is_requested_locked_used_and_returned(rack, tree, zuul):
    with zuul.nodes('a') as (node,):
        record = tree.record(f'/nodepool/nodes/{node.id}')
        assert record['state'] == 'in-use'
        assert record['user_data']['zuul_system'] == zuul.system_id
        assert record['tenant_name'] == 'tenant'
        assert record['requestor'] == zuul.system_id
        assert node.interface_ip in HOSTS
        assert (node.connection_type, node.connection_port, node.username) == ('ssh', 22, 'ci')
        assert node.provider == 'rack'
        assert tree.children('/nodepool/requests') == []
        assert len(tree.children(f'/nodepool/nodes/{node.id}/lock')) == 1
    tree.await_ready(len(HOSTS))


@pytest.mark.smoke
def test_several_nodes_come_in_the_order_asked_for(rack, tree, zuul):
    with zuul.nodes('b', 'a', 'b', 'a') as nodes:
        assert len({node.id for node in nodes}) == 4
        assert 'b' in HOSTS[nodes[0].interface_ip]
        assert 'b' in HOSTS[nodes[2].interface_ip]
    tree.await_ready(len(HOSTS))


def test_hundreds_of_requests_and_nothing_is_left_behind(rack, tree, zuul):
    occupancy = Occupancy()

    def job(number):
        with zuul.nodes(*[['a'], ['b'], ['a', 'b'], ['a', 'a', 'b']][number % 4]) as nodes:
            hosts = {node.interface_ip for node in nodes}
            assert len(hosts) == len(nodes)
            with occupancy.of(hosts):
                time.sleep(0.02)  # others would be given the same host meanwhile

    in_parallel(30, 400, job)
    tree.await_ready(len(HOSTS))
    assert sorted(node['external_id'] for node in tree.nodes().values()) == sorted(HOSTS)


def test_zuuls_caches_see_every_update(rack, tree, zuul):
    requests = []

    def job(_):
        request = zuul.ask('a')
        requests.append(request)
        nodes = zuul.accept(request)
        zuul.use(nodes)
        zuul.give_back(nodes)

    in_parallel(20, 200, job)
    tree.await_ready(len(HOSTS))
    assert zuul.completions == {request.id: 1 for request in requests}

    def cached():
        return {node.id: (node.state, node.allocated_to, node.stat.version)
                for node in zuul.records.nodeIterator(cached=True)}

    def stored():
        found = {}
        for id in tree.children('/nodepool/nodes'):
            node = tree.record(f'/nodepool/nodes/{id}')
            version = tree.client.exists(f'/nodepool/nodes/{id}').version
            found[id] = (node['state'], node['allocated_to'], version)
        return found

    wait_until('the node cache is what is stored', lambda: cached() == stored())
    wait_until('no request is cached', lambda: zuul.records.getNodeRequests(cached=True) == [])


def test_a_node_that_was_not_used_is_free_again(one_host, tree, zuul):
    nodes = zuul.accept(zuul.ask('a'))
    zuul.give_back(nodes)
    tree.await_ready(1)
    with zuul.nodes('a'):
        pass
    tree.await_ready(1)


def test_a_held_node_is_kept_until_it_expires(one_host, tree, zuul):
    nodes = zuul.accept(zuul.ask('a'))
    zuul.use(nodes)
    zuul.hold(nodes, seconds=2)
    (node,) = nodes.getNodes()
    record = tree.record(f'/nodepool/nodes/{node.id}')
    assert (record['state'], record['hold_expiration']) == ('hold', 2)
    assert record['hold_job'] == 'tenant project job .*'
    assert zuul.records.heldNodeCount(['tenant', 'project', 'job', '.*']) == 1
    waiting = zuul.ask('a')
    zuul.give_back(zuul.accept(waiting))  # as soon as the hold has expired
    tree.await_ready(1)


@pytest.mark.smoke
def test_the_nodes_of_a_dead_executor_come_back(one_host, tree, zuul, more_zuuls):
    executor = more_zuuls()
    nodes = executor.accept(executor.ask('a'))
    executor.use(nodes)
    executor.die()
    tree.await_ready(1)
    with zuul.nodes('a'):
        pass


def test_an_unknown_label_fails(rack, tree, zuul):
    request = zuul.ask('nobody-has-it')
    answer = zuul.answer(request)
    assert answer.state == model.STATE_FAILED
    assert tree.record(f'/nodepool/requests/{request.id}')['declined_by'] == [tree.pools()['rack']['id']]
    zuul.nodepool.deleteNodeRequest(request.id)
    tree.await_ready(len(HOSTS))


def test_a_waiting_request_can_be_withdrawn(one_host, tree, zuul):
    with zuul.nodes('a'):
        withdrawn = zuul.ask('a')
        zuul.nodepool.cancelRequest(withdrawn)
        assert withdrawn.id not in tree.children('/nodepool/requests')
    tree.await_ready(1)
    assert not zuul.completed(withdrawn)


def test_the_nodes_of_a_fulfilled_request_that_is_withdrawn_are_free_again(one_host, tree, zuul):
    request = zuul.ask('a')
    zuul.answer(request)
    zuul.nodepool.cancelRequest(request)
    tree.await_ready(1)


@pytest.mark.smoke
def test_requests_withdrawn_at_any_time_leave_nothing_behind(rack, tree, zuul):
    def job(number):
        request = zuul.ask('a', 'b')
        time.sleep(number % 20 * 0.001)
        zuul.nodepool.cancelRequest(request)

    in_parallel(30, 300, job)
    tree.await_ready(len(HOSTS))


def served_order(tree, zuul, requests):
    """Accepts requests for the same node one by one as they are completed; returns their order."""
    order, left = [], list(requests)
    while left:
        done = wait_until('a request is completed', lambda: [r for r in left if zuul.completed(r)])
        assert len(done) == 1, 'there is one node'
        zuul.give_back(zuul.accept(done[0]))
        order.append(done[0])
        left.remove(done[0])
    return order


def test_requests_are_served_by_priority_and_age(one_host, tree, zuul):
    with zuul.nodes('a'):
        low = zuul.ask('a', priority=300)
        normal = zuul.ask('a', relative_priority=5)
        later = zuul.ask('a', relative_priority=5)
        first = zuul.ask('a', relative_priority=1)
        high = zuul.ask('a', priority=100, relative_priority=9)
    assert served_order(tree, zuul, [low, normal, later, first, high]) == [high, first, normal, later, low]
    tree.await_ready(1)


def test_a_relative_priority_can_be_revised_while_waiting(one_host, tree, zuul):
    with zuul.nodes('a'):
        requests = [zuul.ask('a', relative_priority=number) for number in range(10)]
        for position, request in enumerate(requests):
            zuul.revise(request, 10 - position)
        priorities = [tree.record(f'/nodepool/requests/{request.id}')['relative_priority']
                      for request in requests]
        assert priorities == list(range(10, 0, -1))
    assert served_order(tree, zuul, requests) == requests[::-1]
    tree.await_ready(1)
