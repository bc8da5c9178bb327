"""The names of an OpenAPI document: calls, their parameters and responses, and the members of its schemas."""
REF = '#/components/'


def names(document):
    """All names. Members of a request are listed as `optional`, those of a response as `required`, because these are
    what clients rely on."""
    found, bodies = set(), set()
    for path, calls in document['paths'].items():
        for method, call in calls.items():
            found |= of_call(document, f'{method.upper()} {path}', call)
            if 'requestBody' in call:
                bodies |= {schema_of(content) for content in call['requestBody']['content'].values()}
    for name, schema in document['components']['schemas'].items():
        found |= of_schema(schema, name, is_request=name in bodies)
    return found


def resolve(document, part):
    """The part, or the one that its $ref names."""
    for key in part.get('$ref', '').removeprefix('#/').split('/') if '$ref' in part else ():
        document = document[key]
    return document if '$ref' in part else part


def schema_of(content):
    return content['schema'].get('$ref', '').rpartition('/')[2]


def of_call(document, call, meaning):
    found = {call}
    for parameter in meaning.get('parameters', []):
        parameter = resolve(document, parameter)
        found.add(f'{call}: {parameter["in"]} {parameter["name"]}')
    for kind, content in meaning.get('requestBody', {}).get('content', {}).items():
        found.add(f'{call}: body {kind} {schema_of(content)}'.rstrip())
    for status, response in meaning['responses'].items():
        found.add(f'{call}: {status}')
        for kind, content in resolve(document, response).get('content', {}).items():
            where = f'{call}: {status} {kind}'
            found |= of_schema(content['schema'], where, is_request=False)
    return found


def of_schema(schema, where, is_request):
    """`WHERE: TYPE`, `WHERE: "WORD"` for enumerations, and the same for members and items."""
    if '$ref' in schema:
        return {f'{where}: {schema["$ref"].rpartition("/")[2]}'}
    found = set()
    for part in (*schema.get('oneOf', ()), *schema.get('anyOf', ()), *schema.get('allOf', ())):
        found |= of_schema(part, where, is_request)
    types = schema.get('type', [])
    found |= {f'{where}: {kind}' for kind in ([types] if isinstance(types, str) else types)}
    found |= {f'{where}: "{word}"' for word in schema.get('enum', ())}
    required = schema.get('required', ())
    for name, member in schema.get('properties', {}).items():
        found |= of_schema(member, f'{where}.{name}', is_request)
        if (name in required) != is_request:
            found.add(f'{where}.{name}: {"optional" if is_request else "required"}')
    if 'items' in schema:
        found |= of_schema(schema['items'], f'{where}[]', is_request)
    if isinstance(schema.get('additionalProperties'), dict):
        found |= of_schema(schema['additionalProperties'], f'{where}.*', is_request)
    return found
