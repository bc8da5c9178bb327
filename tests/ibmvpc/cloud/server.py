"""A simulated region of IBM Cloud VPC, with IAM, the resource manager and the resource controller at one address, and
object storage at another.

    server.py DIRECTORY [PORT]

writes a credentials file to the directory, and a line of JSON with both URLs when it answers. Its own calls are below
/suite/, see `Suite`; each is a POST with JSON and answers with what has happened so far.
"""
import collections
import contextlib
import http.server
import json
import pathlib
import secrets
import socket
import sys
import time
import traceback
import urllib.parse
import uuid

from ibm_catalog import BASE, REGION, reference, TIMES
from ibm_vpc import vpc_v1
from judge import Judge, fields_of
from listings import Malformed, page
from region import not_simulated, Refusal, Region
from storage import Storage
from iam_tokens import API_KEY, Refused, Tokens

DEFAULTS = {
    **TIMES, 'latency': 0,   # seconds of each call
    'token_seconds': 3600,
    'page_size': 100,        # of lists, at most
    'external_network': '169.48',
    'floating_ip_status': 'available',  # of new ones, or `failed`
    'import_error': None,    # the status reason of images whose import fails
    'old_fields': False,     # answers also contain fields that IBM had before, see with_old_fields()
    'denied': []}            # calls that the account must not make
CREATED = ('create_', 'add_')  # calls that answer with 201
LISTED = {'instances', 'floating_ips', 'images', 'volumes', 'vpcs', 'subnets', 'keys', 'security_groups', 'regions',
          'zones', 'profiles', 'operating_systems', 'network_interfaces', 'volume_attachments'}
METHODS = {'create_instance', 'create_floating_ip', 'create_image', 'delete_instance', 'delete_floating_ip',
           'delete_image', 'delete_volume', 'update_floating_ip'}  # of Region, with the same names


class Gone(Exception):
    """The connection ends without an answer."""


