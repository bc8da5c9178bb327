"""Lists of the API: filters and pages."""
import base64
import json

DEFAULT_LIMIT = 50
NO_FILTERS = {'version', 'generation', 'limit', 'start'}
NOT_SIMULATED = {'sort', 'user_data_format', 'operating_system.family', 'operating_system.architecture'}


class Malformed(Exception):
    """A parameter of a list; the text says what is wrong."""


def is_met(found, field, wanted):
    for part in field.split('.'):
        found = found.get(part) if isinstance(found, dict) else None
    return found in wanted.split(',')


def page(things, query, list_name, most):
    """The ids of a page, how many match, the limit, and the token of the next page or None. `things`: by id. Tokens are
    valid for the same list with the same filters."""
    filters = {name: value for name, value in query.items() if name not in NO_FILTERS}
    for name, value in filters.items():
        if name in NOT_SIMULATED or value in ('null', 'not:null'):
            raise Malformed(f'filter {name}={value} is not simulated')
    matching = sorted(number for number, thing in things.items()
                      if all(is_met(thing, *one) for one in filters.items()))
    what = [list_name, filters]
    start = read_token(query['start'], what) if 'start' in query else ''
    found = [one for one in matching if one >= start]
    limit = min(int(query.get('limit', DEFAULT_LIMIT)), most)
    token = base64.urlsafe_b64encode(json.dumps([*what, found[limit]]).encode()).decode().rstrip('=') \
        if len(found) > limit else None
    return found[:limit], len(matching), limit, token


def read_token(text, what):
    try:
        token = json.loads(base64.urlsafe_b64decode(text + '=' * (-len(text) % 4)))
    except ValueError:
        token = []
    if token[:-1] != what:
        raise Malformed(f'start={text} is not of this list')
    return token[-1]
