"""A simulated Compute Engine with Google's token endpoint and the metadata server, at one address.

    server.py DIRECTORY [PORT]

writes the keys of a service account and of a user to the directory, and a line of JSON with the URL when it answers.
Its own calls are below /suite/, see `Suite`; each is a POST with JSON and answers with what has happened so far.
"""
import collections
import contextlib
import http.server
import json
import pathlib
import socket
import sys
import time
import urllib.parse

from catalog import IMAGE_PROJECT, PROJECT, WWW
from judge import Judge
from listings import Malformed, page
from project import OWN, Project, Refusal, not_found
from tokens import PLATFORM_SCOPE, Refused, Tokens, USER

ACCOUNT = f'ci@{PROJECT}.iam.gserviceaccount.com'
DEFAULTS = {
    'latency': 0, 'pending': 0.05, 'starting': 0.05, 'stopping': 0.1,  # seconds: of each call; an operation is PENDING;
    # an instance is PROVISIONING, then as long STAGING; it is STOPPING
    'wait': 120,             # seconds that zoneOperations.wait takes at most
    'token_seconds': 3600,
    'page_size': 500,        # of lists, at most
    'external_network': '34.68',
    'denied': []}            # permissions that the account does not have
METADATA = {
    'project/project-id': PROJECT, 'project/numeric-project-id': '1', 'universe/universe-domain': 'googleapis.com',
    'instance/zone': 'projects/1/zones/us-central1-a', 'instance/service-accounts/default/email': ACCOUNT,
    'instance/service-accounts/': f'default/\n{ACCOUNT}/\n'}
RATE_REASONS = {'rateLimitExceeded', 'userRateLimitExceeded', 'quotaExceeded'}


class Gone(Exception):
    """The connection ends without an answer."""


