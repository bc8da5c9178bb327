"""etcd, kube-apiserver and kube-controller-manager on the loopback, on free ports."""
import base64
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

from certificates import Authority

HERE = pathlib.Path(__file__).parent
PATIENCE = 300  # seconds: no verdict depends on how busy the machine is
CONTROLLERS = [f'{name}-controller' for name in (
    'namespace', 'serviceaccount', 'serviceaccount-token', 'garbage-collector', 'resourcequota',
    'clusterrole-aggregation')
] + ['root-ca-certificate-publisher-controller']


def programs():
    """Where the built programs are."""
    line = f'. {HERE}/version; echo "$kubernetes_bin"'
    return pathlib.Path(subprocess.check_output(['bash', '-c', line], text=True).strip())


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(('127.0.0.1', 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def encoded(path):
    return base64.b64encode(path.read_bytes()).decode()


class ControlPlane:
    """One cluster, with all it needs in a folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).absolute()
        self.tls = self.folder / 'tls'
        self.state = self.folder / 'state.json'
        self.kubeconfig = self.folder / 'kubeconfig'
        known = json.loads(self.state.read_text()) if self.state.exists() else {}
        self.ports = known.get('ports')
        self.pids = known.get('pids', {})

    @property
    def url(self):
        return f'https://127.0.0.1:{self.ports[0]}'

    def start(self):
        self.tls.mkdir(parents=True, exist_ok=True)
        self.tls.chmod(0o700)
        (self.folder / 'log').mkdir(exist_ok=True)
        self.ports = self.ports or free_ports(3)
        if not (self.tls / 'ca.pem').exists():
            self.make_certificates()
        self.kubeconfig.write_text(json.dumps(self.config_of(
            'admin', {'client-certificate-data': encoded(self.tls / 'admin.pem'),
                      'client-key-data': encoded(self.tls / 'admin.key')})))
        try:
            self.start_programs()
        except BaseException:
            self.stop()
            raise

    def config_of(self, user, credentials):
        """A kubeconfig for somebody with these credentials."""
        return {'apiVersion': 'v1', 'kind': 'Config', 'current-context': 'local',
                'clusters': [{'name': 'local', 'cluster': {
                    'server': self.url, 'certificate-authority-data': encoded(self.tls / 'ca.pem')}}],
                'users': [{'name': user, 'user': credentials}],
                'contexts': [{'name': 'local', 'context': {'cluster': 'local', 'user': user}}]}

    def make_certificates(self):
        authority = Authority(self.tls)
        authority.openssl('genrsa', '-out', 'accounts.key', '2048')
        authority.openssl('rsa', '-in', 'accounts.key', '-pubout', '-out', 'accounts.pub')
        names = 'subjectAltName=IP:127.0.0.1,DNS:localhost,IP:10.0.0.1'
        authority.issue('server', '/CN=kube-apiserver', names)
        authority.issue('admin', '/O=system:masters/CN=admin')
        authority.issue('proxy', '/CN=front-proxy')
        # `launcher` may do nothing, until a test says what.
        (self.tls / 'tokens.csv').write_text('admin-token,admin,admin,system:masters\n'
                                             'launcher-token,launcher,launcher\n')

    def start_programs(self):
        api, etcd, peers = self.ports
        tls, bin = self.tls, programs()
        self.launch('etcd', [
            'etcd', '--data-dir', self.folder / 'etcd', '--unsafe-no-fsync',
            '--listen-client-urls', f'http://127.0.0.1:{etcd}', '--advertise-client-urls', f'http://127.0.0.1:{etcd}',
            '--listen-peer-urls', f'http://127.0.0.1:{peers}',
            '--initial-advertise-peer-urls', f'http://127.0.0.1:{peers}',
            '--initial-cluster', f'default=http://127.0.0.1:{peers}'], f'http://127.0.0.1:{etcd}/health')
        self.launch('kube-apiserver', [
            bin / 'kube-apiserver', '--etcd-servers', f'http://127.0.0.1:{etcd}',
            '--bind-address', '127.0.0.1', '--advertise-address', '127.0.0.1', '--endpoint-reconciler-type', 'none',
            '--secure-port', api, '--tls-cert-file', tls / 'server.pem', '--tls-private-key-file', tls / 'server.key',
            '--client-ca-file', tls / 'ca.pem', '--token-auth-file', tls / 'tokens.csv',
            '--authorization-mode', 'RBAC', '--service-account-issuer', 'https://kubernetes.default.svc',
            '--service-account-key-file', tls / 'accounts.pub', '--service-account-signing-key-file',
            tls / 'accounts.key', '--service-cluster-ip-range', '10.0.0.0/24',
            '--allow-privileged=true',
            # For the project API, which is served beside it.
            '--requestheader-client-ca-file', tls / 'ca.pem', '--requestheader-username-headers', 'X-Remote-User',
            '--requestheader-group-headers', 'X-Remote-Group', '--requestheader-extra-headers-prefix',
            'X-Remote-Extra-', '--proxy-client-cert-file', tls / 'proxy.pem',
            '--proxy-client-key-file', tls / 'proxy.key'], f'{self.url}/readyz')
        self.launch('kube-controller-manager', [
            bin / 'kube-controller-manager', '--kubeconfig', self.kubeconfig, '--leader-elect=false',
            '--bind-address', '127.0.0.1', '--secure-port', '0', '--root-ca-file', tls / 'ca.pem',
            '--service-account-private-key-file', tls / 'accounts.key', '--use-service-account-credentials=false',
            '--controllers', ','.join(CONTROLLERS)],
            f'{self.url}/api/v1/namespaces/default/serviceaccounts/default')

    def launch(self, name, command, url):
        if name not in self.pids:
            with open(self.folder / 'log' / name, 'a') as log:
                process = subprocess.Popen([str(each) for each in command], stdin=subprocess.DEVNULL, stdout=log,
                                           stderr=subprocess.STDOUT, start_new_session=True)
            self.pids[name] = process.pid
            self.state.write_text(json.dumps({'ports': self.ports, 'pids': self.pids}))
        deadline = time.monotonic() + PATIENCE
        while subprocess.run(['curl', '-sf', '--cacert', self.tls / 'ca.pem', '-H', 'Authorization: Bearer admin-token',
                              '-o', '/dev/null', url], check=False).returncode != 0:
            if time.monotonic() > deadline:
                raise TimeoutError(f'{name} does not get ready: see {self.folder}/log/{name}')
            time.sleep(0.2)

    def stop(self):
        for name in reversed(list(self.pids)):
            pid = self.pids.pop(name)
            try:
                os.kill(pid, signal.SIGTERM)
                self.await_end(pid)
            except ProcessLookupError:
                pass
        self.state.write_text(json.dumps({'ports': self.ports, 'pids': self.pids}))

    @staticmethod
    def await_end(pid):
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass  # of an earlier process
            os.kill(pid, 0)
            time.sleep(0.05)
        os.kill(pid, signal.SIGKILL)


if __name__ == '__main__':
    plane = ControlPlane(sys.argv[2])
    plane.start() if sys.argv[1] == 'start' else plane.stop()
    print(f'{plane.url} KUBECONFIG={plane.kubeconfig}' if sys.argv[1] == 'start' else 'stopped')
