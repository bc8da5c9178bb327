"""Runs commands within a time limit and measures their CPU time."""
import contextlib
import os
import resource
import signal
import subprocess
import time

GRACE = 60  # seconds to stop services after the time limit

# For our own programs: the C library overwrites freed memory, so that its use is noticed without a sanitizer, too.
NOTICE_USE_AFTER_FREE = {'MALLOC_PERTURB_': '165'}


class OutOfTime(Exception):
    """The command has exceeded its time limit and has been ended with all of its children."""


class Budget:
    """The time limit of a run, in seconds from now; None: no limit."""

    def __init__(self, seconds=None):
        self.deadline = None if seconds is None else time.monotonic() + seconds

    def left(self):
        return None if self.deadline is None else max(0, self.deadline - time.monotonic())

    def part(self, seconds):
        """A limit from now, within this one."""
        left = self.left()
        return Budget(seconds if left is None else min(seconds, left))

    def end(self):
        self.deadline = 0

    def is_over(self):
        return self.left() == 0


def cpu_seconds():
    """CPU seconds of all ended children of this process and of their children."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(command, budget, **options):
    """Runs a command and returns its exit status. Raises OutOfTime."""
    if budget.is_over():
        raise OutOfTime
    process = subprocess.Popen(command, start_new_session=True, **options)
    try:
        return process.wait(budget.left())
    except subprocess.TimeoutExpired:
        raise OutOfTime from None
    finally:
        end_group(process)


def end_group(process):
    """Ends a process that leads a group, and the rest of the group."""
    if process.poll() is None:
        signal_group(process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
    signal_group(process, signal.SIGKILL)
    process.wait()


def signal_group(process, number):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


# Ends with the process that has started it, even if that is killed.
BUSY = 'while [ -d /proc/$PPID ]; do n=0; while [ $n -lt 100000 ]; do n=$((n + 1)); done; done'


@contextlib.contextmanager
def busy_loops(count):
    """Keeps the processors busy, because results must not depend on the load."""
    loops = [subprocess.Popen(['sh', '-c', BUSY], start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            signal_group(loop, signal.SIGKILL)
            loop.wait()
