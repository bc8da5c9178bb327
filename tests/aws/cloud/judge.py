"""Holds calls against the service models that botocore ships: moto takes much that AWS refuses."""
import json
import re
import urllib.parse

import botocore.loaders
import botocore.model
import botocore.validate
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

SCALARS = {
    'boolean': re.compile('true|false'),
    'integer': re.compile(r'-?\d+'),
    'long': re.compile(r'-?\d+'),
    'float': re.compile(r'-?\d+(\.\d+)?'),
    'double': re.compile(r'-?\d+(\.\d+)?'),
    'timestamp': re.compile(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z'),
    'blob': re.compile('[A-Za-z0-9+/]*={0,2}'),
    'string': re.compile('.*', re.DOTALL)}


def service_model(name):
    return botocore.model.ServiceModel(botocore.loaders.Loader().load_service_model(name, 'service-2'), name)


class Judge:
    """What is wrong with calls of EC2, EBS, STS and Service Quotas, as lines of text."""

    def __init__(self, access_key, secret_key):
        self.credentials = Credentials(access_key, secret_key)
        self.models = {name: service_model(name) for name in ('ec2', 'sts', 'service-quotas', 'ebs')}

    def problems(self, method, url, headers, body):
        """`headers`: names in lower case."""
        problems = self.signature_problems(method, url, headers, body)
        target = headers.get('x-amz-target')
        if target:
            return problems + self.json_problems(target, body)
        path = urllib.parse.urlsplit(url).path
        if path.startswith('/snapshots'):
            return problems + self.rest_problems(method, path, headers, body)
        if not headers.get('content-type', '').startswith('application/x-www-form-urlencoded'):
            return problems
        parameters = dict(urllib.parse.parse_qsl(body.decode(), keep_blank_values=True))
        return problems + self.query_problems(parameters)

    def signature_problems(self, method, url, headers, body):
        match = re.fullmatch(
            r'AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request, '
            r'SignedHeaders=([^,]+), Signature=([0-9a-f]{64})', headers.get('authorization', ''))
        if not match:
            is_proof = b'Action=AssumeRoleWithWebIdentity&' in body  # its token is the proof
            return [] if is_proof and 'authorization' not in headers else ['not signed']
        key, date, region, service, names, signature = match.groups()
        if key != self.credentials.access_key:
            return []  # of a session: nobody here knows its secret
        problems = []
        unsigned = [name for name in ('host', 'x-amz-date') if name not in names.split(';')]
        if unsigned:
            problems.append(f'headers are not signed: {unsigned}')
        request = AWSRequest(method=method, url=url, data=body,
                             headers={name: headers[name] for name in names.split(';')})
        request.context['timestamp'] = headers['x-amz-date']
        auth = SigV4Auth(self.credentials, service, region)
        expected = auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)
        if signature != expected or not headers['x-amz-date'].startswith(date):
            problems.append('the signature is wrong')
        return problems

    def json_problems(self, target, body):
        prefix, _, action = target.partition('.')
        model = self.models['service-quotas']
        if prefix != model.metadata['targetPrefix'] or action not in model.operation_names:
            return [f'unknown operation: {target}']
        shape = model.operation_model(action).input_shape
        content = json.loads(body)
        unknown = [f'{action}: unknown member {name}' for name in content if name not in shape.members]
        report = botocore.validate.ParamValidator().validate(content, shape)
        return unknown + ([f'{action}: {report.generate_report()}'] if report.has_errors() else [])

    def rest_problems(self, method, path, headers, body):
        model = self.models['ebs']
        for action in model.operation_names:
            operation = model.operation_model(action)
            pattern = re.sub(r'\{\w+\}', '[^/]+', operation.http['requestUri'])
            if operation.http['method'] == method and re.fullmatch(pattern, path):
                break
        else:
            return [f'unknown operation: {method} {path}']
        members = operation.input_shape.members.items()
        places = {name: shape.serialization.get('location') for name, shape in members}
        missing = [f'{action}: {name} is missing' for name, shape in members
                   if name in operation.input_shape.required_members and places[name] == 'header'
                   and shape.serialization['name'].lower() not in headers]
        if not body or not headers.get('content-type', '').endswith('json'):
            return missing
        content = json.loads(body)
        unknown = [f'{action}: unknown member {name}' for name in content if name not in places or places[name]]
        return missing + unknown + [
            f'{action}: {name}: {report.generate_report()}' for name, value in content.items() if name in places
            for report in [botocore.validate.ParamValidator().validate(value, operation.input_shape.members[name])]
            if report.has_errors()]

    def query_problems(self, parameters):
        action, version = parameters.pop('Action', ''), parameters.pop('Version', '')
        models = [model for model in self.models.values() if model.api_version == version]
        if not models or action not in models[0].operation_names:
            return [f'unknown operation: {action} of {version}']
        shape = models[0].operation_model(action).input_shape
        problems = []
        for name, value in parameters.items():
            problem = self.parameter_problem(models[0], shape, name.split('.'), value)
            if problem:
                problems.append(f'{action}: {name}: {problem}')
        problems += [f'{action}: {name} is missing' for name in shape.required_members
                     if not self.is_given(models[0], shape, name, parameters)]
        return problems

    def parameter_problem(self, model, shape, path, value):
        """Follows the path through the shape, as AWS' client would have written it."""
        if not path:
            if shape.type_name not in SCALARS:
                return f'is a {shape.type_name}'
            if not SCALARS[shape.type_name].fullmatch(value):
                return f'{value!r} is no {shape.type_name}'
            is_open = shape.name == 'InstanceType'  # there are new ones before AWS' client knows them
            if not is_open and getattr(shape, 'enum', None) and value not in shape.enum:
                return f'{value!r} is none of {shape.enum}'
            return None
        if shape.type_name == 'structure':
            for name, member in shape.members.items():
                if self.wire_name(model, member, name) == path[0]:
                    return self.parameter_problem(model, member, path[1:], value)
            return f'no member {path[0]}'
        if shape.type_name == 'list':
            if not path[0].isdigit() or path[0] == '0':
                return f'{path[0]} is no place in a list'
            return self.parameter_problem(model, shape.member, path[1:], value)
        return f'{path[0]} is a member of a {shape.type_name}'

    def is_given(self, model, shape, name, parameters):
        wire = self.wire_name(model, shape.members[name], name)
        return any(given == wire or given.startswith(f'{wire}.') for given in parameters)

    @staticmethod
    def wire_name(model, shape, name):
        if model.metadata['protocol'] != 'ec2':
            return shape.serialization.get('name', name)
        if 'queryName' in shape.serialization:
            return shape.serialization['queryName']
        wire = shape.serialization.get('name', name)
        return wire[0].upper() + wire[1:]