class Suite:
    """What the suite wants, and what it has seen."""

    def __init__(self):
        self.settings = dict(DEFAULTS)
        self.judge = Judge()
        self.tokens = Tokens(self.settings)
        self.storage = Storage()
        self.region = Region(self.settings, self.storage)
        self.waiting = collections.Counter()
        self.lock = self.region.changed
        self.reset()

    def reset(self):
        self.settings.update(DEFAULTS)
        self.region.reset()
        self.storage.reset()
        self.tokens.revoke_all()
        self.problems, self.exchanges = [], []
        self.failures, self.cuts, self.held = {}, {}, {}

    def control(self, what, content):
        region = self.region
        if what in ('failures', 'cuts', 'held'):  # by call, see failed(), of_list(), pass_hold()
            setattr(self, what, content)
        elif what == 'limits':
            region.limits.update(content)
        elif what == 'settings':
            self.settings.update(content)
        elif what == 'stockouts':  # the status reason of instances by zone
            region.stockouts.update(content)
        elif what == 'step':
            region.step()
        elif what == 'revoke':
            self.tokens.revoke_all()
        elif what == 'reset':
            self.reset()
        elif what == 'add':
            region.add_instances(**content)
        elif what in ('stop', 'remove', 'update'):
            self.change(what, **content)
        self.lock.notify_all()
        return {'problems': self.problems, 'waiting': self.waiting, 'exchanges': self.exchanges,
                'calls': collections.Counter(exchange['call'] for exchange in self.exchanges),
                'groups': [one['name'] for one in region.groups], 'objects': self.storage.objects(),
                'things': {path: region.shown(path) for path in region.things
                           if path.split('/')[0] in ('instances', 'floating_ips', 'volumes', 'images', 'security_groups')}}

    def change(self, what, kind, name, **more):
        region = self.region
        path, = [path for path in region.below(kind) if region.things[path]['name'] == name]
        if what == 'update':
            region.things[path].update(more)
        elif what == 'stop':
            region.stop_instance(path, **more)
        elif kind == 'instances':
            region.remove_instance(path)
        else:
            region.things.pop(path)

    # --- calls

    def answer(self, verb, target, headers, body):
        """Status, headers and text of the answer."""
        url = urllib.parse.urlsplit(target)
        with self.lock:
            self.region.settle()
            if url.path.startswith('/suite/'):
                content = self.control(url.path.removeprefix('/suite/'), json.loads(body or b'{}'))
                return 200, {}, json.dumps(content)
            if url.path == '/identity/token':
                status, more, content = self.token_answer(verb, headers, body)
            else:
                status, more, content = self.api_answer(verb, url, headers, body)
            if content is None or isinstance(content, str):
                return status, more, content or ''
            text = json.dumps(content)
            host = headers.get('host', '')
            scheme = 'https' if host.endswith('.ibm.com') else 'http'
            return status, more, text.replace(BASE, f'{scheme}://{host}/v1')

    def failed(self, call, perform):
        """The answer if the suite wants a failure, else None. Each is null: no failure, or some of `delay`: seconds;
        `done`: it is performed nevertheless; `drop`: no answer; `status`, `code`, `message`, `headers`, `text`: that
        answer."""
        failures = self.failures.get(call)
        failure = failures.pop(0) if failures else None
        self.pass_hold(call)
        self.pause(self.settings['latency'] + (failure or {}).get('delay', 0))
        if not failure or not {'drop', 'status'} & set(failure):
            return None
        if failure.get('done'):
            perform()
        if failure.get('drop'):
            raise Gone
        refusal = Refusal(failure['status'], failure.get('code', 'internal_error'),
                          failure.get('message', 'As the suite wants it'))
        return failure['status'], failure.get('headers', {}), failure.get('text') or error(refusal)

    def pass_hold(self, call):
        """So many of these calls pass yet. The others wait until the suite lets go of them, and are lost: the client is
        gone."""
        if self.held.get(call) == 0:
            self.waiting[call] += 1
            self.lock.wait_for(lambda: self.held.get(call) != 0)
            self.waiting[call] -= 1
            raise Gone
        if self.held.get(call):
            self.held[call] -= 1

    def pause(self, seconds):
        if seconds:
            self.lock.release()
            time.sleep(seconds)
            self.lock.acquire()
            self.region.settle()

    def token_answer(self, verb, headers, body):
        form = dict(urllib.parse.parse_qsl(body.decode()))

        def perform():
            if verb != 'POST' or not headers.get('content-type', '').startswith('application/x-www-form-urlencoded'):
                raise Refused('BXNIM0109E', 'Not a form that is posted')
            return 200, {}, self.tokens.grant(form)
        try:
            answer = self.failed('token', perform) or perform()
        except Refused as refused:
            code, text = refused.args
            self.problems.append(f'token: {code}: {text}')
            answer = 400, {}, {'context': {'requestId': secrets.token_hex(8)}, 'errorCode': code, 'errorMessage': text}
        self.note('token', verb, '/identity/token', {}, {'grant_type': form.get('grant_type')}, answer[0])
        return answer

    def storage_failure(self, verb, path, headers):
        """Status and code if a call of the object storage fails. Failures are of `storage_get`, `storage_put`, …"""
        with self.lock:
            call = f'storage_{verb.lower()}'
            try:
                answer = self.failed(call, lambda: None)
            except Gone:
                answer = 500, {}, error(Refusal(500, 'InternalError', 'lost'))
            failure = (answer[0], answer[2]['errors'][0]['code']) if answer else None
            if not self.tokens.is_valid(headers):
                failure = 403, 'AccessDenied'
            self.note(call, verb, path, {}, None, failure[0] if failure else 200)
            return failure

    def api_answer(self, verb, url, headers, body):
        call, variables = self.judge.find(verb, url.path)
        if call is None:
            self.problems.append(f'{verb} {url.path}: there is no such call')
            return 404, {}, error(Refusal(404, 'invalid_route', 'The requested route does not exist.'))
        pairs = urllib.parse.parse_qsl(url.query, keep_blank_values=True)
        problems = self.judge.request_problems(call, pairs, headers, body)
        self.problems += problems
        content = json.loads(body) if call.content_type and not problems else None

        def perform():
            if problems:
                raise Refusal(400, 'bad_request', '; '.join(problems))
            self.authorize(call, headers)
            path = url.path.removeprefix('/v1/')
            return self.perform(call, variables, dict(pairs), path, with_base(content, headers))
        try:
            status = 201 if call.name.startswith(CREATED) else {None: 204}.get(call.result, 200)
            status = 202 if call.name == 'delete_image' else status
            answer = self.failed(call.name, perform) or (status, {}, perform())
        except Refusal as refusal:
            self.problems += [f'{call.name}: {refusal}'] if refusal.status == 501 else []
            answer = refusal.status, {}, error(refusal) if call.module is vpc_v1 else error_v2(refusal)
        except Malformed as malformed:
            self.problems.append(f'{call.name}: {malformed}')
            answer = 400, {}, error(Refusal(400, 'invalid_id_format', str(malformed)))
        except Gone:
            self.note(call.name, verb, url.path, dict(pairs), content, 0)
            raise
        self.note(call.name, verb, url.path, dict(pairs), content, answer[0])
        if not isinstance(answer[2], str):
            self.problems += self.judge.answer_problems(call, answer[0], answer[2])
        if self.settings['old_fields'] and answer[0] < 300:
            answer = (*answer[:2], with_old_fields(call, answer[2], self.region))
        return answer

    def note(self, call, verb, path, query, body, status):
        self.exchanges.append({'call': call, 'verb': verb, 'path': path, 'query': query, 'body': body,
                               'status': status})

    def authorize(self, call, headers):
        if 'authorization' not in headers:
            self.problems.append(f'{call.name}: no token')
        if not self.tokens.is_valid(headers):
            raise Refusal(401, 'not_authorized', 'The request is not authorized.')
        if call.name in self.settings['denied']:
            raise Refusal(403, 'not_authorized', 'The request is not authorized.')

    def perform(self, call, variables, query, path, content):
        """What the API answers. `path`: that of the thing."""
        region, folder = self.region, path.rpartition('/')[0]
        if call.name in METHODS:
            return getattr(region, call.name)(*([] if call.name.startswith('create_') else [path]),
                                              *([] if content is None else [content]))
        if 'network_interface_floating_ip' in call.name:
            return self.of_attachment(call, path, variables.get('id'))
        if call.name == 'list_resource_groups':
            return {'resources': [one for one in region.groups if query.get('name') in (None, one['name'])]}
        if call.name == 'create_resource_group':
            return reference(region.create_group(content['name']), 'id', 'crn')
        if call.name == 'list_resource_instances':
            found = [one for one in region.services if all(one.get(name) == value for name, value in query.items())]
            return {'rows_count': len(found), 'next_url': None, 'resources': found}
        if call.name.startswith('list_') and path.rpartition('/')[2] in LISTED and call.module is vpc_v1:
            if folder and folder != 'instance':
                region.get(folder)
            return self.of_list(call, query, path)
        if call.name.startswith('get_') and folder.rpartition('/')[2] in LISTED and call.module is vpc_v1:
            return region.shown(path)
        raise not_simulated('The call')

    def of_attachment(self, call, path, number):
        """Calls for the floating IPs of a network interface."""
        region, interface = self.region, path.partition('/floating_ips')[0]
        region.get(interface)
        floating_ip = f'floating_ips/{number}'
        if call.name.startswith('list_'):
            return {'floating_ips': region.floating_ips_of(interface)}
        if call.name.startswith('add_'):
            return region.attach_floating_ip(floating_ip, interface)
        if call.name.startswith('remove_'):
            return region.detach_floating_ip(floating_ip, interface)
        if region.get(floating_ip) not in region.floating_ips_of(interface):
            raise Refusal(404, 'not_found', 'The floating IP is not associated with the network interface.')
        return region.get(floating_ip)

    def of_list(self, call, query, path):
        """All things, or a page if the call has pages. A cut is the number of things that the next list has instead of
        all."""
        fields = fields_of(call.result)
        name, = (name for name, (hint, *_) in fields.items() if str(hint).startswith('typing.List'))
        things = {one.rpartition('/')[2]: self.region.things[one] for one in self.region.below(path)}
        if 'first' not in fields:
            return {name: [self.region.shown(f'{path}/{one}') for one in things]}
        found, count, limit, token = page(things, query, path, self.settings['page_size'])
        if self.cuts.get(call.name):
            found, token = found[:self.cuts[call.name].pop(0)], None
        href = f'{BASE}/{path}?limit={limit}'
        answer = {'first': {'href': href}, **({'next': {'href': f'{href}&start={token}'}} if token else {}),
                  'limit': limit, 'total_count': count, name: [self.region.shown(f'{path}/{one}') for one in found]}
        return {name: value for name, value in answer.items() if name in fields}