class Suite:
    """What the suite wants, and what it has seen."""

    def __init__(self, url):
        self.settings = {**DEFAULTS, 'token_uri': f'{url}/token'}
        self.judge = Judge()
        self.tokens = Tokens(ACCOUNT, self.settings)
        self.project = Project(self.settings, ACCOUNT)
        self.waiting = collections.Counter()
        self.lock = self.project.changed
        self.reset()

    def reset(self):
        self.settings.update(DEFAULTS)
        self.project.reset()
        self.tokens.revoke_all()
        self.problems, self.exchanges, self.permissions = [], [], set()
        self.failures, self.cuts, self.held = {}, {}, {}

    def control(self, what, content):
        project = self.project
        if what in ('failures', 'cuts', 'held'):  # by method, see failed(), of_list(), pass_hold()
            setattr(self, what, content)
        elif what == 'limits':  # by region, or `global`, by metric
            for region, limits in content.items():
                (project.global_limits if region == 'global' else project.limits[region]).update(limits)
        elif what == 'settings':
            self.settings.update(content)
        elif what == 'stockouts':  # the code of the operations' error by zone
            project.stockouts.update(content)
        elif what == 'step':
            project.step()
        elif what == 'revoke':
            self.tokens.revoke_all()
        elif what == 'reset':
            self.reset()
        elif what == 'add':
            project.add_instances(f'{OWN}/zones/{content.pop("zone")}/instances', **content)
        elif what in ('preempt', 'terminate', 'remove', 'update', 'console'):
            self.change_instance(what, **content)
        self.lock.notify_all()
        return {'problems': self.problems, 'waiting': self.waiting, 'permissions': sorted(self.permissions),
                'exchanges': self.exchanges,
                'calls': collections.Counter(exchange['method'] for exchange in self.exchanges),
                'things': {path: thing for path, thing in project.things.items()
                           if '/instances/' in path or '/disks/' in path}}

    def change_instance(self, what, zone, name, **more):
        path = f'{OWN}/zones/{zone}/instances/{name}'
        if what == 'console':
            self.project.consoles[path] = more['contents']
        elif what == 'update':
            self.project.things[path].update(more)
        else:
            getattr(self.project, what)(path)

    # --- calls

    def answer(self, verb, target, headers, body):
        """Status, headers and text of the answer."""
        url = urllib.parse.urlsplit(target)
        with self.lock:
            self.project.settle()
            if url.path.startswith('/suite/'):
                answer = 200, {}, self.control(url.path.removeprefix('/suite/'), json.loads(body or b'{}'))
            elif url.path == '/token':
                answer = self.token_answer(verb, headers, body)
            elif url.path.endswith(f'{ACCOUNT}:generateAccessToken'):
                answer = self.impersonation_answer(verb, headers, body)
            elif url.path == '/' or url.path.startswith('/computeMetadata/'):
                answer = self.metadata_answer(verb, url, headers)
            else:
                answer = self.api_answer(verb, url, headers, body)
            status, more, content = answer
            return status, more, content if isinstance(content, str) else json.dumps(content, indent=1)

    def failed(self, method, perform):
        """The answer if the suite wants a failure, else None. Each is null: no failure, or some of `delay`: seconds;
        `done`: it is performed nevertheless; `drop`: no answer; `status`, `reason`, `message`, `headers`, `text`: that
        answer."""
        failures = self.failures.get(method)
        failure = failures.pop(0) if failures else None
        self.pass_hold(method)
        self.pause(self.settings['latency'] + (failure or {}).get('delay', 0))
        if not failure or not {'drop', 'status'} & set(failure):
            return None
        if failure.get('done'):
            perform()
        if failure.get('drop'):
            raise Gone
        status, reason = failure['status'], failure.get('reason', 'backendError')
        content = failure.get('text') or error(Refusal(status, reason, failure.get('message', 'As the suite wants it')))
        return status, failure.get('headers', {}), content

    def pass_hold(self, method):
        """So many calls of the method pass yet. The others wait until the suite lets go of them, and are lost: who has
        made them is gone."""
        if self.held.get(method) == 0:
            self.waiting[method] += 1
            self.lock.wait_for(lambda: self.held.get(method) != 0)
            self.waiting[method] -= 1
            raise Gone
        if self.held.get(method):
            self.held[method] -= 1

    def pause(self, seconds):
        if seconds:
            self.lock.release()
            time.sleep(seconds)
            self.lock.acquire()
            self.project.settle()

    def token_answer(self, verb, headers, body):
        form = dict(urllib.parse.parse_qsl(body.decode()))

        def perform():
            if verb != 'POST' or not headers.get('content-type', '').startswith('application/x-www-form-urlencoded'):
                raise Refused('invalid_request', 'Not a form that is posted')
            return 200, {}, self.tokens.grant(form)
        try:
            answer = self.failed('token', perform) or perform()
        except Refused as refused:
            code, description = refused.args
            self.problems.append(f'token: {code}: {description}')
            answer = 400, {}, {'error': code, 'error_description': description}
        self.note('token', verb, '/token', {'grant_type': form.get('grant_type')}, None, answer[0])
        return answer

    def impersonation_answer(self, verb, headers, body):
        kind, _, token = headers.get('authorization', '').partition(' ')
        try:
            if verb != 'POST' or kind != 'Bearer':
                raise Refused('UNAUTHENTICATED', 'No token')
            answer = 200, {}, self.tokens.impersonate(token, json.loads(body))
        except Refused as refused:
            code, message = refused.args
            self.problems.append(f'impersonation: {code}: {message}')
            answer = 403, {}, {'error': {'code': 403, 'status': code, 'message': message}}
        self.note('impersonation', verb, '/generateAccessToken', {}, None, answer[0])
        return answer

    def metadata_answer(self, verb, url, headers):
        query, path = dict(urllib.parse.parse_qsl(url.query)), url.path.removeprefix('/computeMetadata/v1/')
        own = {'Metadata-Flavor': 'Google', 'Server': 'Metadata Server for VM'}
        if verb != 'GET' or headers.get('metadata-flavor') != 'Google' or 'x-forwarded-for' in headers:
            self.problems.append(f'metadata: {url.path} is refused without the header or through a proxy')
            return 403, own, 'Missing Metadata-Flavor:Google header.'
        answer = self.failed('metadata', lambda: None) or (404, own, 'not found')
        account, _, what = path.partition('instance/service-accounts/')[2].partition('/')
        if answer[0] == 404 and account in ('default', ACCOUNT) and what == 'token':
            answer = 200, own, self.tokens.issue(query.get('scopes', PLATFORM_SCOPE).split(','))
        elif answer[0] == 404 and account in ('default', ACCOUNT) and what == '' and query.get('recursive') == 'true':
            answer = 200, own, {'aliases': ['default'], 'email': ACCOUNT, 'scopes': [PLATFORM_SCOPE]}
        elif answer[0] == 404 and (path in METADATA or path == '/'):
            answer = 200, own, METADATA.get(path, 'computeMetadata/\n')
        self.note('metadata', verb, url.path, query, None, answer[0])
        return answer

    def api_answer(self, verb, url, headers, body):
        method, variables = self.judge.find(verb, url.path)
        if method is None:
            self.problems.append(f'{verb} {url.path}: there is no such method')
            return 404, {}, error(Refusal(404, 'notFound', 'Not Found'))
        pairs = urllib.parse.parse_qsl(url.query, keep_blank_values=True)
        problems = self.judge.request_problems(method, variables, pairs, headers, body)
        self.problems += problems
        content = json.loads(body) if method.request and not problems else None

        def perform():
            if problems:
                raise Refusal(400, 'invalid', '; '.join(problems))
            self.authorize(method, variables, headers, content)
            return self.perform(method, variables, dict(pairs), url.path.removeprefix(self.judge.base), content)
        try:
            answer = self.failed(method.id, perform) or (200, {}, perform())
        except Refusal as refusal:
            answer = refusal.code, {'WWW-Authenticate': 'Bearer'} if refusal.code == 401 else {}, error(refusal)
        except Malformed as malformed:
            self.problems.append(f'{method.id}: {malformed}')
            answer = 400, {}, error(Refusal(400, 'invalid', str(malformed)))
        except Gone:
            self.note(method.id, verb, url.path, dict(pairs), content, 0)
            raise
        self.note(method.id, verb, url.path, dict(pairs), content, answer[0])
        if not isinstance(answer[2], str):
            self.problems += self.judge.answer_problems(method, answer[0], answer[2])
        return answer

    def note(self, method, verb, path, query, body, status):
        self.exchanges.append({'method': method, 'verb': verb, 'path': path, 'query': query, 'body': body,
                               'status': status})

    def authorize(self, method, variables, headers, content):
        kind, _, token = headers.get('authorization', '').partition(' ')
        if kind != 'Bearer':
            self.problems.append(f'{method.id}: no token')
            raise unauthenticated()
        scopes = self.tokens.scopes(token)
        if scopes is None:
            raise unauthenticated()
        if not scopes & method.scopes:
            raise Refusal(403, 'insufficientPermissions', 'Request had insufficient authentication scopes.',
                          status='PERMISSION_DENIED')
        if variables['project'] == IMAGE_PROJECT and method.id.startswith('compute.images.'):
            return
        if variables['project'] != PROJECT:
            raise not_found(f'projects/{variables["project"]}')
        needed = permissions(method.id, content or {})
        self.permissions.update(needed)
        for permission in needed:
            if permission in self.settings['denied']:
                raise Refusal(403, 'forbidden', f"Required '{permission}' permission for '{OWN}'")

    def perform(self, method, variables, query, path, content):
        """What the API answers. The path is that of the thing, apart from a verb in the end."""
        project, what = self.project, method.id.rpartition('.')[2]
        for kind in ('zone', 'region'):
            if kind in variables and f'{OWN}/{kind}s/{variables[kind]}' not in project.things:
                raise Refusal(400, 'invalid', f"Invalid value for field '{kind}': '{variables[kind]}'. Unknown {kind}.")
        if what == 'list':
            return self.of_list(method, query, path)
        if what == 'getFromFamily':
            return project.family(variables['project'], variables['family'])
        if what == 'get':
            return project.get(path)
        if method.id == 'compute.zoneOperations.wait':
            operation = project.get(path.removesuffix('/wait'))
            project.wait_until_done(operation, self.settings['wait'])
            return operation
        if method.id == 'compute.instances.getSerialPortOutput':
            return self.serial_port(path.removesuffix('/serialPort'), query)
        if method.id == 'compute.instances.insert':
            return project.once(method.id, query.get('requestId'), content, lambda: project.insert(path, content))
        if method.id in ('compute.instances.delete', 'compute.disks.delete'):
            return project.once(method.id, query.get('requestId'), path, lambda: project.delete(path))
        self.problems.append(f'{method.id} is not simulated')
        raise Refusal(501, 'notImplemented', f'{method.id} is not simulated')

    def serial_port(self, path, query):
        self.project.get(path)
        contents = self.project.consoles.get(path, '').encode() if query.get('port', '1') == '1' else b''
        start = int(query.get('start', 0))
        start = max(0, len(contents) + start) if start < 0 else min(start, len(contents))
        return {'kind': 'compute#serialPortOutput', 'contents': contents[start:].decode('utf-8', 'replace'),
                'start': str(start), 'next': str(len(contents)), 'selfLink': f'{WWW}{path}/serialPort'}

    def of_list(self, method, query, path):
        """A page. A cut is the number of things that the next list has instead of all."""
        schema = self.judge.schemas[method.response['$ref']]['properties']
        result = {'kind': schema['kind']['default'], 'id': path, 'selfLink': WWW + path}
        found, token = page(self.project.listed(path), query, path, self.settings['page_size'])
        if self.cuts.get(method.id):
            found, token = found[:self.cuts[method.id].pop(0)], None
        return {**result, **({'items': found} if found else {}), **({'nextPageToken': token} if token else {})}


