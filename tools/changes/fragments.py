"""Fragments of the changelog: changes/NAME.KIND.md, one change each."""
import dataclasses
import datetime
import pathlib
import re
import textwrap

FOLDER = 'changes'
GUIDE = 'README.md'  # in the folder; not a fragment
PAGE = 'CHANGELOG.md'
KINDS = ('upgrade', 'security', 'added', 'changed', 'deprecated', 'removed', 'fixed')  # in the order of the page
LONGEST = 80  # words
WIDTH = 120
NAME = re.compile(r'[a-z0-9]+(?:-[a-z0-9]+)*\.([a-z]+)\.md')
VERSION = re.compile(r'\d+\.\d+\.\d+')


@dataclasses.dataclass(frozen=True)
class Fragment:
    path: pathlib.Path
    kind: str
    text: str


def read(root):
    """The fragments of a tree, by name, and what is wrong: `path: problem`."""
    fragments, problems = [], []
    for path in sorted((root / FOLDER).iterdir()):
        if path.name == GUIDE:
            continue
        name = NAME.fullmatch(path.name)
        text = path.read_text()
        problem = problem_of_name(name) or problem_of(text)
        if problem:
            problems.append(f'{FOLDER}/{path.name}: {problem}')
        else:
            fragments.append(Fragment(path, name[1], ' '.join(text.split())))
    return fragments, problems


def problem_of_name(name):
    if not name:
        return 'the name is not words-with-hyphens.KIND.md'
    return None if name[1] in KINDS else f'unknown kind {name[1]}: one of {", ".join(KINDS)}'


def problem_of(text):
    """What is wrong with a fragment's text, or None."""
    text = text.strip()
    if not text:
        return 'is empty'
    if '\n\n' in text or text.startswith(('#', '*', '-', '|')):
        return 'is not one paragraph'
    if not text.endswith(('.', '.)')):
        return 'does not end with a period'
    if '](' in text:
        return 'has a link: name pages and keys as code'
    if len(text.split()) > LONGEST:
        return f'has more than {LONGEST} words: put details into the manual'
    return None


def notes(fragments):
    """The notes of a release: a list for each kind."""
    sections = []
    for kind in KINDS:
        items = [textwrap.fill(fragment.text, WIDTH, initial_indent='* ', subsequent_indent='  ',
                               break_long_words=False, break_on_hyphens=False)
                 for fragment in fragments if fragment.kind == kind]
        if items:
            sections.append(f'### {kind.capitalize()}\n\n' + '\n'.join(items) + '\n')
    return '\n'.join(sections)


def heading(version):
    """Matches the heading of a release: `## 12.1.0`, or, once it is released, `## 12.1.0 – 2027-01-31`."""
    return re.compile(rf'^## {re.escape(version)}(?P<date> – \d\d\d\d-\d\d-\d\d)?$', re.MULTILINE)


def is_released(page, version):
    """Whether the changelog has the release with its date."""
    found = heading(version).search(page)
    return bool(found and found['date'])


def release(page, version, fragments, date=None):
    """The changelog with the fragments below the heading of the release, which gets a date. What is written below the
    heading already stays above them. Raises ValueError."""
    if not VERSION.fullmatch(version):
        raise ValueError(f'not a version MAJOR.MINOR.PATCH: {version}')
    if is_released(page, version):
        raise ValueError(f'{PAGE} has {version} with a date: it is released')
    preamble, *sections = re.split(r'^(?=## )', page, flags=re.MULTILINE)
    own = next((section for section in sections if heading(version).match(section)), '')
    written = own.partition('\n')[2].strip('\n')
    title = f'## {version} – {date or datetime.datetime.now(datetime.UTC).date()}'
    first = '\n\n'.join(filter(None, (title, written, notes(fragments).strip('\n'))))
    others = [section for section in sections if section is not own]
    return '\n\n'.join(part.strip('\n') for part in (preamble, first, *others)) + '\n'
