"""Holds calls and answers against Google's discovery document of Compute Engine, which Google's own client ships."""
import importlib.util
import json
import pathlib
import re
import urllib.parse
import uuid

DOCUMENT = 'discovery_cache/documents/compute.v1.json'
NOT_SIMULATED = {'orderBy', 'fields', 'access_token', 'oauth_token', 'callback', '$.xgafv'}  # parameters
LABEL_KEY = re.compile(r'[a-z][a-z0-9_-]{0,62}')
LABEL_VALUE = re.compile(r'[a-z0-9_-]{0,63}')
MOST_METADATA = 512 << 10
WORDS = {'integer': re.compile(r'-?\d+'), 'number': re.compile(r'-?\d+(\.\d+)?'),
         'boolean': re.compile('true|false'), 'string': re.compile('.*', re.DOTALL)}
JSON_TYPES = {'string': str, 'boolean': bool, 'integer': int, 'number': (int, float), 'object': dict, 'array': list}


def document_path():
    package = pathlib.Path(importlib.util.find_spec('googleapiclient').origin).parent
    return package / DOCUMENT


class Method:
    """A method of the API, and the pattern of its paths."""

    def __init__(self, description, base):
        self.id = description['id']
        self.verb = description['httpMethod']
        self.parameters = description['parameters']
        self.request = description.get('request')
        self.response = description.get('response')
        self.scopes = set(description.get('scopes', []))
        parts = re.split(r'\{(\w+)\}', base + description.get('flatPath', description['path']))
        self.pattern = re.compile(''.join(f'(?P<{part}>[^/]+)' if at % 2 else re.escape(part)
                                          for at, part in enumerate(parts)))
        self.variables = len(parts) // 2


class Judge:
    """What is wrong with calls and answers, as lines of text."""

    def __init__(self):
        document = json.loads(document_path().read_text())
        self.schemas = document['schemas']
        self.base = document['basePath']
        self.common = document['parameters']
        self.methods = []
        self.collect(document)
        self.methods.sort(key=lambda method: method.variables)  # the more specific ones first

    def collect(self, resource):
        self.methods += [Method(method, self.base) for method in resource.get('methods', {}).values()]
        for part in resource.get('resources', {}).values():
            self.collect(part)

    def find(self, verb, path):
        """The method, and the values in the path. (None, {}): there is none."""
        for method in self.methods:
            match = method.pattern.fullmatch(path) if method.verb == verb else None
            if match:
                return method, {name: urllib.parse.unquote(value) for name, value in match.groupdict().items()}
        return None, {}

    def request_problems(self, method, variables, query, headers, body):
        """`query`: pairs. `headers`: names in lower case. `body`: bytes."""
        given = {**dict(query), **variables}
        problems = [] if len(given) == len(query) + len(variables) else ['a parameter is repeated']
        for name, value in given.items():
            parameter = method.parameters.get(name) or self.common.get(name)
            problems += self.parameter_problems(name, value, parameter) if parameter else [f'unknown parameter {name}']
        problems += [f'parameter {name} is missing' for name, parameter in method.parameters.items()
                     if parameter.get('required') and name not in given]
        if method.request is None:
            problems += ['a body, which it does not take'] if body not in (b'', b'{}') else []
        else:
            problems += self.body_problems(method, headers, body)
        return [f'{method.id}: {problem}' for problem in problems]

    def parameter_problems(self, name, value, parameter):
        good = WORDS[parameter['type']].fullmatch(value)
        if good and parameter['type'] == 'integer':
            good = int(parameter.get('minimum', value)) <= int(value) <= int(parameter.get('maximum', value))
        if good and 'pattern' in parameter:
            good = re.fullmatch(parameter['pattern'], value)
        if good and name == 'requestId':
            good = is_uuid(value)
        if name in NOT_SIMULATED or (name, value) in (('alt', 'media'), ('alt', 'proto')):
            return [f'parameter {name} is not simulated']
        if good and name == 'maxResults':
            good = int(value) <= 500
        if good and 'enum' in parameter:
            good = value in parameter['enum']
        return [] if good else [f'parameter {name} cannot be {value!r}']

    def body_problems(self, method, headers, body):
        if headers.get('content-type', '').partition(';')[0].strip() != 'application/json':
            return ['the body is not announced as application/json']
        try:
            content = json.loads(body)
        except ValueError:
            return ['the body is no JSON']
        problems = self.value_problems(method.request, content, '', method.id)
        if not problems and method.id == 'compute.instances.insert':
            problems = instance_problems(content)
        return problems

    def answer_problems(self, method, status, content):
        if status >= 400:
            error = content.get('error', {}) if isinstance(content, dict) else {}
            good = error.get('code') == status and isinstance(error.get('message'), str) and all(
                isinstance(entry.get('reason'), str) for entry in error.get('errors', [{}]))
            problems = [] if good else ['not in the shape of an error']
        else:
            problems = self.value_problems(method.response, content) if method.response else []
        return [f'answer of {method.id}: {problem}' for problem in problems]

    def value_problems(self, schema, value, place='', method=None):
        """`method`: it gets the value, which has the mandatory fields, and none that only answers have."""
        schema = self.schemas[schema['$ref']] if '$ref' in schema else schema
        kind = schema.get('type', 'any')
        if kind == 'any':
            return []
        if not isinstance(value, JSON_TYPES[kind]) or (isinstance(value, bool) and kind != 'boolean'):
            return [f'{place}: {value!r} is no {kind}']
        if kind == 'object':
            return self.object_problems(schema, value, place, method)
        if kind == 'array':
            return [problem for at, element in enumerate(value)
                    for problem in self.value_problems(schema['items'], element, f'{place}/{at}', method)]
        if schema.get('format') in ('int64', 'uint64') and not WORDS['integer'].fullmatch(str(value)):
            return [f'{place}: {value!r} is no number']
        if 'enum' in schema and value not in schema['enum']:
            return [f'{place}: {value!r} is none of {", ".join(schema["enum"])}']
        if 'pattern' in schema and not re.fullmatch(schema['pattern'], value):
            return [f'{place}: {value!r} does not match {schema["pattern"]}']
        return []

    def object_problems(self, schema, value, place, method):
        problems, fields, other = [], schema.get('properties', {}), schema.get('additionalProperties')
        for name, content in value.items():
            field = fields.get(name, other)
            if field is None:
                problems.append(f'{place}/{name}: unknown field')
            elif method and field.get('readOnly'):
                problems.append(f'{place}/{name}: only answers have this field')
            else:
                problems += self.value_problems(field, content, f'{place}/{name}', method)
        for name, field in fields.items():
            if name not in value and method in field.get('annotations', {}).get('required', []):
                problems.append(f'{place}/{name} is missing')
        return problems


