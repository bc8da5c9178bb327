"""Holds calls against the service models that botocore ships: moto takes much that AWS refuses."""
import base64
import hashlib
import json
import pathlib
import re
import urllib.parse
import xml.etree.ElementTree

import botocore.loaders
import botocore.model
import botocore.validate
from botocore.auth import S3SigV4Auth, SigV4Auth
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


POLICY = pathlib.Path(__file__).parents[3] / 'docs' / 'drivers' / 'aws' / 'policy.json'

# What a call of S3 needs, where that is called otherwise. Reference: the Service Authorization Reference of S3.
S3_PERMISSIONS = {
    'CreateMultipartUpload': 'PutObject', 'UploadPart': 'PutObject', 'CompleteMultipartUpload': 'PutObject',
    'ListParts': 'ListMultipartUploadParts', 'ListMultipartUploads': 'ListBucketMultipartUploads',
    'ListObjectsV2': 'ListBucket'}
# What the programs call of S3: others have the same paths.
S3_ACTIONS = [*S3_PERMISSIONS, 'AbortMultipartUpload', 'GetObjectTagging', 'DeleteObject']
S3_LEAST_PART = 5 << 20
S3_MOST_TAGS = 10


def service_model(name):
    return botocore.model.ServiceModel(botocore.loaders.Loader().load_service_model(name, 'service-2'), name)


def service_of(headers):
    """That which a call is signed for."""
    scope = re.search(r'Credential=[^,]*/([^/,]+)/aws4_request', headers.get('authorization', ''))
    return scope.group(1) if scope else ''


