"""The simulated Azure on the loopback: management.azure.com, login.microsoftonline.com, instance metadata and blobs.

    server.py PORT DIRECTORY JUDGE

Each call passes the judge, a program that `judge/build` has built. README.md has the calls of tests, below /suite/.
"""
import collections
import gzip
import http.server
import json
import pathlib
import re
import subprocess
import sys
import threading
import time
import traceback
import uuid

from arm import Answer, Request
from endpoints import Azure

# Azure sends these, and no model has them: a client must not mind.
BEYOND_MODELS = re.compile(r'.*/(kind|properties/allowPort25Out|zoneDetails/\d+/Name): Microsoft.*')
PAGE = '<!DOCTYPE html><html><head><title>AzureResourceManager</title></head><body>Not available</body></html>'


class Judge:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.lock = threading.Lock()
        self.problems = []

    def find_problems(self, side, request, answer=None):
        """What is wrong with the request, or with the answer."""
        exchange = {'method': request.method, 'url': request.target, 'headers': request.headers,
                    'body': request.body.decode(errors='replace')}
        if answer:
            body = json.dumps(answer.body) if isinstance(answer.body, dict) else ''
            exchange['response'] = {'status': answer.status, 'body': body}
        with self.lock:
            self.process.stdin.write(json.dumps(exchange).encode() + b'\n')
            self.process.stdin.flush()
            verdict = json.loads(self.process.stdout.readline())
            found = [each for each in verdict[side] if not BEYOND_MODELS.fullmatch(each)]
            self.problems += [f'{side} {request.method} {request.path}: {each}' for each in found]
        return found


class Suite:
    """What stands before the cloud: the judge, faults, and what a test asks."""

    def __init__(self, directory, judge):
        self.azure = Azure(directory)
        self.judge = Judge(judge)
        self.lock = threading.Lock()
        self.reset()

    def reset(self):
        self.faults, self.calls, self.log, self.judge.problems = [], collections.Counter(), [], []
        self.azure.reset()

    def handle(self, request):
        """The answer, None if the connection ends without one; and how many bytes of its body are sent (None: all)."""
        if request.path.startswith('/suite/'):
            with self.lock:
                content = json.loads(request.body or b'null')
                return Answer(200, self.control(request.path.removeprefix('/suite/'), content)), None
        with self.lock:
            name = Azure.name(request)
            self.calls[name] += 1
            fault = self.take_fault(request)
            delay = fault.get('delay', self.azure.arm.settings['latency'])
        time.sleep(delay)
        is_judged = request.path.lower().startswith(('/subscriptions', '/providers'))
        problems = self.judge.find_problems('request', request) if is_judged else []
        with self.lock:
            self.azure.arm.advance()
            if problems:
                answer = Answer(400, {'error': {'code': 'Judge', 'message': '; '.join(problems)}})
            elif 'status' in fault:
                answer = self.failure(fault)
            else:
                answer = self.azure.handle(request)
            self.log.append({'call': name, 'method': request.method, 'path': request.path, 'status': answer.status,
                             'version': request.version})
        if is_judged and not problems and 'status' not in fault:
            self.judge.find_problems('answer', request, answer)
        return (None if fault.get('lost') else answer), fault.get('cut')

    def take_fault(self, request):
        for fault in self.faults:
            if re.fullmatch(fault.get('method', '.*'), request.method) and re.search(fault['path'], request.path):
                if fault.get('after', 0) > 0:
                    fault['after'] -= 1
                elif fault.setdefault('times', 1) > 0:
                    fault['times'] -= 1
                    return fault
        return {}

    @staticmethod
    def failure(fault):
        error = {'code': fault.get('code', 'InternalServerError'),
                 'message': fault.get('message', 'As the test wants it.')}
        shape = fault.get('shape', 'error')
        if shape == 'html':
            return Answer(fault['status'], PAGE.encode(), {'Content-Type': 'text/html', **fault.get('headers', {})})
        return Answer(fault['status'], {'error': error} if shape == 'error' else error, fault.get('headers', {}))

    def control(self, what, content):
        arm = self.azure.arm
        arm.advance()
        if what == 'reset':
            self.reset()
        elif what == 'faults':
            self.faults = content
        elif what == 'allocation':
            arm.allocation_failures = content
        elif what == 'settings':
            for key, value in content.items():
                if key not in arm.settings:
                    raise KeyError(key)
                arm.settings[key] = {**arm.settings[key], **value} if isinstance(value, dict) else value
        elif what == 'vanish':
            resource = arm.find(content)
            arm.kinds[resource.body['type'].lower()].removed(arm, resource)
            arm.remove(resource)
        elif what == 'machine':
            arm.find(content.pop('id')).private.update(content)
        elif what == 'passwords':
            return {each.body['name']: each.private['password'] for each in arm.of_type('Microsoft.Compute/virtualMachines')}
        elif what == 'federate':
            self.azure.identity.federate(**content)
        elif what == 'revoke':
            self.azure.identity.tokens.clear()
        elif what == 'resources':
            return [arm.shown(each) for each in arm.resources.values()]
        elif what != 'state':
            raise KeyError(what)
        return {'problems': self.judge.problems, 'calls': self.calls, 'log': self.log,
                'actions': sorted(arm.actions)}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    disable_nagle_algorithm = True
    suite = None

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except ConnectionError:
            self.close_connection = True

    def serve(self):
        body = self.rfile.read(int(self.headers.get('content-length', 0)))
        request = Request(self.command, self.path, {key.lower(): value for key, value in self.headers.items()}, body)
        try:
            answer, cut = self.suite.handle(request)
        except Exception:  # of the stand-in: the suite fails
            self.suite.judge.problems.append(traceback.format_exc())
            answer, cut = Answer(500, {'error': {'code': 'StandIn', 'message': traceback.format_exc()}}), None
        if answer is None:
            self.close_connection = True
            return
        headers = {'x-ms-request-id': str(uuid.uuid4()),
                   'x-ms-correlation-request-id': str(uuid.uuid4()), **answer.headers}
        body = answer.body
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            headers.setdefault('Content-Type', 'application/json; charset=utf-8')
        if body and 'gzip' in request.headers.get('accept-encoding', ''):
            body, headers['Content-Encoding'] = gzip.compress(body, 1), 'gzip'
        self.send_response(answer.status)
        for name, value in headers.items():
            self.send_header(name, value)
        if answer.status != 204:
            self.send_header('Content-Length', str(len(body or b'')))
        self.end_headers()
        if body and self.command != 'HEAD':
            self.wfile.write(body if cut is None else body[:cut])
        if cut is not None:
            self.close_connection = True

    do_GET = do_HEAD = do_PUT = do_POST = do_PATCH = do_DELETE = serve

    def log_message(self, format, *arguments):
        print(format % arguments, flush=True)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


if __name__ == '__main__':
    port, directory, judge = sys.argv[1:]
    Handler.suite = Suite(pathlib.Path(directory), judge)
    Server(('127.0.0.1', int(port)), Handler).serve_forever()
