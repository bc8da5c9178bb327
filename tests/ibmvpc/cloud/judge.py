"""Checks calls and answers with the models in IBM's own clients, the PyPI packages ibm-vpc and ibm-platform-services.

The packages contain no description of the API. The judge reads method, path, parameters and models of each call from
the source of the client, and fields, types and enumerations from the models' constructors.
"""
import datetime
import functools
import json
import pathlib
import re
import typing
import urllib.parse

from ibm_platform_services import resource_controller_v2, resource_manager_v2
from ibm_vpc import vpc_v1

SERVICES = [(vpc_v1, vpc_v1.VpcV1, '/v1'), (resource_manager_v2, resource_manager_v2.ResourceManagerV2, ''),
            (resource_controller_v2, resource_controller_v2.ResourceControllerV2, '')]
SIMULATED_VERSIONS = re.compile(r'any date between\s+`([\d-]{10})` and\s+`([\d-]{10})`')
NAME = re.compile('[a-z]|[a-z][-a-z0-9]{0,61}[a-z0-9]')  # from IBM's API reference
NULL = 'next_url'  # of the resource controller: null on the last page, contrary to the model
SCALARS = {str: str, bool: bool, int: int, float: (int, float), dict: dict}


class Call:
    """A call of a client: its path, parameters and models."""

    def __init__(self, module, client, base, name, source):
        self.name, self.module = name, module
        self.verb = re.search(r"method='(\w+)'", source).group(1)
        path = base + re.search(r"\n +url = '([^']+)'", source).group(1)
        self.pattern = re.compile(re.sub(r'\{(\w+)\}', r'(?P<\1>[^/]+)', path))
        self.variables = path.count('{')
        hints = {parameter: annotation for parameter, annotation in getattr(client, name).__annotations__.items()}
        params = re.search(r'params = \{(.*?)\}', source, re.DOTALL)
        self.query = {key: hints.get(value, str) for key, value in re.findall(
            r"'([\w.]+)': (?:self\.)?(\w+)", params.group(1) if params else '')}
        fields = re.search(r'\n        data = \{(.*?)\n? *\}', source, re.DOTALL)
        self.fields = {key: (hints[value], False, None) for key, value in re.findall(
            r"'(\w+)': (\w+)", fields.group(1) if fields else '')}
        body = re.search(r'data = json.dumps\((\w+)\)', source)
        self.body = hints[body.group(1)] if body and not self.fields else None
        kind = re.search(r"headers\['content-type'\] = '([^']+)'", source)
        self.content_type = kind.group(1) if kind else None
        result = re.search(r'representing a `(\w+)` object', source)
        self.result = getattr(module, result.group(1)) if result else None


