"""A requestor made of Zuul's own classes: what its scheduler and its executors do with Nodepool."""
import configparser
import contextlib
import threading
import types
import uuid

from zuul import model
from zuul.lib.tracing import Tracing
from zuul.nodepool import Nodepool
from zuul.zk import ZooKeeperClient
from zuul.zk.nodepool import NodeRequestEvent, ZooKeeperNodepool

from installation import PATIENCE

Tracing(configparser.ConfigParser())  # requests carry its data


class Zuul:
    """One session. `completions` counts how often each request was seen to be completed."""

    def __init__(self, servers):
        self.zookeeper = ZooKeeperClient(servers.connect_string(), timeout=10.0, tls_ca=servers.ca,
                                         tls_cert=servers.cert, tls_key=servers.key)
        self.zookeeper.connect()
        self.system_id = uuid.uuid4().hex
        self.nodepool = Nodepool(self.zookeeper, self.system_id, None)
        self.completions = {}
        self.changed = threading.Condition()
        self.records = ZooKeeperNodepool(self.zookeeper, enable_node_request_cache=True,
                                         node_request_event_callback=self.on_event,
                                         enable_node_cache=True)

    def on_event(self, request, event):
        if event == NodeRequestEvent.COMPLETED:
            with self.changed:
                self.completions[request.id] = self.completions.get(request.id, 0) + 1
                self.changed.notify_all()

    def ask(self, *labels, provider=None, priority=200, relative_priority=0):
        """Submits a request and returns it."""
        return self.nodepool.requestNodes(
            uuid.uuid4().hex, types.SimpleNamespace(uuid=uuid.uuid4().hex, name='job', nodeset=nodeset(labels)),
            'tenant', 'check', provider, priority, relative_priority)

    def revise(self, request, relative_priority):
        """What the scheduler does when the queue of a change has become shorter or longer."""
        self.nodepool.reviseRequest(self.records.getNodeRequest(request.id), relative_priority)

    def completed(self, request):
        return request.id in self.completions

    def answer(self, request):
        """The completed request, as soon as Zuul's cache has told of it."""
        with self.changed:
            if not self.changed.wait_for(lambda: self.completed(request), PATIENCE):
                raise TimeoutError(f'request {request.id} has not been completed')
        return self.records.getNodeRequest(request.id)

    def accept(self, request):
        """Locks the nodes of a request when it is fulfilled, and returns them as a node set."""
        answer = self.answer(request)
        if answer.state != model.STATE_FULFILLED:
            raise RuntimeError(f'request {request.id} is {answer.state}')
        nodes = nodeset(request.labels)
        self.nodepool.getNodesetInfo(answer, nodes)
        self.nodepool.acceptNodes(answer, nodes)
        return nodes

    def use(self, nodes):
        self.nodepool.useNodeSet(nodes, 'tenant', 'project')

    def give_back(self, nodes):
        self.nodepool.returnNodeSet(nodes, types.SimpleNamespace(uuid=uuid.uuid4().hex), 'tenant', 'project', 1)

    def hold(self, nodes, seconds):
        """Keeps nodes for a person to look at, as an autohold does."""
        hold = model.HoldRequest()
        hold.tenant, hold.project, hold.job, hold.ref_filter = 'tenant', 'project', 'job', '.*'
        hold.reason, hold.node_expiration = 'a look at the failure', seconds
        self.records.storeHoldRequest(hold)
        self.nodepool.holdNodeSet(nodes, hold, types.SimpleNamespace(uuid=uuid.uuid4().hex), 1)
        self.nodepool.unlockNodeSet(nodes)

    @contextlib.contextmanager
    def nodes(self, *labels, **more):
        """Nodes in use for the body of a `with`; then they are given back."""
        nodes = self.accept(self.ask(*labels, **more))
        self.use(nodes)
        yield nodes.getNodes()
        self.give_back(nodes)

    def die(self):
        """Ends the session with all its locks, as the death of an executor does."""
        self.zookeeper.client.stop()

    def close(self):
        self.zookeeper.disconnect()


def nodeset(labels):
    nodes = model.NodeSet()
    for position, label in enumerate(labels):
        nodes.addNode(model.Node([f'node{position}'], label))
    return nodes
