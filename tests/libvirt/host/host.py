"""A host for virtual machines: Debian's libvirtd with QEMU, in mount and process namespaces of its own."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess

from certificates import Authority
from launcher import PATIENCE, wait_until

HERE = pathlib.Path(__file__).parent
PACKAGES = {'libvirtd': 'libvirt-daemon', 'virsh': 'libvirt-clients', 'dnsmasq': 'dnsmasq-base', 'iptables': 'iptables',
            'qemu-system-x86_64': 'qemu-system-x86', 'qemu-img': 'qemu-utils', 'ip': 'iproute2', 'pgrep': 'procps',
            'genisoimage': 'genisoimage'}

DAEMON = """
unix_sock_dir = "{folder}/run"
unix_sock_rw_perms = "0700"
unix_sock_ro_perms = "0700"
auth_unix_rw = "none"
auth_unix_ro = "none"
log_outputs = "3:file:/var/log/libvirt/libvirtd.log"
"""

# Clients need a certificate.
TLS = """
listen_tls = 1
listen_addr = "127.0.0.1"
tls_port = "{port}"
key_file = "{folder}/tls/server.key"
cert_file = "{folder}/tls/server.pem"
ca_file = "{folder}/tls/ca.pem"
"""

# There is no virtlogd, no cgroup and no user for QEMU.
QEMU = """
user = "root"
group = "root"
dynamic_ownership = 0
remember_owner = 0
security_driver = "none"
namespaces = []
cgroup_controllers = []
stdio_handler = "file"
"""

# dnsmasq would look for three seconds whether an address is in use.
NETWORK = """
<network xmlns:dnsmasq='http://libvirt.org/schemas/network/dnsmasq/1.0'>
  <name>default</name>
  <forward mode='nat'/>
  <bridge name='{bridge}' stp='off' delay='0'/>
  <ip address='{subnet}.1' netmask='255.255.255.0'>
    <dhcp><range start='{subnet}.10' end='{subnet}.250'><lease expiry='5' unit='minutes'/></range></dhcp>
  </ip>
  <dnsmasq:options><dnsmasq:option value='no-ping'/></dnsmasq:options>
