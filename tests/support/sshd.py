"""An SSH server on the loopback, a host for static nodes. The user of the suite logs in with its own key and a home
directory of its own."""
import getpass
import os
import pathlib
import signal
import subprocess

from launcher import Daemon, wait_until
from network import free_port


class Sshd(Daemon):
    def __init__(self, directory):
        directory.mkdir(parents=True)
        super().__init__(directory / 'log', dict(os.environ))
        self.configuration = directory / 'sshd_config'
        self.client_key = directory / 'client_key'
        self.user = getpass.getuser()
        self.port = free_port()
        self.host_key = self.make_key(directory / 'host_key')
        self.make_key(self.client_key)
        self.home = directory / 'home'
        self.home.mkdir()
        self.configuration.write_text(f"""
ListenAddress 127.0.0.1
Port {self.port}
HostKey {directory}/host_key
AuthorizedKeysFile {self.client_key}.pub
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
UseDNS no
ForceCommand export HOME={self.home}; cd; eval "$SSH_ORIGINAL_COMMAND"
""")
        if os.geteuid() == 0:
            pathlib.Path('/run/sshd').mkdir(exist_ok=True)  # privilege separation directory of root's sshd

    def make_key(self, file):
        """Returns the public key, "<type> <base64>"."""
        subprocess.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', file], check=True)
        return pathlib.Path(f'{file}.pub').read_text().strip()

    def daemon(self):
        return ['/usr/sbin/sshd', '-D', '-e', '-f', self.configuration]

    def start(self):
        super().start()
        wait_until('sshd listens', lambda: 'Server listening' in self.log.read_text())

    def stop(self, number=signal.SIGTERM):
        """SIGINT would be ignored if the suite runs in the background of a shell."""
        return super().stop(number)
