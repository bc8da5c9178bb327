"""The API of OpenShift's projects, beside a kube-apiserver, which passes its calls on (an aggregated API).

A project is a namespace that remembers who has asked for it, and whose administrator that is; nobody else sees it.
Labels of requests are dropped, as by OpenShift's default template. Who may call what is decided by the kube-apiserver.
"""
import http.server
import json
import ssl
import threading
import time

from api import Refused

GROUP = 'project.openshift.io'
ROOT = f'/apis/{GROUP}/v1'
REQUESTER = 'openshift.io/requester'


def project_of(namespace):
    kept = ('name', 'uid', 'resourceVersion', 'creationTimestamp', 'deletionTimestamp', 'annotations', 'labels')
    return {'apiVersion': f'{GROUP}/v1', 'kind': 'Project', 'status': namespace.get('status', {}),
            'metadata': {key: value for key, value in namespace['metadata'].items() if key in kept}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *_):
        pass

    @property
    def user(self):
        return self.headers.get('X-Remote-User', '')

    def answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(text)))
        self.end_headers()
        try:
            self.wfile.write(text)
        except OSError:
            self.close_connection = True  # nobody waits for it any more

    def refuse(self, status, message):
        reason = {403: 'Forbidden', 409: 'AlreadyExists'}.get(status, '')
        self.answer(status, {'apiVersion': 'v1', 'kind': 'Status', 'status': 'Failure', 'code': status,
                             'reason': reason, 'message': message})

    def projects(self):
        namespaces = self.server.admin.items('/api/v1/namespaces')
        return [project_of(each) for each in namespaces
                if each['metadata'].get('annotations', {}).get(REQUESTER) == self.user]

    def do_GET(self):
        path, _, query = self.path.partition('?')
        if path == ROOT:
            return self.answer(200, {'apiVersion': 'v1', 'kind': 'APIResourceList', 'groupVersion': f'{GROUP}/v1',
                                     'resources': [
                {'name': 'projects', 'kind': 'Project', 'namespaced': False, 'singularName': 'project',
                 'verbs': ['get', 'list', 'watch', 'delete']},
                {'name': 'projectrequests', 'kind': 'ProjectRequest', 'namespaced': False,
                 'singularName': 'projectrequest', 'verbs': ['create']}]})
        if path == f'{ROOT}/projects':
            if 'watch=true' in query:
                return self.watch()
            return self.answer(200, {'apiVersion': f'{GROUP}/v1', 'kind': 'ProjectList', 'metadata': {},
                                     'items': self.projects()})
        name = path.rpartition('/')[2]
        for project in self.projects():
            if project['metadata']['name'] == name:
                return self.answer(200, project)
        self.refuse(403, f'projects.{GROUP} "{name}" is forbidden: User "{self.user}" cannot get it')

    def watch(self):
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Connection', 'close')
        self.end_headers()
        self.close_connection = True
        seen = {}
        until = time.monotonic() + 60
        while time.monotonic() < until and not self.server.ended.wait(0.2):
            now = {each['metadata']['name']: each for each in self.projects()}
            if now != seen:
                self.wfile.write(json.dumps({'type': 'MODIFIED', 'object': {}}).encode() + b'\n')
                self.wfile.flush()
            seen = now

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers.get('Content-Length', 0))))
        name = request['metadata']['name']
        admin = self.server.admin
        try:
            namespace = admin.call('POST', '/api/v1/namespaces', {'metadata': {'name': name, 'annotations': {
                REQUESTER: self.user, 'openshift.io/description': request.get('description', ''),
                'openshift.io/display-name': request.get('displayName', '')}}})
        except Refused as refused:
            return self.refuse(refused.status, str(refused))
        admin.call('POST', f'/apis/rbac.authorization.k8s.io/v1/namespaces/{name}/rolebindings', {
            'metadata': {'name': 'admin'},
            'subjects': [{'kind': 'User', 'name': self.user, 'apiGroup': 'rbac.authorization.k8s.io'}],
            'roleRef': {'kind': 'ClusterRole', 'name': 'admin', 'apiGroup': 'rbac.authorization.k8s.io'}})
        while not self.is_administrator(name):  # the real one waits for it, too
            time.sleep(0.02)
        self.answer(201, project_of(namespace))

    def is_administrator(self, namespace):
        review = self.server.admin.call('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
            'spec': {'user': self.user, 'resourceAttributes': {
                'namespace': namespace, 'resource': 'serviceaccounts', 'verb': 'create'}}})
        return review['status']['allowed']

    def do_DELETE(self):
        self.rfile.read(int(self.headers.get('Content-Length', 0)))
        name = self.path.partition('?')[0].rpartition('/')[2]
        if name not in [each['metadata']['name'] for each in self.projects()]:
            return self.refuse(403, f'projects.{GROUP} "{name}" is forbidden')
        self.server.admin.delete(f'/api/v1/namespaces/{name}')
        self.answer(200, {'apiVersion': 'v1', 'kind': 'Status', 'status': 'Success'})


class ProjectApi:
    """The server, and the kube-apiserver's knowledge of it."""

    def __init__(self, plane, admin):
        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.server.daemon_threads = True
        self.server.admin = admin
        self.server.ended = threading.Event()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(plane.tls / 'server.pem', plane.tls / 'server.key')
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        port = self.server.server_address[1]
        self.admin = admin
        admin.delete('/api/v1/namespaces/default/services/projects')
        admin.delete(f'/apis/apiregistration.k8s.io/v1/apiservices/v1.{GROUP}')
        admin.apply('/api/v1/namespaces/default/services', {
            'metadata': {'name': 'projects'}, 'spec': {'type': 'ExternalName', 'externalName': 'localhost'}})
        admin.apply('/apis/apiregistration.k8s.io/v1/apiservices', {
            'metadata': {'name': f'v1.{GROUP}'}, 'spec': {
                'group': GROUP, 'version': 'v1', 'groupPriorityMinimum': 1000, 'versionPriority': 10,
                'insecureSkipTLSVerify': True,
                'service': {'namespace': 'default', 'name': 'projects', 'port': port}}})

    def is_served(self):
        try:
            self.admin.get(f'{ROOT}/projects')
        except Refused:
            return False
        return True

    def stop(self):
        self.admin.delete(f'/apis/apiregistration.k8s.io/v1/apiservices/v1.{GROUP}')
        self.admin.delete('/api/v1/namespaces/default/services/projects')
        self.server.ended.set()
        self.server.shutdown()
        self.thread.join()