def is_uuid(text):
    try:
        return str(uuid.UUID(text)) == text.lower() and uuid.UUID(text).int != 0
    except ValueError:
        return False


def instance_problems(instance):
    """Rules of Google's manual that the document does not have."""
    problems = [f'/labels: {key}={value} is not permitted' for key, value in instance.get('labels', {}).items()
                if not LABEL_KEY.fullmatch(key) or not LABEL_VALUE.fullmatch(value)]
    if len(instance.get('labels', {})) > 64:
        problems.append('/labels: more than 64')
    items = instance.get('metadata', {}).get('items', [])
    if len({item['key'] for item in items}) < len(items):
        problems.append('/metadata: a key is repeated')
    sizes = [len(item['key'].encode()) + len(item['value'].encode()) for item in items]
    if any(size > MOST_METADATA // 2 for size in sizes) or sum(sizes) > MOST_METADATA:
        problems.append('/metadata: too large')
    disks = instance.get('disks', [])
    if [disk.get('boot', False) for disk in disks] != [True] + [False] * (len(disks) - 1):
        problems.append('/disks: exactly the first one is to be the boot disk')
    if not instance.get('networkInterfaces'):
        problems.append('/networkInterfaces is missing')
    if any(len(interface.get('accessConfigs', [])) > 1 for interface in instance.get('networkInterfaces', [])):
        problems.append('/networkInterfaces: more than one access configuration')
    if 'machineType' not in instance:
        problems.append('/machineType is missing')
    accounts = instance.get('serviceAccounts', [])
    if len(accounts) > 1 or any(not account.get('email') or not account.get('scopes') for account in accounts):
        problems.append('/serviceAccounts: at most one, with an address and scopes')
    scheduling = instance.get('scheduling', {})
    if scheduling.get('provisioningModel') == 'SPOT' or scheduling.get('preemptible'):
        if scheduling.get('automaticRestart') or scheduling.get('onHostMaintenance', 'TERMINATE') != 'TERMINATE':
            problems.append('/scheduling: preemptible instances are neither restarted nor migrated')
    elif 'instanceTerminationAction' in scheduling and 'maxRunDuration' not in scheduling:
        problems.append('/scheduling/instanceTerminationAction: only of instances that are ended')
    return problems
