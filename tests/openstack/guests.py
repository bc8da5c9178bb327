"""SSH servers behind the addresses of servers that do not exist."""
import contextlib
import os
import pathlib
import re
import signal
import socket
import subprocess

from launcher import wait_until


def ip_route(*arguments):
    """Runs `ip route`; returns its output."""
    as_root = [] if os.geteuid() == 0 else ['sudo', '-n']
    done = subprocess.run([*as_root, 'ip', 'route', *arguments], text=True, capture_output=True)
    if done.returncode != 0:
        raise RuntimeError(f'ip route {" ".join(arguments)}: {done.stderr}')
    return done.stdout


def free_port():
    with socket.socket() as probe:
        probe.bind(('0.0.0.0', 0))
        return probe.getsockname()[1]


class Guests:
    """One sshd that answers on every address of the cloud's networks, which are routed to this host.
    It has host keys to show; who has the login key can log in, if the suite runs as root."""

    def __init__(self, directory, ranges):
        self.ranges = ranges
        self.port = free_port()
        self.log = directory / 'sshd.log'
        self.host_key = self.make_key(directory / 'host_key')
        self.login_key = directory / 'login_key'
        authorized_keys = directory / 'authorized_keys'
        authorized_keys.write_text(f'{self.make_key(self.login_key)}\n')
        configuration = directory / 'sshd_config'
        configuration.write_text(f'''\
ListenAddress 0.0.0.0
Port {self.port}
HostKey {directory}/host_key
AllowUsers root
AuthorizedKeysFile {authorized_keys}
AuthenticationMethods publickey
PermitRootLogin prohibit-password
PidFile none
UsePAM no
StrictModes no
UseDNS no
LogLevel VERBOSE
MaxStartups 1000
''')
        if os.geteuid() == 0:
            pathlib.Path('/run/sshd').mkdir(exist_ok=True)
        with self.log.open('w') as log:
            self.sshd = subprocess.Popen(['/usr/sbin/sshd', '-D', '-e', '-f', configuration],
                                         stdin=subprocess.DEVNULL, stderr=log)
        try:
            wait_until('sshd listens', self.listens)
            for addresses in ranges:
                ip_route('replace', 'local', addresses, 'dev', 'lo')
        except Exception:
            self.close()
            raise

    @contextlib.contextmanager
    def agent(self):
        """Runs an agent with the login key; gives what ssh finds it by."""
        variables = subprocess.run(['ssh-agent', '-s'], text=True, check=True, stdout=subprocess.PIPE).stdout
        environment = dict(re.findall(r'^(SSH_\w+)=([^;]+);', variables, re.MULTILINE))
        try:
            subprocess.run(['ssh-add', '-q', self.login_key], check=True, env={**os.environ, **environment})
            yield environment
        finally:
            os.kill(int(environment['SSH_AGENT_PID']), signal.SIGTERM)

    @staticmethod
    def make_key(file):
        """Returns the public key as in a record: type and base64."""
        subprocess.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', file], check=True)
        return ' '.join(file.with_suffix('.pub').read_text().split()[:2])

    def listens(self):
        if self.sshd.poll() is not None:
            raise RuntimeError(f'sshd has ended: {self.log.read_text()}')
        return 'Server listening on' in self.log.read_text()

    def close(self):
        self.sshd.kill()
        self.sshd.wait()
        for addresses in self.ranges:
            if ip_route('show', 'table', 'local', 'root', addresses):
                ip_route('del', 'local', addresses, 'dev', 'lo')
