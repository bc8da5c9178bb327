"""Determines changed files and the suites and tests that they affect."""
import functools
import os
import pathlib
import re
import subprocess

MAP = pathlib.Path('tests/concerns')
PASSED = pathlib.Path('.ci/passed')  # the commit that continuous integration has passed most recently
NOTHING = '-'
WHOLE = '!'  # after a suite's name: all of its tests, not only the smoke tests
TEST_MACRO = re.compile(r'^(TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P)\(\s*(\w+)\s*,\s*(\w+)\s*\)',
                        re.MULTILINE)
FOLDER = re.compile(r'((?:src|tests)(?:/.*)?)/CMakeFiles/')  # of an object
INCLUDE = re.compile(r'^#include "(tests/[^"]+)"', re.MULTILINE)
HUNK = re.compile(r'^@@ -\S+ \+(\d+)(?:,(\d+))? @@')


def git(*arguments):
    return subprocess.run(['git', *arguments], check=True, capture_output=True, text=True).stdout


def base():
    """The commit of PASSED or the newest one older than a day, whichever is the later of the two in the history; the
    empty tree if there is neither. Ignores PASSED if HEAD does not descend from its commit."""
    day_old = git('rev-list', '-1', '--before=1 day ago', 'HEAD').strip()
    passed = PASSED.read_text().strip() if PASSED.exists() else ''
    if passed and is_ancestor(passed, 'HEAD') and not (day_old and is_ancestor(passed, day_old)):
        return passed
    return day_old or git('hash-object', '-t', 'tree', '/dev/null').strip()


def is_ancestor(commit, descendant):
    """Whether there is such a commit and the other one descends from it or is the same."""
    return subprocess.run(['git', 'merge-base', '--is-ancestor', f'{commit}^{{commit}}', descendant],
                          capture_output=True).returncode == 0


def changed_files(since):
    """Files that differ from a commit, including untracked ones. Raises ValueError."""
    if subprocess.run(['git', 'rev-parse', '--verify', '--quiet', f'{since}^{{tree}}'], capture_output=True).returncode:
        raise ValueError(f'no such commit: {since}')
    names = git('diff', '--name-only', '-z', since).split('\0')
    names += git('ls-files', '--others', '--exclude-standard', '-z').split('\0')
    return sorted(set(filter(None, names)))


def parse_map(text):
    """The lines of the map: (pattern, suites)."""
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split('#')[0].strip()
        if not line:
            continue
        pattern, colon, suites = line.partition(':')
        if not colon or not suites.split():
            raise ValueError(f'{MAP}:{number}: not "PATTERN: SUITE…": {line}')
        lines.append((pattern.strip(), [s for s in suites.split() if s != NOTHING]))
    return lines


@functools.cache
def expression(pattern):
    """A pattern as a regular expression: ** is any path, * any name, {a,b} one of these."""
    parts = {'**': '.*', '*': '[^/]*', '{': '(?:', '}': ')', ',': '|'}
    tokens = re.findall(r'\*\*|\*|\{|\}|,|[^*{},]+', pattern)
    return re.compile(''.join(parts.get(token) or re.escape(token) for token in tokens))


def lines_for(lines, path):
    return [(pattern, suites) for pattern, suites in lines if expression(pattern).fullmatch(path)]


def concerned_suites(lines, paths):
    """The suites for a change of these paths, as {suite: whether all of its tests}."""
    suites = {}
    for path in paths:
        for _, names in lines_for(lines, path):
            for name in names:
                suite = name.rstrip(WHOLE)
                suites[suite] = suites.get(suite, False) or name.endswith(WHOLE)
    return suites


