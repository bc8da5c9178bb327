"""The names of stable interfaces, as the lists in tests/stability have them."""
import pathlib
import subprocess

from fragments import FOLDER, PAGE

LISTS = 'tests/stability'


def git(*arguments):
    return subprocess.run(['git', *arguments], check=True, capture_output=True, text=True).stdout


def names(files):
    """The names as (list, name) in {path: content}."""
    return {(pathlib.PurePath(path).stem, name) for path, content in files.items() for name in content.splitlines()}


def files_of(commit):
    listed = git('ls-tree', '-r', '--name-only', '-z', commit, '--', LISTS).split('\0')
    return {path: git('show', f'{commit}:{path}') for path in filter(None, listed)}


def files_of_tree(root):
    return {str(path): path.read_text() for path in (root / LISTS).glob('*.txt')}


def has_fragment(base):
    """Whether a fragment or the changelog itself has changed since a commit."""
    changed = git('diff', '--name-only', base, '--', FOLDER, PAGE)
    return bool(changed or git('ls-files', '--others', '--exclude-standard', '--', FOLDER, PAGE))


def problems(root, base):
    """The names that have changed since a commit, `list: added or removed name`, unless a fragment has, too. A commit
    without lists is not compared."""
    before, after = names(files_of(base)), names(files_of_tree(root))
    if not before or has_fragment(base):
        return []
    return ([f'{where}: added {name}' for where, name in sorted(after - before)] +
            [f'{where}: removed {name}' for where, name in sorted(before - after)])