class Judge:
    """What is wrong with calls of EC2, EBS, S3, STS and Service Quotas, as lines of text."""

    def __init__(self, access_key, secret_key):
        self.credentials = Credentials(access_key, secret_key)
        self.models = {name: service_model(name) for name in ('ec2', 'sts', 'service-quotas', 'ebs')}
        self.s3 = service_model('s3')
        self.permitted = {action for statement in json.loads(POLICY.read_text())['Statement']
                          for action in ([statement['Action']] if isinstance(statement['Action'], str)
                                         else statement['Action'])}

    def action(self, method, url, headers, body):
        """What is called."""
        if 'x-amz-target' in headers:
            return headers['x-amz-target'].partition('.')[2]
        path = urllib.parse.urlsplit(url).path
        if service_of(headers) == 's3':
            return self.s3_action(method, url)
        if path.startswith('/snapshots'):
            return f'{method} blocks'
        return dict(urllib.parse.parse_qsl(body.decode('utf-8', 'replace'))).get('Action', '')

    def problems(self, action, method, url, headers, body):
        """`headers`: names in lower case."""
        problems = self.signature_problems(method, url, headers, body)
        target = headers.get('x-amz-target')
        if target:
            return problems + self.json_problems(target, body)
        path = urllib.parse.urlsplit(url).path
        if service_of(headers) == 's3':
            return problems + self.s3_problems(action, url, headers, body)
        if path.startswith('/snapshots'):
            return problems + self.rest_problems(method, path, headers, body)
        if not headers.get('content-type', '').startswith('application/x-www-form-urlencoded'):
            return problems
        parameters = dict(urllib.parse.parse_qsl(body.decode(), keep_blank_values=True))
        return problems + self.query_problems(parameters) + self.permission_problems(headers, action)

    def permission_problems(self, headers, action):
        service = service_of(headers)
        if service == 'sts' or action == 'AssumeRoleWithWebIdentity' or f'{service}:{action}' in self.permitted:
            return []
        return [f'the policy does not permit {service}:{action}']

    def s3_action(self, method, url):
        """The operation whose fixed parameters are all there, and those that it needs."""
        parts = urllib.parse.urlsplit(url)
        query = dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
        has_key = len(parts.path.split('/', 2)) > 2
        found = []
        for action in S3_ACTIONS:
            operation = self.s3.operation_model(action)
            path, _, fixed = operation.http['requestUri'].partition('?')
            needed = dict(urllib.parse.parse_qsl(fixed, keep_blank_values=True))
            shape = operation.input_shape
            for name in shape.required_members:
                place = shape.members[name].serialization
                if place.get('location') == 'querystring':
                    needed[place['name']] = None
            fits = all(name in query and value in (None, query[name]) for name, value in needed.items())
            if operation.http['method'] == method and ('Key' in path) == has_key and fits:
                found.append((len(needed), action))
        return max(found)[1] if found else f'{method} of S3'

    def s3_problems(self, action, url, headers, body):
        if action not in S3_ACTIONS:
            return [f'unknown operation: {action}']
        operation = self.s3.operation_model(action)
        parts = urllib.parse.urlsplit(url)
        places = {(shape.serialization.get('location'), shape.serialization.get('name', name).lower())
                  for name, shape in operation.input_shape.members.items()}
        fixed = urllib.parse.parse_qsl(operation.http['requestUri'].partition('?')[2], keep_blank_values=True)
        given = [('querystring', name.lower()) for name, _ in urllib.parse.parse_qsl(parts.query, keep_blank_values=True)
                 if name not in dict(fixed)]
        of_signature = ('x-amz-date', 'x-amz-content-sha256', 'x-amz-security-token')
        given += [('header', name) for name in headers if name.startswith('x-amz-') and name not in of_signature]
        problems = [f'{action}: unknown {place} {name}' for place, name in given if (place, name) not in places]
        if headers.get('x-amz-content-sha256') != hashlib.sha256(body).hexdigest():
            problems.append(f'{action}: the hash of the body is wrong')
        checksum = headers.get('x-amz-checksum-sha256')
        if checksum and checksum != base64.b64encode(hashlib.sha256(body).digest()).decode():
            problems.append(f'{action}: the checksum is wrong')
        if action == 'UploadPart' and not checksum:
            problems.append(f'{action}: no checksum')
        if len(urllib.parse.parse_qsl(headers.get('x-amz-tagging', ''))) > S3_MOST_TAGS:
            problems.append(f'{action}: too many tags')
        payload = operation.input_shape.serialization.get('payload')
        if action == 'CompleteMultipartUpload':
            root = xml.etree.ElementTree.fromstring(body)
            problems += [f'{action}: {problem}' for problem in
                         self.xml_problems(root, operation.input_shape.members[payload])]
        permissions = {S3_PERMISSIONS.get(action, action)}
        if 'x-amz-tagging' in headers:
            permissions.add('PutObjectTagging')
        return problems + [problem for permission in permissions
                           for problem in self.permission_problems(headers, permission)]

    def xml_problems(self, element, shape):
        """Follows the elements through the shape."""
        if shape.type_name == 'structure':
            members = {member.serialization.get('name', name): member for name, member in shape.members.items()}
            for child in element:
                name = child.tag.rpartition('}')[2]
                if name not in members:
                    yield f'unknown element {name}'
                    continue
                member = members[name]
                yield from self.xml_problems(child, member.member if member.type_name == 'list' else member)
        elif not SCALARS[shape.type_name].fullmatch(element.text or ''):
            yield f'{element.tag}: {element.text!r} is no {shape.type_name}'

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
        auth = (S3SigV4Auth if service == 's3' else SigV4Auth)(self.credentials, service, region)
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
        problems = self.permission_problems(headers, action)
        members = operation.input_shape.members.items()
        places = {name: shape.serialization.get('location') for name, shape in members}
        missing = [f'{action}: {name} is missing' for name, shape in members
                   if name in operation.input_shape.required_members and places[name] == 'header'
                   and shape.serialization['name'].lower() not in headers]
        if not body or not headers.get('content-type', '').endswith('json'):
            return problems + missing
        content = json.loads(body)
        unknown = [f'{action}: unknown member {name}' for name in content if name not in places or places[name]]
        return problems + missing + unknown + [
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