</network>
"""

POOL = "<pool type='dir'><name>default</name><target><path>{folder}/pool</path></target></pool>"


def require_programs():
    for program, package in PACKAGES.items():
        if not shutil.which(program, path=f'{os.environ["PATH"]}:/usr/sbin:/sbin'):
            raise RuntimeError(f'no {program} (Debian: {package}; tools/bootstrap --libvirt)')


def with_user(table, line):
    """libvirtd looks for a user and a group `libvirt-qemu`, even if QEMU runs as root."""
    text = pathlib.Path(table).read_text()
    return text if '\nlibvirt-qemu:' in text else text + line


class Host:
    """Its bridge is in the network namespace of the caller. pool_size: of the file system of its storage pool. tls_port:
    where it serves clients with a certificate of the CA in tls/."""

    def __init__(self, folder, number, pool_size=None, tls_port=None):
        # A socket's path may have 107 bytes.
        assert len(str(folder)) < 85, folder
        self.folder = folder
        self.name = f'host{number}'
        self.bridge = f'virbr{number}'
        self.subnet = f'10.77.{number}'
        self.pool_size = pool_size
        self.options = ['--listen'] if tls_port else []
        self.uri = f'qemu+unix:///system?socket={folder}/run/libvirt-sock'
        self.log = folder / 'log/libvirtd.log'
        self.namespaces = self.daemon = self.pid = None
        for name in 'etc', 'run', 'var', 'cache', 'log', 'pool':
            (folder / name).mkdir(parents=True)
        if tls_port:
            (folder / 'tls').mkdir()
            authority = Authority(folder / 'tls')
            authority.issue('server', '/CN=127.0.0.1', 'subjectAltName=IP:127.0.0.1')
            authority.issue('client', '/CN=launcher')
        (folder / 'passwd').write_text(with_user('/etc/passwd', 'libvirt-qemu:x:64055:64055::/:/usr/sbin/nologin\n'))
        (folder / 'group').write_text(with_user('/etc/group', 'libvirt-qemu:x:64055:\n'))
        for name, text in {'etc/libvirtd.conf': DAEMON + (TLS if tls_port else ''), 'etc/qemu.conf': QEMU, 'network.xml': NETWORK,
                           'pool.xml': POOL}.items():
            (folder / name).write_text(text.format(folder=folder, bridge=self.bridge, subnet=self.subnet, port=tls_port))

    def set_up(self):
        """Starts it for the first time, and gives it a network and a storage pool."""
        self.start()
        self.virsh('net-define', self.folder / 'network.xml')
        self.virsh('pool-define', self.folder / 'pool.xml')
        for kind in 'net', 'pool':
            self.virsh(f'{kind}-autostart', 'default')
            self.virsh(f'{kind}-start', 'default')

    def start(self):
        """Starts it as it was before."""
        self.open_namespaces()
        self.start_daemon()

    def repair(self):
        """Starts what a failed test has left stopped."""
        if self.namespaces is None:
            self.start()
        elif self.daemon is None or self.daemon.poll() is not None:
            self.start_daemon()

    def open_namespaces(self):
        size = [str(self.pool_size)] if self.pool_size else []
        # Even a killed suite leaves nothing: each of them ends with its parent.
        self.namespaces = subprocess.Popen(
            ['setpriv', '--pdeathsig', 'KILL', 'unshare', '--mount', '--propagation', 'private', '--pid', '--fork',
             '--kill-child', '--mount-proc', HERE / 'holder', self.folder, *size], start_new_session=True)
        wait_until('the namespaces are there', lambda: self.is_ready() or self.namespaces.poll() is not None)
        assert self.is_ready(), 'no namespaces'

    def is_ready(self):
        return (self.folder / 'ready').exists()

    def start_daemon(self):
        """Starts libvirtd alone."""
        with (self.folder / 'log/output').open('a') as output:
            self.daemon = subprocess.Popen(
                [*self.inside('--mount', '--pid'), 'env', '-i', 'PATH=/usr/sbin:/usr/bin:/sbin:/bin',
                 'HOME=/root', 'LANG=C.UTF-8', 'libvirtd', *self.options], stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                start_new_session=True)
        self.pid = wait_until('libvirtd has started', lambda: child_of(self.daemon.pid) or self.has_ended())

        def serves():
            return self.has_ended() or subprocess.run(
                ['virsh', '-c', self.uri, 'version'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
        wait_until('libvirtd serves', serves)

    def inside(self, *namespaces):
        """The beginning of a command in namespaces of the host."""
        return ['nsenter', '-t', str(child_of(self.namespaces.pid)), *namespaces]

    def has_ended(self):
        if self.daemon.poll() is not None:
            raise RuntimeError(f'libvirtd has ended: {(self.folder / "log/output").read_text()}')
        return False

    def stop_daemon(self, number=signal.SIGTERM):
        """libvirtd alone; machines and network go on."""
        os.kill(self.pid, number)
        self.resume()
        self.daemon.wait(PATIENCE)
        self.daemon = self.pid = None

    def kill_daemon(self):
        self.stop_daemon(signal.SIGKILL)

    @contextlib.contextmanager
    def paused(self):
        """libvirtd does not answer, until the end or until it is stopped."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            if self.pid is not None:
                self.resume()

    def resume(self):
        for pid in self.pid, self.daemon.pid:  # nsenter stops itself when its child is stopped
            with contextlib.suppress(ProcessLookupError):  # it may have ended
                os.kill(pid, signal.SIGCONT)

    def stop(self):
        """All of it, as if its power failed. What is in files stays."""
        if self.namespaces is None:
            return
        self.namespaces.kill()
        self.namespaces.wait(PATIENCE)
        if self.daemon is not None:
            self.daemon.wait(PATIENCE)
        self.namespaces = self.daemon = self.pid = None
        (self.folder / 'ready').unlink(missing_ok=True)
        shutil.rmtree(self.folder / 'run')
        (self.folder / 'run').mkdir()
        subprocess.run(['ip', 'link', 'delete', self.bridge], stderr=subprocess.DEVNULL)

    def virsh(self, *arguments):
        """Returns the command's output."""
        done = subprocess.run(['virsh', '-q', '-c', self.uri, *map(str, arguments)], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=PATIENCE)
        if done.returncode != 0:
            raise RuntimeError(f'virsh {arguments}: {done.stderr}')
        return done.stdout

    def domains(self):
        """The names of all domains, running or not."""
        return set(self.virsh('list', '--all', '--name').split())

    def running(self):
        return set(self.virsh('list', '--name').split())

    def volumes(self):
        self.virsh('pool-refresh', 'default')
        return {line.split()[0] for line in self.virsh('vol-list', 'default').splitlines() if line.strip()}

    def add_volume(self, name, file):
        """Uploads a qcow2 file into the storage pool."""
        self.virsh('vol-create-as', 'default', name, '1M', '--format', 'qcow2')
        self.virsh('vol-upload', name, file, '--pool', 'default')

    def clear(self):
        """Deletes all domains and volumes."""
        for name in self.running():
            self.virsh('destroy', name)
        for name in self.domains():
            self.virsh('undefine', name, '--nvram')
        for name in self.volumes():
            self.virsh('vol-delete', name, '--pool', 'default')

    def machine_process(self, domain):
        """The pid of a domain's QEMU."""
        found = subprocess.run(['pgrep', '-f', f'qemu-system.* guest={domain},'], text=True, stdout=subprocess.PIPE)
        (pid,) = found.stdout.split()
        return int(pid)


def child_of(pid):
    found = subprocess.run(['pgrep', '-P', str(pid)], text=True, stdout=subprocess.PIPE).stdout.split()
    return int(found[0]) if found else None