def concerned_programs(build, programs, paths, by_code_alone=False):
    """The test programs that depend on changed files, and those that may read them. The build folder must be configured.
    by_code_alone: compiled ones whose code or whose modules' code has changed, without tests of whole daemons, which use
    nearly all modules."""
    changed = {os.path.abspath(path) for path in paths}
    folders = target_folders(build)
    code = [path for path in paths if path.startswith(('src/', 'tests/')) and path.endswith(('.cc', '.h'))]
    places = {place_of(path, folders) for path in with_includers(code)}
    concerned = []
    for program in programs:
        if by_code_alone and (program.starts_daemons or not program.is_compiled):
            continue
        reads = program.reads_documents and not by_code_alone
        if is_own(program, paths) or reads or depends_on(build, program, changed, places):
            concerned.append(program)
    return concerned


def is_own(program, paths):
    """Whether one of the paths is in the folder of a program's tests."""
    return any(pathlib.Path(path).is_relative_to(program.source_folder) for path in paths)


def depends_on(build, program, changed, places):
    """Whether a program is made of one of the changed files (absolute paths) or of code in one of the places."""
    inputs = inputs_of(build, program)
    own = {found[1] for found in map(FOLDER.match, inputs) if found}
    return not changed.isdisjoint(inputs) or any(pathlib.Path(folder).is_relative_to(place)
                                                 for folder in own for place in places)


def target_folders(build):
    """The folders for which CMake has targets."""
    return {str(path.parent.parent.relative_to(build))
            for top in ('src', 'tests') for path in pathlib.Path(build).glob(f'{top}/**/CMakeFiles/*.dir')}


def place_of(path, folders):
    """The folder whose targets use a source or header: its own or the nearest one above."""
    return next((str(parent) for parent in pathlib.Path(path).parents if str(parent) in folders), '.')


def with_includers(paths):
    """These sources and headers and those of tests that include them, directly or not. A source stands for its header,
    too: several programs may be made of it."""
    found = set(paths) | {str(pathlib.Path(path).with_suffix('.h')) for path in paths}
    left = {str(path): set(INCLUDE.findall(path.read_text()))
            for ending in ('cc', 'h') for path in pathlib.Path('tests').glob(f'**/*.{ending}')}
    while users := {path for path, included in left.items() if path not in found and not included.isdisjoint(found)}:
        found |= users
    return found


def inputs_of(build, program):
    """All inputs of a program and the programs that it runs: absolute paths, objects relative to the build folder. A
    library's inputs include all headers and sources of its module."""
    target = str(pathlib.Path(program.file).resolve().relative_to(pathlib.Path(build).resolve()))
    return set(subprocess.run(['ninja', '-C', build, '-t', 'inputs', target], check=True,
                              capture_output=True, text=True).stdout.split('\n'))


def changed_tests(since, paths):
    """(suite, name) of GoogleTest tests whose lines have changed."""
    patterns = set()
    for path in paths:
        if path.startswith('tests/') and path.endswith('.cc') and pathlib.Path(path).exists():
            patterns |= tests_at(pathlib.Path(path).read_text(), changed_lines(since, path))
    return patterns


def changed_lines(since, path):
    """The numbers of the lines of a file that are not in a commit."""
    if not git('ls-files', '--', path):
        return range(1, len(pathlib.Path(path).read_text().splitlines()) + 1)
    lines = set()
    for line in git('diff', '--unified=0', since, '--', path).splitlines():
        if found := HUNK.match(line):
            begin, count = int(found[1]), int(found[2] or 1)
            lines |= set(range(begin, begin + max(count, 1)))
    return lines


def tests_at(text, lines):
    """(suite, name) of the tests in these lines of a source."""
    tests = set()
    for found in TEST_MACRO.finditer(text):
        end = text.find('\n}\n', found.start())
        first = text.count('\n', 0, found.start()) + 1
        last = first + text.count('\n', found.start(), end if end >= 0 else len(text)) + 1
        if any(first <= line <= last for line in lines):
            tests.add((found[2], found[3]))
    return tests


def is_one_of(test, tests):
    """Whether a test's full name (Prefix/Suite.name/Parameter) matches one of (suite, name) from the sources."""
    suite, _, name = test.partition('.')
    return any(wanted_suite in suite.split('/') and wanted == name.split('/')[0]
               for wanted_suite, wanted in tests)
