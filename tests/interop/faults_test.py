"""An ensemble and launchers that are killed again and again, while requestors go on."""
import contextlib
import json
import random
import signal
import subprocess
import time

import pytest

from installation import BINARIES, OwnLauncher, Servers, Tree, static_provider, wait_until

REQUESTS, CLIENTS, HOSTS, LAUNCHERS, MEMBERS = 2000, 40, 50, 2, 3
BETWEEN_FAULTS = 2  # seconds


def kill_launcher(launcher):
    launcher.stop(signal.SIGKILL)
    launcher.start()


def kill_member(servers, member):
    servers.tell('kill', member)
    servers.tell('start', member)


@pytest.fixture
def at_the_end():
    """Takes what is to be called at the end, however the test ends."""
    with contextlib.ExitStack() as stack:
        yield stack.callback


def test_nothing_is_lost_served_twice_or_left_behind(tmp_path, capsys, at_the_end):
    seed = random.randrange(10**6)
    choice = random.Random(seed)
    servers = Servers(MEMBERS)
    at_the_end(servers.close)
    tree = Tree(servers)
    at_the_end(tree.close)
    provider = static_provider('rack', {f'127.0.1.{number}': ['a'] for number in range(HOSTS)})
    launchers = [OwnLauncher(tmp_path / str(number), servers, [provider], ['a']) for number in range(LAUNCHERS)]
    for launcher in launchers:
        at_the_end(launcher.stop, signal.SIGKILL)
        launcher.start()
    tree.await_ready(HOSTS)
    started = time.monotonic()
    requestors = subprocess.Popen(
        [BINARIES / 'requestors', ','.join(map(str, servers.tls)), servers.ca, servers.cert, servers.key,
         str(REQUESTS), str(CLIENTS), 'a'], stdout=subprocess.PIPE, text=True)
    at_the_end(requestors.kill)
    faults = {f'member {number}': lambda number=number: kill_member(servers, number) for number in range(MEMBERS)}
    faults |= {f'launcher {number}': lambda number=number: kill_launcher(launchers[number])
               for number in range(LAUNCHERS)}
    done = []
    while requestors.poll() is None:
        next_fault = time.monotonic() + BETWEEN_FAULTS
        done.append(choice.choice(sorted(faults)))
        faults[done[-1]]()
        time.sleep(max(0, next_fault - time.monotonic()))  # the pace of the faults, no wait for a condition
    seconds = time.monotonic() - started
    answer = json.loads(requestors.stdout.read())
    counts = ', '.join(f'{name} {done.count(name)} times' for name in sorted(faults))
    with capsys.disabled():
        print(f'\n{REQUESTS} requests by {CLIENTS} clients on {HOSTS} hosts, {LAUNCHERS} launchers, {MEMBERS} '
              f'servers, {seconds:.0f} s, seed {seed}; killed: {counts}; {answer}')
    assert answer['served'] == REQUESTS
    assert answer['served_twice'] == 0
    tree.await_ready(HOSTS)
    hosts = sorted(node['external_id'] for node in tree.nodes().values())
    assert hosts == sorted(f'127.0.1.{number}' for number in range(HOSTS))
    wait_until('the pools of killed launchers are gone',
               lambda: len(tree.children('/nodepool/components/pool')) == LAUNCHERS)
    for launcher in launchers:
        assert launcher.stop() == 0