class Judge:
    """Reports what is wrong with calls and answers, as lines of text."""

    def __init__(self):
        self.calls = []
        for module, client, base in SERVICES:
            source = pathlib.Path(module.__file__).read_text().partition(f'class {client.__name__}(')[2]
            for part in re.split(r'\n    def ', source.partition('\nclass ')[0])[1:]:
                if 'self.prepare_request' in part:
                    self.calls.append(Call(module, client, base, part.partition('(')[0], part))
        self.calls.sort(key=lambda call: call.variables)  # the more specific paths first
        self.versions = SIMULATED_VERSIONS.search(pathlib.Path(vpc_v1.__file__).read_text()).groups()

    def find(self, verb, path):
        """The call, and the values in the path. (None, {}): there is none."""
        for call in self.calls:
            match = call.pattern.fullmatch(path) if call.verb == verb else None
            if match:
                return call, {name: urllib.parse.unquote(value) for name, value in match.groupdict().items()}
        return None, {}

    def request_problems(self, call, query, headers, body):
        """`query`: pairs. `headers`: names in lower case. `body`: bytes."""
        given = dict(query)
        problems = [] if len(given) == len(query) else ['a parameter is repeated']
        for name, value in given.items():
            if name not in call.query:
                problems.append(f'unknown parameter {name}')
            elif not value or unwrapped(call.query[name]) is int and not value.isdigit():
                problems.append(f'parameter {name} cannot be {value!r}')
        if 'limit' in given and 'limit' in call.query and not problems:
            problems += [] if 1 <= int(given['limit']) <= 100 else ['parameter limit: 1 to 100']
        if 'version' in call.query:
            first, last = self.versions
            if not re.fullmatch(r'\d{4}-\d\d-\d\d', given.get('version', '')):
                problems.append('parameter version is missing or no date')
            elif not first <= given['version'] <= last:
                problems.append(f'parameter version: only {first} to {last} are simulated')
            if given.get('generation') != '2':
                problems.append('parameter generation is not 2')
        return [f'{call.name}: {problem}' for problem in problems + self.body_problems(call, headers, body)]

    def body_problems(self, call, headers, body):
        if call.content_type is None:
            return ['a body, which it does not take'] if body else []
        if headers.get('content-type', '').partition(';')[0].strip() != call.content_type:
            return [f'the body is not announced as {call.content_type}']
        try:
            content = json.loads(body)
        except ValueError:
            return ['the body is no JSON']
        nullable = call.verb == 'PATCH'
        if call.body is None:
            return self.object_problems(call.module, call.fields, content, '', nullable)
        return self.value_problems(call.module, call.body, content, '', nullable=nullable) or name_problems(content)

    def answer_problems(self, call, status, content):
        if status < 400:
            problems = self.value_problems(call.module, call.result, content) if call.result else []
            problems += ['content, which it does not have'] if content is not None and not call.result else []
        elif call.module is vpc_v1:
            errors = content.get('errors') if isinstance(content, dict) else None
            good = errors and isinstance(content.get('trace'), str) and all(
                isinstance(one.get('code'), str) and isinstance(one.get('message'), str) for one in errors)
            problems = [] if good else ['not in the shape of an error']
        else:
            problems = [] if isinstance(content, dict) and content.get('message') else ['not in the shape of an error']
        return [f'answer of {call.name}: {problem}' for problem in problems]

    def value_problems(self, module, hint, value, place='', values=None, nullable=False):
        """`values`: the enumeration of the field, if it has one. `nullable`: null removes an optional field."""
        if typing.get_origin(hint) is typing.Union:
            if value is None and nullable:
                return []
            hint = unwrapped(hint)
        if isinstance(hint, typing.ForwardRef):
            hint = hint.__forward_arg__
        if isinstance(hint, str):
            hint = getattr(module, hint)
        if typing.get_origin(hint) in (list, dict):
            origin, inner = typing.get_origin(hint), typing.get_args(hint)[-1]
            if not isinstance(value, origin):
                return [f'{place}: {value!r} is no {origin.__name__}']
            return [problem for at, element in enumerate(value) if origin is list
                    for problem in self.value_problems(module, inner, element, f'{place}/{at}', values)]
        if hint is datetime.datetime:
            return [] if is_time(value) else [f'{place}: {value!r} is no time']
        if hint in SCALARS:
            if not isinstance(value, SCALARS[hint]) or isinstance(value, bool) and hint is not bool:
                return [f'{place}: {value!r} is no {hint.__name__}']
            return [f'{place}: {value!r} is none of {", ".join(map(str, values))}'] \
                if values is not None and value not in values else []
        found = [self.object_problems(module, fields_of(model), value, place, nullable)
                 for model in concrete_models(hint)]
        return min(found, key=len)

    def object_problems(self, module, fields, value, place, nullable):
        if not isinstance(value, dict):
            return [f'{place}: {value!r} is no object']
        problems = [f'{place}/{name}: unknown field' for name in value if name not in fields]
        problems += [f'{place}/{name} is missing' for name, (_, is_required, _) in fields.items()
                     if is_required and name not in value]
        for name in sorted(fields.keys() & value.keys() - ({NULL} if value.get(NULL) is None else set())):
            hint, _, values = fields[name]
            problems += self.value_problems(module, hint, value[name], f'{place}/{name}', values, nullable)
        return problems


def unwrapped(hint):
    return typing.get_args(hint)[0] if typing.get_origin(hint) is typing.Union else hint


@functools.cache
def fields_of(model):
    """Type, whether it is required, and the enumeration or None, by name."""
    found = {}
    for name, hint in model.__init__.__annotations__.items():
        enumeration = getattr(model, f'{"".join(part.capitalize() for part in name.split("_"))}Enum', None)
        values = [one.value for one in enumeration] if enumeration else None
        found[name.rstrip('_')] = hint, name not in (model.__init__.__kwdefaults__ or {}), values
    found.pop('return', None)
    return found


@functools.cache
def concrete_models(model):
    """The model itself, or of an abstract one all models that can take its place."""
    found = [] if any('base class' in str(value) for value in model.__init__.__code__.co_consts) else [model]
    for below in model.__subclasses__():
        found += concrete_models(below)
    return found


def name_problems(value, place=''):
    """Names that IBM's API reference does not permit. Those of profiles, zones and the like are looked up."""
    if not isinstance(value, dict):
        return []
    problems = [problem for name, content in value.items() if name not in ('profile', 'zone', 'operating_system')
                for problem in name_problems(content, f'{place}/{name}')]
    if isinstance(value.get('name'), str) and not NAME.fullmatch(value['name']):
        problems.append(f'{place}/name: {value["name"]!r} is no valid name')
    return problems


def is_time(value):
    try:
        return datetime.datetime.fromisoformat(value.replace('Z', '+00:00')).tzinfo is not None
    except (ValueError, AttributeError, TypeError):
        return False