def with_base(content, headers):
    """The content with links as they are stored."""
    if content is None:
        return None
    return json.loads(json.dumps(content).replace(f'http://{headers.get("host")}/v1', BASE))


def with_old_fields(call, content, region):
    """An answer with fields that the Python Nodepool reads and IBM's models do not have: the address of a network
    interface, the owner of an image, and the name of a resource group that is created."""
    if call.name == 'create_resource_group':
        name = next(one['name'] for one in region.groups if one['id'] == content.get('id'))
        return {**content, 'name': name}
    if call.name not in ('create_instance', 'get_instance', 'list_instances', 'list_images'):
        return content
    content = json.loads(json.dumps(content))
    for instance in content.get('instances', [content]):
        if 'primary_network_interface' in instance:
            interface = instance['primary_network_interface']
            interface['primary_ipv4_address'] = interface['primary_ip']['address']
    for image in content.get('images', []):
        image['owner_type'] = {'private': 'user', 'public': 'provider'}[image['visibility']]
    return content


def error(refusal):
    target = {'target': refusal.target} if refusal.target else {}
    return {'errors': [{'code': refusal.code, 'message': str(refusal), 'more_info': refusal.more_info, **target}],
            'trace': str(uuid.uuid4())}


def error_v2(refusal):
    """Of the resource manager and the resource controller."""
    return {'message': str(refusal), 'status_code': refusal.status, 'error_code': refusal.code,
            'transaction_id': f'bss-{secrets.token_hex(8)}'}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    suite = None

    def handle_call(self):
        body = self.rfile.read(int(self.headers.get('Content-Length') or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            status, more, text = self.suite.answer(self.command, self.path, headers, body)
        except Exception as exception:
            if not isinstance(exception, Gone):
                self.suite.problems.append(f'{self.command} {self.path}: {exception!r}')
                traceback.print_exc()
            self.close_connection = True
            with contextlib.suppress(OSError):  # the client may be gone
                self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.send_response(status)
        kind = {'Content-Type': 'application/json' if text.startswith('{') else 'text/html'} if text else {}
        length = {} if status == 204 else {'Content-Length': str(len(text.encode()))}
        request_id = {'X-Request-Id': str(uuid.uuid4()), 'X-Correlation-Id': str(uuid.uuid4())}
        for name, value in {**kind, **length, **request_id, **more}.items():
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
    Handler.suite = Suite()
    directory.mkdir(parents=True, exist_ok=True)
    (directory / 'credentials.env').write_text(
        f'VPC_AUTH_TYPE=iam\nVPC_APIKEY={API_KEY}\nVPC_AUTH_URL={url}\nVPC_URL={url}/v1\n'
        f'RESOURCE_MANAGER_URL={url}\nRESOURCE_CONTROLLER_URL={url}\n')
    print(json.dumps({'url': url, 'storage': Handler.suite.storage.serve(Handler.suite), 'region': REGION}), flush=True)
    server.serve_forever()


if __name__ == '__main__':
    main()
