"""Lists of the API: filters and pages."""
import base64
import json
import re

MOST = 500
CLAUSE = re.compile(r'''\s*(?:AND\b)?\s*\(?\s*([\w.-]+)\s*(!=|=|:)\s*("[^"]*"|[^\s()'"]+)\s*\)?\s*''')


class Malformed(Exception):
    """A parameter of a list; the text says what is wrong."""


def parse_filter(text):
    """A function that says whether a thing matches all clauses. Google also has OR and regular expressions."""
    clauses, at = [], 0
    while at < len(text):
        match = CLAUSE.match(text, at)
        if not match:
            raise Malformed(f"Invalid value for field 'filter': '{text}'. Invalid list filter expression.")
        field, operator, value = match.groups()
        clauses.append((field.split('.', 1), operator, value.strip('"')))
        at = match.end()
    return lambda thing: all(is_met(thing, *clause) for clause in clauses)


def is_met(thing, path, operator, wanted):
    for part in path:
        thing = thing.get(part) if isinstance(thing, dict) else None
    if operator == ':':  # has
        return thing is not None and (wanted == '*' or wanted.lower() in str(thing).lower())
    return (thing == wanted) == (operator == '=')


def page(things, query, list_name, most):
    """The things of a page, and the token of the next one or None. `things`: pairs of a name and a thing. `list_name`:
    tokens are valid for this list and the same filter."""
    matches = parse_filter(query['filter']) if query.get('filter') else lambda _: True
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
