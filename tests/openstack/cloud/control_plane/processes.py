"""Processes that outlive whoever starts them, known by pid and start time."""
import dataclasses
import os
import pathlib
import signal
import socket
import subprocess
import time

from control_plane.plan import ADDRESS

PATIENCE = 300  # seconds that a service may take until it answers
END_PATIENCE = 15  # seconds that it may take to end by itself


@dataclasses.dataclass
class Service:
    name: str
    command: list
    environment: dict = dataclasses.field(default_factory=dict)
    port: int | None = None  # it is there when it accepts connections


def stat_of(pid):
    """The fields of /proc/PID/stat after the program's name, or None: no such process."""
    try:
        return pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(') ')[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def start_time(pid):
    """When a process was started, in clock ticks since boot. None if it is gone or a zombie."""
    stat = stat_of(pid)
    return None if stat is None or stat[0] == 'Z' else int(stat[19])


def group_is_alive(group):
    for entry in pathlib.Path('/proc').iterdir():
        if entry.name.isdigit() and (stat := stat_of(entry.name)):
            if int(stat[2]) == group and stat[0] != 'Z':
                return True
    return False


def tail(log, lines=30):
    return '\n'.join(log.read_text(errors='replace').splitlines()[-lines:])


class Processes:
    """The processes of one state directory. Each leads a session, and so a group, of its own."""

    def __init__(self, plan):
        self.plan = plan
        self.records = plan.folder('run')
        self.logs = plan.folder('log')

    def environment(self, more=None):
        """What processes get of it: nothing of the caller's."""
        inside = pathlib.Path(__file__).resolve().parent.parent / 'inside'
        return {'PATH': '/usr/sbin:/usr/bin:/sbin:/bin', 'LANG': 'C.UTF-8', 'HOME': str(self.plan.state),
                'PYTHONPATH': str(inside), 'PYTHONUNBUFFERED': '1', 'PYTHONDONTWRITEBYTECODE': '1',
                'no_proxy': ADDRESS, **(more or {})}

    def pid(self, name):
        """The pid of a process that is alive, or None."""
        try:
            pid, started = map(int, (self.records / f'{name}.pid').read_text().split())
        except FileNotFoundError:
            return None
        return pid if start_time(pid) == started else None

    def start(self, service):
        """Starts it unless it is alive."""
        if self.pid(service.name) is not None:
            return
        with (self.logs / f'{service.name}.log').open('a') as log:
            process = subprocess.Popen(service.command, cwd=self.plan.state, start_new_session=True,
                                       env=self.environment(service.environment),
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        started = start_time(process.pid)
        if started is None:
            raise RuntimeError(f'{service.name} ended at once: {tail(self.logs / f"{service.name}.log")}')
        (self.records / f'{service.name}.pid').write_text(f'{process.pid} {started}\n')

    def await_answer(self, service):
        """Returns when it accepts connections."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection((ADDRESS, service.port), timeout=5).close()
                return
            except OSError:
                pass
            self.check_alive(service.name)
            if time.monotonic() > deadline:
                raise RuntimeError(f'{service.name} does not answer on port {service.port}')
            time.sleep(0.1)

    def check_alive(self, name):
        if self.pid(name) is None:
            raise RuntimeError(f'{name} has ended: {tail(self.logs / f"{name}.log")}')

    def names(self):
        return sorted(record.stem for record in self.records.glob('*.pid'))

    def signal(self, name, number):
        """Sends a signal to a process and the workers of its group."""
        self.check_alive(name)
        os.killpg(self.pid(name), number)

    def end(self, names):
        """Ends processes and what is left of their groups; forgets them."""
        groups = {name: pid for name in names if (pid := self.pid(name)) is not None}
        for pid in groups.values():
            os.kill(pid, signal.SIGCONT)
            os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + END_PATIENCE
        while time.monotonic() < deadline and any(map(group_is_alive, groups.values())):
            time.sleep(0.1)
        for pid in filter(group_is_alive, groups.values()):
            os.killpg(pid, signal.SIGKILL)
        for name in names:
            (self.records / f'{name}.pid').unlink(missing_ok=True)

    def run(self, name, command, environment=None):
        """Runs a program to its end, which has to be a good one."""
        log = self.logs / f'{name}.log'
        with log.open('a') as output:
            done = subprocess.run(command, cwd=self.plan.state, env=self.environment(environment),
                                  stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        if done.returncode != 0:
            raise RuntimeError(f'{name}: exit status {done.returncode}: {tail(log)}')

    def once(self, name, step):
        """Calls step() unless it has succeeded before in this directory."""
        mark = self.records / f'{name}.done'
        if not mark.exists():
            step()
            mark.touch()
