"""Names of code on the pages for contributors: each is found in a source, a script or a file's name."""
import re
import subprocess

from texts import CODE_SPAN, Finding

PAGES = ('docs/architecture.md', 'CONTRIBUTING.md')
NAME = re.compile(r'[A-Za-z]\w*')
IS_CODE = re.compile(r'[a-z][A-Z]|[A-Z][a-z]|_')  # CamelCase, snake_case; other words are commands and options


def check(files, known):
    """`known`: all words of the tree's other files, and of their names. test_<module> is the program of tests/<module>."""
    return [Finding(file.path, text.line_at(span.start()), 'name', f'{name}: the tree has no such name')
            for file in files if file.path in PAGES
            for text in file.texts
            for span in CODE_SPAN.finditer(text.raw)
            for name in NAME.findall(span[2]) if IS_CODE.search(name) and name.removeprefix('test_') not in known]


def check_all(root, files):
    if not any(file.path in PAGES for file in files):
        return []
    names = subprocess.run(['git', 'ls-files', '--cached', '--others', '--exclude-standard'], cwd=root, check=True,
                           capture_output=True, text=True).stdout.splitlines()
    known = set(NAME.findall('\n'.join(names)))
    for name in names:
        if not name.endswith('.md') and (root / name).is_file():
            known.update(NAME.findall((root / name).read_text(errors='replace')))
    return check(files, known)
