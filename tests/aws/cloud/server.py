"""moto's server, with what it lacks and this suite needs: a judge of calls, quotas, and failures on demand.

    server.py PORT

Its own calls, besides AWS': GET /suite/problems, POST /suite/failures with {action: [{"status": …, "code": …}, …]},
POST /suite/quotas with {service: {code: value}}, GET /suite/calls.
"""
import collections
import io
import json
import sys
import threading
import urllib.parse

from moto.core.responses import ActionResult
from moto.ec2.responses import EC2Response
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from moto.servicequotas.exceptions import NoSuchResource
from moto.servicequotas.responses import ServiceQuotasResponse
from werkzeug.serving import run_simple
from werkzeug.wrappers import Request, Response

from judge import Judge

ACCESS_KEY, SECRET_KEY = 'AKIDSUITE', 'of-the-suite'

quotas = {'ec2': {'L-1216C47A': 256.0, 'L-34B43A08': 256.0}, 'ebs': {'L-7A658B76': 50.0, 'L-D18FCD1D': 50.0}}


def list_service_quotas(self):
    service = json.loads(self.body)['ServiceCode']
    if service not in quotas:
        raise NoSuchResource
    return json.dumps({'Quotas': [{'ServiceCode': service, 'QuotaCode': code, 'Value': value}
                                  for code, value in quotas[service].items()]})


def register_image(self):
    """moto's own leaves out the tags."""
    image = self.ec2_backend.register_image(self._get_param('Name'), '')
    image.add_tags(self._parse_tag_specification().get('image', {}))
    return ActionResult({'ImageId': image.id})


def describe_import_tasks(self):
    """Nobody imports anything here; the Python Nodepool looks."""
    return ActionResult({})


ServiceQuotasResponse.list_service_quotas = list_service_quotas
EC2Response.register_image = register_image
EC2Response.describe_import_image_tasks = describe_import_tasks
EC2Response.describe_import_snapshot_tasks = describe_import_tasks


class Suite:
    """What stands before moto."""

    def __init__(self, application):
        self.application = application
        self.judge = Judge(ACCESS_KEY, SECRET_KEY)
        self.lock = threading.Lock()
        self.problems = []
        self.failures = {}
        self.calls = collections.Counter()

    def __call__(self, environ, start_response):
        request = Request(environ)
        body = request.get_data()
        environ['wsgi.input'] = io.BytesIO(body)  # for moto to read it again
        if request.path.startswith('/suite/'):
            return self.answer(request.path.removeprefix('/suite/'), body)(environ, start_response)
        headers = {name.lower(): value for name, value in request.headers.items()}
        is_of_suite = request.path.startswith('/moto-api/') or headers.get('user-agent', '').startswith('suite')
        if not is_of_suite:
            problems = self.judge.problems(request.method, request.url, headers, body)
            action = self.action(request.method, request.path, headers, body)
            with self.lock:
                self.problems += problems
                self.calls[action] += 1
                failures = self.failures.get(action) or [None]
                failure = failures.pop(0)
            if failure:
                return self.refusal(failure)(environ, start_response)
        return self.application(environ, start_response)

    def answer(self, what, body):
        with self.lock:
            if what == 'failures':
                self.failures = json.loads(body)
            if what == 'quotas':
                for service, values in json.loads(body).items():
                    quotas[service].update(values)
            return Response(json.dumps({'problems': self.problems, 'calls': self.calls}))

    @staticmethod
    def action(method, path, headers, body):
        if 'x-amz-target' in headers:
            return headers['x-amz-target'].partition('.')[2]
        if path.startswith('/snapshots'):
            return f'{method} blocks'
        return dict(urllib.parse.parse_qsl(body.decode('utf-8', 'replace'))).get('Action', '')

    @staticmethod
    def refusal(failure):
        return Response(f'<Response><Errors><Error><Code>{failure["code"]}</Code><Message>as the test wants it</Message>'
                        '</Error></Errors><RequestID>r</RequestID></Response>', failure['status'])


if __name__ == '__main__':
    run_simple('127.0.0.1', int(sys.argv[1]), Suite(DomainDispatcherApplication(create_backend_app)), threaded=True,
               request_handler=MotoRequestHandler)
