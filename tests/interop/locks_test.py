"""kazoo's Lock and this project's contend for the same locks."""
import subprocess
import sys
import threading
import time

import kazoo.exceptions
import pytest
from kazoo.recipe.lock import Lock

from installation import BINARIES, wait_until

ROOT = '/nodepool/nodes/0000000000/lock'

# Dies with the lock in its hands.
KAZOO_HOLDER = '''
import sys
from kazoo.client import KazooClient
from kazoo.recipe.lock import Lock
hosts, ca, cert, key, root = sys.argv[1:]
client = KazooClient(hosts, timeout=2.0, use_ssl=True, ca=ca, certfile=cert, keyfile=key)
client.start()
Lock(client, root).acquire()
print('held', flush=True)
sys.stdin.read()
'''


class Holder:
    """A process that contends for ROOT with this project's recipe."""

    def __init__(self, servers, mode):
        self.process = subprocess.Popen(
            [BINARIES / 'lock_holder', mode, ROOT, str(servers.tls[0]), servers.ca, servers.cert, servers.key],
            text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.said = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.said.append(line.strip())

    def says(self, word):
        return word in self.said

    def await_word(self, word):
        wait_until(f'the holder says {word}', lambda: self.says(word))

    def release(self):
        self.process.stdin.close()
        self.await_word('released')
        self.process.wait()

    def kill(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def kazoo_client(servers, tree):
    client = servers.client()
    client.ensure_path('/nodepool/nodes/0000000000')
    yield client
    client.stop()


@pytest.fixture
def holder(servers, kazoo_client):
    """Starts contenders: holder('wait'), holder('try')."""
    holders = []

    def start(mode):
        holders.append(Holder(servers, mode))
        return holders[-1]

    yield start
    for one in holders:
        one.kill()


def await_contenders(tree, count):
    wait_until(f'{count} contenders', lambda: len(tree.children(ROOT)) == count)


def acquire_in_thread(lock):
    thread = threading.Thread(target=lock.acquire)
    thread.start()
    return thread


@pytest.mark.smoke
def test_kazoo_holds_and_we_wait(tree, kazoo_client, holder):
    lock = Lock(kazoo_client, ROOT)
    assert lock.acquire()
    waiting = holder('wait')
    await_contenders(tree, 2)
    assert not waiting.says('held')
    lock.release()
    waiting.await_word('held')
    waiting.release()
    assert tree.children(ROOT) == []


def test_we_hold_and_kazoo_waits(tree, kazoo_client, holder):
    holding = holder('wait')
    holding.await_word('held')
    lock = Lock(kazoo_client, ROOT)
    thread = acquire_in_thread(lock)
    await_contenders(tree, 2)
    assert not lock.is_acquired
    holding.release()
    thread.join()
    assert lock.is_acquired
    lock.release()
    assert tree.children(ROOT) == []


def test_a_failed_attempt_leaves_no_contender(tree, kazoo_client, holder):
    lock = Lock(kazoo_client, ROOT)
    lock.acquire()
    holder('try').await_word('refused')
    await_contenders(tree, 1)
    lock.release()
    holding = holder('try')
    holding.await_word('held')
    assert not Lock(kazoo_client, ROOT).acquire(blocking=False)
    await_contenders(tree, 1)
    holding.release()


def test_kazoo_gives_up_in_time_and_we_keep_the_lock(tree, kazoo_client, holder):
    holding = holder('wait')
    holding.await_word('held')
    with pytest.raises(kazoo.exceptions.LockTimeout):
        Lock(kazoo_client, ROOT).acquire(timeout=0.5)
    await_contenders(tree, 1)
    holding.release()


def test_all_get_the_lock_in_order_of_arrival(tree, kazoo_client, holder):
    first = Lock(kazoo_client, ROOT)
    first.acquire()
    line = []
    for position in range(8):
        if position % 2:
            line.append(Lock(kazoo_client, ROOT))
            acquire_in_thread(line[-1])
        else:
            line.append(holder('wait'))
        await_contenders(tree, position + 2)

    def has_it(contender):
        return contender.is_acquired if isinstance(contender, Lock) else contender.says('held')

    first.release()
    for position, contender in enumerate(line):
        wait_until(f'number {position} has the lock', lambda: has_it(contender))
        assert not any(has_it(later) for later in line[position + 1:])
        contender.release()
    assert tree.children(ROOT) == []


def test_never_two_at_a_time(servers, kazoo_client, holder):
    """Everybody takes the lock again and again; the times during which it is held do not overlap."""
    held = []

    def take(times, acquire, release):
        for _ in range(times):
            lock = acquire()
            begin = time.monotonic()
            time.sleep(0.002)
            held.append((begin, time.monotonic()))
            release(lock)

    def acquire_ours():
        one = holder('wait')
        one.await_word('held')
        return one

    def acquire_kazoo():
        lock = Lock(kazoo_client, ROOT)
        lock.acquire()
        return lock

    threads = [threading.Thread(target=take, args=(10, acquire_ours, Holder.release)) for _ in range(3)]
    threads += [threading.Thread(target=take, args=(60, acquire_kazoo, Lock.release)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    held.sort()
    assert len(held) == 210
    for (_, end), (begin, _) in zip(held, held[1:]):
        assert end <= begin


@pytest.mark.smoke
def test_our_death_gives_the_lock_to_kazoo(kazoo_client, holder):
    holding = holder('wait')
    holding.await_word('held')
    lock = Lock(kazoo_client, ROOT)
    thread = acquire_in_thread(lock)
    holding.kill()
    thread.join()
    assert lock.is_acquired
    lock.release()


def test_the_death_of_a_kazoo_client_gives_the_lock_to_us(servers, kazoo_client, holder):
    process = subprocess.Popen([sys.executable, '-c', KAZOO_HOLDER, servers.connect_string(), servers.ca,
                                servers.cert, servers.key, ROOT],
                               text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == 'held\n'
    waiting = holder('wait')
    waiting.await_word('waiting')
    process.kill()
    process.wait()
    waiting.await_word('held')
    waiting.release()
