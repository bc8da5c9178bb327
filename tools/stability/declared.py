"""The stable names of the tree, by kind: from declarations in the code, the API's document and tables of the manual."""
import json
import re
import subprocess

import openapi

KINDS = ('configuration', 'commands', 'listings', 'metrics', 'records')  # of the program
API = 'src/api/openapi.json'
STATUSES = ('docs/using-nodes.md', '| Command | Status | Meaning |')
PATHS = ('docs/web.md', '| Path | Content |')
IMAGES = 'docs/images.md'
VARIABLES = (IMAGES, '| Variable | Value |')


def names(root, program):
    """All names. Raises ValueError if a source has none, and CalledProcessError with the program's error."""
    found = {kind: of_program(program, kind) for kind in KINDS}
    found['api'] = openapi.names(json.loads((root / API).read_text()))
    found['exit-statuses'] = statuses(table_of(root, *STATUSES))
    found['paths'] = paths(table_of(root, *PATHS))
    found['programs'] = programs(table_of(root, *VARIABLES), (root / IMAGES).read_text())
    if empty := [kind for kind, some in found.items() if not some]:
        raise ValueError(f'there are no names of the kind {empty[0]}')
    return found


def of_program(program, kind):
    return set(subprocess.run([program, kind], check=True, capture_output=True, text=True).stdout.splitlines())


def table_of(root, page, head):
    """The rows of the table with this head, as lists of cells."""
    text = (root / page).read_text()
    _, found, rest = text.partition(f'{head}\n')
    if not found:
        raise ValueError(f'{page} has no table {head}')
    rows = rest.partition('\n\n')[0].splitlines()[1:]
    return [[cell.strip() for cell in row.strip('|').split(' | ')] for row in rows]


def statuses(rows):
    """`COMMAND: STATUS`. A row without a command belongs to the one above."""
    found, command = set(), ''
    for first, status, *_ in rows:
        command = first.strip('`| ') or command
        found |= {f'{command}: {one}' for one in status.split(', ')}
    return found


def paths(rows):
    """The paths in the first cells, and parameters that the second ones name."""
    found = set()
    for first, second, *_ in rows:
        own = re.findall(r'`(/[^`]*)`', first)
        found |= {*own, *(own[0] + parameter for parameter in re.findall(r'`(\?\w+)=', second))}
    return found


def programs(rows, page):
    """What the builder passes to programs: variables in the first cells, and the arguments of the hook in the page."""
    variables = {f'build command: ${name}' for first, *_ in rows for name in re.findall(r'`(\w+)`', first)}
    return variables | {f'post-upload-hook: {arguments}' for arguments in re.findall(r'`share-image ([^`]+)`', page)}
