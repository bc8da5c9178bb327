"""The names of stable interfaces: keys of the configuration, metrics, commands, options, and the request API."""
import json
import re
import subprocess

from fragments import FOLDER, PAGE

TABLES = 'docs'
DECLARATIONS = ('src/cli', 'src/program', 'src/main')
API = 'src/api/openapi.json'
GENERATED = re.compile(r'^<!-- generated: nodepool_reference.*?^<!-- end -->', re.MULTILINE | re.DOTALL)
FIRST_CELL = re.compile(r'^\| *`([^`]+)`', re.MULTILINE)
OPTION = re.compile(r'"((?:-\w,)?--[a-z][\w-]*)[",]')
COMMAND = re.compile(r'\.name = "([a-z][a-z-]*)"')


def names_of_page(path, content):
    """The first cells of tables that are generated from schemas and metrics."""
    return {(path, name) for table in GENERATED.findall(content) for name in FIRST_CELL.findall(table)}


def names_of_declarations(content):
    return {('command line', name) for expression in (OPTION, COMMAND) for name in expression.findall(content)}


def names_of_api(content):
    document = json.loads(content)
    names = {('request API', path) for path in document.get('paths', {})}
    for schema, meaning in document.get('components', {}).get('schemas', {}).items():
        names |= {('request API', f'{schema}.{key}') for key in meaning.get('properties', {})}
    return names


def names(files):
    """The names of the interface, as (where, name), in {path: content}."""
    found = set()
    for path, content in files.items():
        if path == API:
            found |= names_of_api(content)
        elif path.startswith(TABLES + '/'):
            found |= names_of_page(path, content)
        else:
            found |= names_of_declarations(content)
    return found


def is_read(path):
    if path.startswith(TABLES + '/'):
        return path.endswith('.md')
    return path == API or path.endswith(('.cc', '.h'))


def git(*arguments):
    return subprocess.run(['git', *arguments], check=True, capture_output=True, text=True).stdout


def files_of(commit):
    places = [TABLES, *DECLARATIONS, API]
    listed = git('ls-tree', '-r', '--name-only', '-z', commit, '--', *places).split('\0')
    return {path: git('show', f'{commit}:{path}') for path in filter(is_read, listed)}


def files_of_tree(root):
    places = [TABLES, *DECLARATIONS, API]
    listed = git('ls-files', '--cached', '--others', '--exclude-standard', '-z', '--', *places).split('\0')
    return {path: (root / path).read_text() for path in filter(is_read, listed) if (root / path).exists()}


def has_fragment(base):
    """Whether a fragment or the changelog itself has changed since a commit."""
    changed = git('diff', '--name-only', base, '--', FOLDER, PAGE)
    return bool(changed or git('ls-files', '--others', '--exclude-standard', '--', FOLDER, PAGE))


def problems(root, base):
    """The names that have changed since a commit, `where: added or removed name`, unless a fragment has, too."""
    if has_fragment(base):
        return []
    before, after = names(files_of(base)), names(files_of_tree(root))
    return ([f'{where}: added {name}' for where, name in sorted(after - before)] +
            [f'{where}: removed {name}' for where, name in sorted(before - after)])
