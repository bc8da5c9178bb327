"""The Python Nodepool's programs beside this project's on the same tree."""
import concurrent.futures

import pytest
from zuul import model

from installation import static_provider


def test_provider(name, labels, **pool):
    """A provider that makes nodes out of nothing; the Python Nodepool has it for tests."""
    return {'name': name, 'driver': 'test', 'pools': [{'name': 'main', 'labels': labels, **pool}]}


test_provider.__test__ = False

LABELS = ['rack-only', 'cloud-only', 'both', 'nobody-has-it']


def hosts(count, labels):
    return {f'127.0.1.{number}': labels for number in range(count)}


@pytest.fixture
def side_by_side(ours, theirs, tree):
    """Our launcher serves provider rack, theirs provider cloud."""
    rack = ours([static_provider('rack', hosts(10, ['rack-only', 'both']))], LABELS)
    cloud = theirs([test_provider('cloud', ['cloud-only', 'both'])], LABELS)
    tree.await_ready(10)
    return rack, cloud


def await_tidy(tree):
    """Only our hosts are left, free."""
    tree.await_ready(10)


def serve(zuul, *labels, **more):
    """Where a request has been served."""
    with zuul.nodes(*labels, **more) as nodes:
        providers = {node.provider for node in nodes}
    assert len(providers) == 1
    return providers.pop()


@pytest.mark.smoke
def test_requests_for_the_labels_of_either_are_served_by_it(side_by_side, tree, zuul):
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        rack = [pool.submit(serve, zuul, 'rack-only') for _ in range(60)]
        cloud = [pool.submit(serve, zuul, 'cloud-only', 'cloud-only') for _ in range(20)]
        assert {future.result() for future in rack} == {'rack'}
        assert {future.result() for future in cloud} == {'cloud'}
    await_tidy(tree)


def test_an_unknown_label_fails_after_both_have_declined(side_by_side, tree, zuul):
    requests = [zuul.ask('nobody-has-it') for _ in range(10)] + [zuul.ask('rack-only', 'cloud-only')]
    pools = sorted(pool['id'] for pool in tree.pools().values())
    for request in requests:
        assert zuul.answer(request).state == model.STATE_FAILED
        assert sorted(tree.record(f'/nodepool/requests/{request.id}')['declined_by']) == pools
        zuul.nodepool.deleteNodeRequest(request.id)
    await_tidy(tree)


def test_a_request_for_one_provider_is_served_by_it(side_by_side, tree, zuul):
    for provider in ('rack', 'cloud') * 3:
        assert serve(zuul, 'both', provider=provider) == provider
    await_tidy(tree)


@pytest.mark.parametrize('rack_priority, cloud_priority, winner', [(50, 90, 'rack'), (90, 50, 'cloud')])
def test_the_pool_with_the_better_priority_serves(ours, theirs, tree, zuul, rack_priority, cloud_priority,
                                                  winner):
    ours([static_provider('rack', hosts(10, ['both']), {'priority': rack_priority})], LABELS)
    theirs([test_provider('cloud', ['both'], priority=cloud_priority)], LABELS)
    tree.await_ready(10)
    assert [serve(zuul, 'both') for _ in range(5)] == [winner] * 5
    await_tidy(tree)


def test_their_static_provider_beside_ours(ours, theirs, tree, zuul):
    ours([static_provider('rack', hosts(10, ['rack-only']))], LABELS)
    theirs([static_provider('shelf', {'127.0.2.0': ['cloud-only'], '127.0.2.1': ['cloud-only']})], LABELS)
    tree.await_ready(12)
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        rack = [pool.submit(serve, zuul, 'rack-only') for _ in range(60)]
        shelf = [pool.submit(serve, zuul, 'cloud-only') for _ in range(10)]
        assert {future.result() for future in rack} == {'rack'}
        assert {future.result() for future in shelf} == {'shelf'}
    tree.await_ready(12)


@pytest.mark.smoke
def test_a_request_outlives_the_other_launcher(ours, theirs, tree, zuul):
    """Theirs goes away and does not come back in time: nobody is left who could serve the request."""
    ours([static_provider('rack', hosts(10, ['rack-only']))], LABELS, **{'pool-timeout': 3})
    cloud = theirs([test_provider('cloud', ['cloud-only'])], LABELS)
    tree.await_ready(10)
    cloud.stop()
    request = zuul.ask('cloud-only')
    assert zuul.answer(request).state == model.STATE_FAILED
    zuul.nodepool.deleteNodeRequest(request.id)
    await_tidy(tree)
