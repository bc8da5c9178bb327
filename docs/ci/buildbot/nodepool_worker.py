"""A latent Buildbot worker: leases a Nodepool node for a build and releases it afterwards."""
import json
import pathlib
import shlex
import tempfile
import uuid

import treq
from buildbot.interfaces import LatentWorkerCannotSubstantiate, LatentWorkerFailedToSubstantiate
from buildbot.worker import AbstractLatentWorker
from twisted.internet import defer, error, protocol, reactor, task
from twisted.python import log
from twisted.web.client import ResponseFailed

# Script for the node's shell. The worker ends with the connection, because the master may be dead.
START = r'''
umask 077
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
sed '/^# end$/q' >"$directory/buildbot.tac"
exec 3<&0
"$0" start --nodaemon "$directory" &
worker=$!
{ cat <&3; kill "$worker"; } >/dev/null 2>&1 &
wait "$worker"
'''

TAC = '''
from buildbot_worker.bot import Worker
from twisted.application import service
application = service.Application('buildbot-worker')
Worker({host!r}, {port}, {name!r}, {password!r}, basedir='.', keepalive=60).setServiceParent(application)
# end
'''

ATTEMPTS = 10  # of a call; a launcher may restart
PAUSE = 2      # seconds between attempts
WAIT = 30      # seconds; a call waits for a node at most so long


class Refused(Exception):
    def __init__(self, status, detail):
        super().__init__(detail)
        self.status = status


class Connection(protocol.ProcessProtocol):
    """An ssh process that runs the worker."""

    def __init__(self, tac):
        self.tac = tac
        self.ended = defer.Deferred()
        self.is_alive = True
        self.output = b''

    def connectionMade(self):
        self.transport.write(self.tac.encode())

    def outReceived(self, data):
        self.output = (self.output + data)[-2000:]

    errReceived = outReceived

    def processEnded(self, reason):
        self.is_alive = False
        self.ended.callback(None)

    @defer.inlineCallbacks
    def close(self):
        if not self.is_alive:
            return
        self.transport.closeStdin()
        killing = reactor.callLater(10, self.kill)
        yield self.ended
        if killing.active():
            killing.cancel()

    def kill(self):
        try:
            self.transport.signalProcess('KILL')
        except error.ProcessExitedAlready:
            pass