def unauthenticated():
    return Refusal(401, 'authError', 'Request had invalid authentication credentials. Expected OAuth 2 access token, '
                   'login cookie or other valid authentication credential.', status='UNAUTHENTICATED')


def error(refusal):
    status = {'status': refusal.more['status']} if 'status' in refusal.more else {}
    return {'error': {'code': refusal.code, 'message': str(refusal), **status, 'errors': [
        {'message': str(refusal), 'domain': 'usageLimits' if refusal.reason in RATE_REASONS else 'global',
         'reason': refusal.reason}]}}


def permissions(method_id, content):
    """Those of the roles that a call needs."""
    collection, what = method_id.rsplit('.', 1)
    if method_id != 'compute.instances.insert':
        return [f'{collection}.{"get" if what == "wait" else what}']
    interfaces = content['networkInterfaces']
    needed = ['compute.instances.create', 'compute.subnetworks.use', *(
        ['compute.disks.create'] if any('initializeParams' in disk for disk in content['disks']) else [])]
    needed += ['compute.subnetworks.useExternalIp'] if any(one.get('accessConfigs') for one in interfaces) else []
    needed += [f'compute.instances.set{name.capitalize()}' for name in ('metadata', 'labels', 'tags')
               if content.get(name)]
    if content.get('serviceAccounts'):
        needed += ['compute.instances.setServiceAccount', 'iam.serviceAccounts.actAs']
    sources = [disk.get('initializeParams', {}).get('sourceImage', '') for disk in content['disks']]
    if any(f'{OWN}/' in source or source.startswith('global/') for source in sources):
        needed.append('compute.images.useReadOnly')
    return needed


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    suite = None

    def handle_call(self):
        body = self.rfile.read(int(self.headers.get('Content-Length') or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            status, more, text = self.suite.answer(self.command, self.path, headers, body)
        except Gone:
            self.close_connection = True
            with contextlib.suppress(OSError):  # who has made the call may be gone
                self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.send_response(status)
        kind = 'application/json; charset=UTF-8' if text.startswith('{') else 'text/html'
        for name, value in {'Content-Type': kind, 'Content-Length': str(len(text.encode())), **more}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())

    do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = handle_call

    def log_request(self, code='-', size='-'):
        if not self.path.startswith('/suite/state'):
            print(time.strftime('%H:%M:%S'), code, self.command, self.path, file=sys.stderr, flush=True)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def main():
    directory, port = pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    server = Server(('127.0.0.1', port), Handler)
    url = f'http://127.0.0.1:{server.server_port}'
    Handler.suite = Suite(url)
    directory.mkdir(parents=True, exist_ok=True)
    key = Handler.suite.tokens.key_file(PROJECT, f'{url}/token')
    (directory / 'key.json').write_text(json.dumps(key, indent=1))
    (directory / 'user.json').write_text(json.dumps({'type': 'authorized_user', **USER, 'token_uri': f'{url}/token'}))
    for name in 'external', 'impersonating':
        content = Handler.suite.tokens.external_account(directory, url, name == 'impersonating')
        (directory / f'{name}.json').write_text(json.dumps(content))
    print(json.dumps({'url': url}), flush=True)
    server.serve_forever()


if __name__ == '__main__':
    main()
