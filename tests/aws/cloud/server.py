"""moto's server, with what it lacks and this suite needs: a judge of calls, quotas, and failures on demand.

    server.py PORT

Its own calls, besides AWS': GET /suite/problems, POST /suite/failures with {action: [{"status": …, "code": …}, …]},
POST /suite/quotas with {service: {code: value}}, GET /suite/calls; POST /suite/hold with {action: number of calls}:
calls after these wait until they are released by another one; POST /suite/imports and /suite/boots with {"held": whether
imports do not end, and new instances do not come up}.
"""
import collections
import io
import json
import sys
import threading
import urllib.parse

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from moto.servicequotas.exceptions import NoSuchResource
from moto.servicequotas.responses import ServiceQuotasResponse
from werkzeug.serving import run_simple
from werkzeug.wrappers import Request, Response

import boots as boots_of_moto
import imports as imports_of_moto
from judge import Judge

ACCESS_KEY, SECRET_KEY = 'AKIDSUITE', 'of-the-suite'

quotas = {'ec2': {'L-1216C47A': 256.0, 'L-34B43A08': 256.0}, 'ebs': {'L-7A658B76': 50.0, 'L-D18FCD1D': 50.0}}


def list_service_quotas(self):
    service = json.loads(self.body)['ServiceCode']
    if service not in quotas:
        raise NoSuchResource
    return json.dumps({'Quotas': [{'ServiceCode': service, 'QuotaCode': code, 'Value': value}
                                  for code, value in quotas[service].items()]})


ServiceQuotasResponse.list_service_quotas = list_service_quotas
imports_of_moto.install()
boots_of_moto.install()


class Suite:
    """What stands before moto."""

    def __init__(self, application):
        self.application = application
        self.judge = Judge(ACCESS_KEY, SECRET_KEY)
        self.lock = threading.Lock()
        self.problems = []
        self.failures = {}
        self.calls = collections.Counter()
        self.released = threading.Condition(self.lock)
        self.held = {}

    def __call__(self, environ, start_response):
        request = Request(environ)
        body = request.get_data()
        environ['wsgi.input'] = io.BytesIO(body)  # for moto to read it again
        if request.path.startswith('/suite/'):
            return self.answer(request.path.removeprefix('/suite/'), body)(environ, start_response)
        headers = {name.lower(): value for name, value in request.headers.items()}
        is_of_suite = request.path.startswith('/moto-api/') or headers.get('user-agent', '').startswith('suite')
        if not is_of_suite:
            action = self.judge.action(request.method, request.url, headers, body)
            problems = self.judge.problems(action, request.method, request.url, headers, body)
            with self.lock:
                is_lost = self.is_held(action)
                self.released.wait_for(lambda: not self.is_held(action))
                if self.held.get(action):
                    self.held[action] -= 1
                self.problems += problems
                self.calls[action] += not is_lost
                failures = self.failures.get(action) or [None]
                failure = failures.pop(0)
            if is_lost:  # who has sent it is gone
                return self.refusal({'status': 503, 'code': 'Unavailable'})(environ, start_response)
            if failure and failure.get('done'):  # and nobody hears of it
                self.application(environ, lambda *_: None)
            if failure:
                return self.refusal(failure)(environ, start_response)
        return self.application(environ, start_response)

    def answer(self, what, body):
        with self.lock:
            if what == 'failures':
                self.failures = json.loads(body)
            if what == 'hold':
                self.held = json.loads(body)
                self.released.notify_all()
            if what == 'imports':
                imports_of_moto.imports.held = json.loads(body)['held']
            if what == 'boots':
                boots_of_moto.boots.hold(json.loads(body)['held'])
            if what == 'reset':
                self.problems, self.failures, self.held = [], {}, {}
                self.released.notify_all()
                imports_of_moto.imports.held = False
                imports_of_moto.imports.reset()
                boots_of_moto.boots.hold(False)
            if what == 'quotas':
                for service, values in json.loads(body).items():
                    quotas[service].update(values)
            return Response(json.dumps({'problems': self.problems, 'calls': self.calls}))

    def is_held(self, action):
        return self.held.get(action) == 0

    @staticmethod
    def refusal(failure):
        return Response(f'<Response><Errors><Error><Code>{failure["code"]}</Code><Message>as the test wants it</Message>'
                        '</Error></Errors><RequestID>r</RequestID></Response>', failure['status'])


if __name__ == '__main__':
    run_simple('127.0.0.1', int(sys.argv[1]), Suite(DomainDispatcherApplication(create_backend_app)), threaded=True,
               request_handler=MotoRequestHandler)