class NodepoolWorker(AbstractLatentWorker):
    """url: a launcher's request API. token_file, ssh_key: files on the master's host. master: address at which the node
    reaches the master, 'host:port'. lease: seconds; renewed while the node is in use, and the time until the node is
    reclaimed if the master dies."""

    def checkConfig(self, name, url, token_file, label, ssh_key, master, lease=600, timeout=600,
                    program='buildbot-worker', build_wait_timeout=0, **options):
        super().checkConfig(name, None, build_wait_timeout=build_wait_timeout, **options)

    def reconfigService(self, name, url, token_file, label, ssh_key, master, lease=600, timeout=600,
                        program='buildbot-worker', build_wait_timeout=0, **options):
        self.url = url
        self.token_file = pathlib.Path(token_file)
        self.label = label
        self.ssh_key = ssh_key
        self.master_host, port = master.rsplit(':', 1)
        self.master_port = int(port)
        self.lease = lease
        self.timeout = timeout
        self.program = program
        if not hasattr(self, 'lease_id'):
            self.lease_id = self.connection = self.renewal = self.directory = self.lost = None
        return super().reconfigService(name, self.getRandomPass(), build_wait_timeout=build_wait_timeout, **options)

    @defer.inlineCallbacks
    def call(self, method, path, body=None, key=None):
        """Returns the answer's document. Retries after a lost connection: calls must be idempotent or have a key."""
        headers = {'Authorization': f'Bearer {self.token_file.read_text().strip()}'}
        if key is not None:
            headers['Idempotency-Key'] = key
        options = {} if body is None else {'json': body}
        for attempt in range(1, ATTEMPTS + 1):
            try:
                response = yield treq.request(method, f'{self.url}/api/v1/{path}', headers=headers, persistent=False,
                                              timeout=WAIT + 30, **options)
                text = yield response.text()
                if response.code != 503 or attempt == ATTEMPTS:
                    break
            except (error.ConnectError, error.ConnectionClosed, error.TimeoutError, defer.CancelledError,
                    ResponseFailed):
                if attempt == ATTEMPTS:
                    raise
            yield task.deferLater(reactor, PAUSE)
        document = json.loads(text) if text else {}
        if response.code >= 400:
            raise Refused(response.code, document.get('detail', f'status {response.code}'))
        return document

    @defer.inlineCallbacks
    def start_instance(self, build):
        self.lost = None
        body = {'labels': [self.label], 'lease': self.lease, 'timeout': self.timeout,
                'holder': f'buildbot: {self.name}'}
        try:
            document = yield self.call('POST', 'requests', body, key=f'{self.name}/{uuid.uuid4()}')
            self.lease_id = document['id']
            while document['state'] in ('requested', 'pending') or (
                    document['state'] == 'fulfilled' and not document.get('lease')):
                document = yield self.call('GET', f'requests/{self.lease_id}?wait={WAIT}s')
        except Refused as refused:
            if refused.status == 404:  # the request has timed out; another attempt may succeed
                raise LatentWorkerFailedToSubstantiate(self.name, str(refused)) from refused
            raise LatentWorkerCannotSubstantiate(str(refused)) from refused
        if not document.get('lease'):
            raise LatentWorkerCannotSubstantiate(f'no pool has {self.label}: {document.get("declined")}')
        node = document['lease']['nodes'][0]
        self.renewal = task.LoopingCall(self.renew)
        self.renewal.start(self.lease / 3, now=False)
        self.connect(node)
        return f'{node["interface_ip"]}, lease {self.lease_id}'

    def connect(self, node):
        self.directory = tempfile.TemporaryDirectory(prefix='nodepool-')
        known_hosts = pathlib.Path(self.directory.name) / 'known_hosts'
        host = node['interface_ip']
        port = str(node.get('connection_port') or 22)
        known_hosts.write_text(''.join(f'nodepool {key}\n' for key in node['host_keys']))
        tac = TAC.format(host=self.master_host, port=self.master_port, name=self.name, password=self.password)
        self.connection = Connection(tac)
        command = ['ssh', '-F', 'none', '-i', self.ssh_key, '-p', port, '-l', node['username'], '-o', 'BatchMode=yes',
                   '-o', 'ServerAliveInterval=15', '-o', f'UserKnownHostsFile={known_hosts}', '-o',
                   'HostKeyAlias=nodepool', '-o', 'StrictHostKeyChecking=yes', '--', host,
                   f'sh -c {shlex.quote(START)} {shlex.quote(self.program)}']
        reactor.spawnProcess(self.connection, command[0], command, env=None)

    @defer.inlineCallbacks
    def renew(self):
        try:
            yield self.call('POST', f'leases/{self.lease_id}/renew', {'lease': self.lease})
        except Refused as refused:
            self.lost = str(refused)
        except Exception:  # no launcher answers; retried at the next renewal
            log.err(None, f'{self.name}: its lease could not be renewed')

    def check_instance(self):
        if self.lost is not None:
            return False, f'the lease has ended: {self.lost}'
        if self.connection is not None and not self.connection.is_alive:
            return False, f'the connection to the node has ended: {self.connection.output.decode(errors="replace")}'
        return True, ''

    @defer.inlineCallbacks
    def stop_instance(self, fast=False):
        if self.renewal is not None:
            self.renewal.stop()
            self.renewal = None
        if self.connection is not None:
            yield self.connection.close()
            self.connection = None
            self.directory.cleanup()
        if self.lease_id is not None:
            try:
                yield self.call('DELETE', f'requests/{self.lease_id}')
            except Exception:  # the lease expires by itself
                log.err(None, f'{self.name}: lease {self.lease_id} could not be released')
            self.lease_id = None
        return True
