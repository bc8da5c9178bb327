"""Lists of the API: filters, order, pages."""
import base64
import json
import re

MOST = 500
CLAUSE = re.compile(r'''\(?\s*([\w.-]+?)\s*(!=|=|:|\beq\b|\bne\b)\s*("[^"]*"|'[^']*'|[^\s()'"]+)\s*\)?''')


class Malformed(Exception):
    """A parameter of a list; the text says what is wrong."""


def parse_filter(text):
    """A function that says whether a thing matches."""
    clauses, joints, at = [], set(), 0
    while at < len(text.rstrip()):
        match = CLAUSE.match(text, at)
        if not match:
            raise Malformed(f"Invalid value for field 'filter': '{text}'. Invalid list filter expression.")
        field, operator, value = match.groups()
        clauses.append((field.split('.', 1), operator, value.strip('\'"')))
        joint = re.compile(r'\s*(AND\b|OR\b)?\s*').match(text, match.end())
        if joint.end() < len(text):
            joints.add(joint.group(1) or 'AND')
        at = joint.end()
    if len(joints) > 1 or len({operator in ('eq', 'ne') for _, operator, _ in clauses}) > 1:
        raise Malformed(f"Invalid value for field 'filter': '{text}'. Both AND and OR, or two kinds of expressions.")
    combine = any if joints == {'OR'} else all
    return lambda thing: combine(is_met(thing, *clause) for clause in clauses)


def is_met(thing, path, operator, wanted):
    value = thing
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    given = '' if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    if operator == ':':
        return value is not None and (wanted == '*' or wanted.lower() in given.lower())
    if operator in ('eq', 'ne'):
        return bool(re.fullmatch(wanted, given)) == (operator == 'eq')
    return (value is not None and given == wanted) == (operator == '=')


def page(things, query, list_name, most):
    """The things of a page, and the token of the next one or None. `things`: pairs of a name and a thing. `list_name`:
    tokens are valid for this list and the same filter."""
    matches = parse_filter(query['filter']) if query.get('filter') else lambda _: True
    if 'orderBy' in query:
        raise Malformed('orderBy is not simulated')
    what = [list_name, query.get('filter', '')]
    after = read_token(query['pageToken'], what) if query.get('pageToken') else ''
    found = sorted((name, thing) for name, thing in things if matches(thing) and name > after)
    count = min(int(query.get('maxResults', MOST)) or MOST, most)
    token = base64.urlsafe_b64encode(json.dumps([*what, found[count - 1][0]]).encode()).decode() \
        if len(found) > count else None
    return [thing for _, thing in found[:count]], token


def read_token(text, what):
    try:
        token = json.loads(base64.urlsafe_b64decode(text))
    except ValueError:
        token = []
    if token[:-1] != what:
        raise Malformed(f"Invalid value for field 'pageToken': '{text}'. The token is not of this list.")
    return token[-1]
