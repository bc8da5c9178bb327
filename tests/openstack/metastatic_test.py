"""Nodes on nodes that are OpenStack's servers: from the small node to the server, and back."""
import pytest

from launcher import wait_until


@pytest.fixture
def stacked(nodepool, guests):
    """Starts a launcher with the label quarter, four of which share a server of sky: stacked(grace=…);
    other options are those of the server's label."""
    def start(grace=0, **label):
        image = {'name': 'tiny-image', 'username': 'ci', 'connection-port': guests.port}
        return nodepool(
            {'name': 'sky', 'driver': 'openstack', 'cloud': 'fake', 'rate': 0, 'boot-timeout': 30,
             'launch-timeout': 120, 'launch-retries': 1, 'cloud-images': [image],
             'pools': [{'name': 'main', 'networks': ['provider'], 'auto-floating-ip': False,
                        'labels': [{'name': 'big', 'flavor-name': 'm1.small', 'cloud-image': 'tiny-image',
                                    **label}]}]},
            {'name': 'shares', 'driver': 'metastatic', 'launch-retries': 1,
             'pools': [{'name': 'main', 'host-key-checking': True,
                        'labels': [{'name': 'quarter', 'backing-label': 'big', 'max-parallel-jobs': 4,
                                    'grace-time': grace}]}]})
    return start


def nodes_of(launcher, provider):
    return [node for node in launcher.nodes() if node['provider'] == provider]


def backing_node(launcher):
    (node,) = nodes_of(launcher, 'sky')
    return node


def await_nothing(launcher, project):
    # A mere record of which nothing was made goes after some minutes.
    wait_until('no node is left', lambda: all(node['state'] == 'init' for node in launcher.nodes()))
    wait_until('the server is gone', lambda: not project.servers())
    assert launcher.run('request-list', '--json').strip() == '[]'


def test_nodes_share_a_server_that_goes_after_them(stacked, project, guests):
    launcher = stacked(grace=1)
    first = launcher.ask('quarter', 'quarter', 'quarter').lease()
    second = launcher.ask('quarter').lease()
    (server,) = project.servers()
    backing = backing_node(launcher)
    assert backing['server_id'] == server['id']
    assert backing['state'] == 'in-use'
    small = first['nodes'] + second['nodes']
    assert sorted(node['slot'] for node in small) == [0, 1, 2, 3]
    for node in small:
        assert node['interface_ip'] == server['addresses']['provider'][0]['addr']
        assert node['host_keys'] == [guests.host_key]
        assert (node['username'], node['connection_port']) == ('ci', guests.port)
        assert (node['cloud'], node['az']) == ('fake', server['OS-EXT-AZ:availability_zone'])

    third = launcher.ask('quarter').lease()
    assert len(project.servers()) == 2
    launcher.release(third)
    launcher.release(first)
    wait_until('the second server is gone', lambda: len(project.servers()) == 1)
    assert project.servers()[0]['id'] == server['id']  # one node is still on it
    launcher.release(second)
    await_nothing(launcher, project)


def test_one_chain_leads_from_the_small_node_to_the_server(stacked, project):
    launcher = stacked(grace=600)
    (small,) = launcher.ask('quarter').lease()['nodes']
    backing = backing_node(launcher)
    (server,) = project.servers()
    explained = launcher.run('explain', small['id'])
    assert f'on node {backing["id"]} (big of sky-main, which is in-use), slot 0' in explained
    assert f'Node {backing["id"]} is in-use' in explained
    assert f'on it: node {small["id"]} (quarter of shares-main' in launcher.run('explain', backing['id'])

    def told():
        history = launcher.run('history', small['id'])
        return history if 'carries' in history else None
    history = wait_until('the history knows what is on the server', told)
    assert f'node {backing["id"]}, slot 0' in history
    assert f'\n{backing["id"]}:\n' in history  # what has happened to that follows
    assert backing['server_id'] == server['id']


def test_a_failed_backing_server_is_reported_to_the_request(stacked, project):
    launcher = stacked(**{'flavor-name': 'm1.toobig'})
    refusal = launcher.ask('quarter').refusal()
    assert 'for label big has failed' in refusal
    await_nothing(launcher, project)


STEPS = {
    'the node waits for its server': lambda launcher, project: nodes_of(launcher, 'shares'),
    'the server is asked for': lambda launcher, project: nodes_of(launcher, 'sky'),
    'the server is built': lambda launcher, project: project.servers(),
    'the server is taken': lambda launcher, project: [
        node for node in nodes_of(launcher, 'sky') if node['state'] == 'in-use'],
    'the node is ready': lambda launcher, project: [
        node for node in nodes_of(launcher, 'shares') if node['state'] != 'building'],
}


@pytest.mark.parametrize('step', STEPS, ids=lambda step: step.replace(' ', '-'))
def test_a_launcher_that_is_killed_leaves_one_server_and_then_none(stacked, project, step):
    launcher = stacked()
    request = launcher.ask('quarter')
    wait_until(step, lambda: STEPS[step](launcher, project))
    launcher.kill()
    launcher.start()
    lease = request.lease()
    backing = [node for node in nodes_of(launcher, 'sky') if node['state'] == 'in-use']
    assert len(backing) == 1
    assert backing[0]['server_id'] in [server['id'] for server in project.servers()]
    launcher.release(lease)
    launcher.kill()
    launcher.start()
    await_nothing(launcher, project)
