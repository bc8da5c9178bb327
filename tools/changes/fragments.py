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
MOST_TOGETHER = 12  # changes in one list
NAME = re.compile(r'[a-z0-9]+(?:-[a-z0-9]+)*\.([a-z]+)\.md')
VERSION = re.compile(r'\d+\.\d+\.\d+')
# Subjects of changes, by what names them: see subject_of().
DRIVERS = {
    'Driver `aws`': r'`(?:driver: )?aws`|\bAWS\b|\bEC2\b|\bAMIs?\b',
    'Driver `azure`': r'`(?:driver: )?azure`|\bAzure\b',
    'Driver `gce`': r'`(?:driver: )?gce`|\bGCE\b|Compute Engine',
    'Driver `ibmvpc`': r'`(?:driver: )?ibmvpc`|\bIBM\b',
    'Drivers `kubernetes`, `openshift`, `openshiftpods`': r'`(?:driver: )?(?:kubernetes|openshift(?:pods)?)`|\bKubernetes\b|\bOpenShift\b',
    'Driver `libvirt`': r'\blibvirt\b|quickstart --vm',
    'Driver `metastatic`': r'`(?:driver: )?metastatic`|\bbacking nodes?\b',
    'Driver `openstack`': r'`(?:driver: )?openstack`|\bOpenStack\b|\bNova\b|\bGlance\b|\bNeutron\b|`clouds\.yaml`',
    'Driver `static`': r'`(?:driver: )?static`|\bstatic (?:host|node|provider)s?\b',
}
PARTS = {
    'Commands': r'`nodepool [a-z]|`config-validate`|`(?:explain|history|status|[a-z]+-list)`|\b[Cc]ommands\b|`--[a-z]',
    'Builder and images': r'\b(?:[Bb]uild(?:ers?|s)?|[Ii]mages?|[Uu]ploads?)\b|`post-upload-hook`',
    'Request API and web pages': r'\bAPI\b|[Ss]tatus pages?|\btokens?\b|`/[a-z]|\bwebapp\b',
    'Store': r'\bZooKeeper|`zookeeper-|\bembedded store\b|\bznodes?\b',
    'Logs and metrics': r'`-l`|\blog(?:s|ged)?\b|\bstatsd\b|\b[Mm]etrics?\b|\b[Gg]auges?\b|\b[Aa]lerts?\b|[Ss]tack dump',
    'Installation': r'\b[Pp]ackages?\b|\bunits?\b|\bsystemd\b|`\./quickstart|\bAnsible\b|\b[Cc]ompose\b',
}
REST = 'Launcher and daemons'
ORDER = (REST, *PARTS, *DRIVERS)  # of the page


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


def first_named(patterns, text):
    """The subject that the text names first, or None."""
    found = {name: match.start() for name, pattern in patterns.items() if (match := re.search(pattern, text))}
    return min(found, key=found.get, default=None)


def subject_of(text):
    """What a text concerns, one of ORDER: the driver that its first sentence names first, or else the program or part."""
    sentence = re.split(r'\.\s', text, maxsplit=1)[0]
    return first_named(DRIVERS, sentence) or first_named(PARTS, sentence) or REST


def item(text):
    return textwrap.fill(text, WIDTH, initial_indent='* ', subsequent_indent='  ', break_long_words=False,
                         break_on_hyphens=False)


def section(kind, texts):
    """The list of a kind, a long one by subjects. What is to be done before an upgrade comes first."""
    if kind == 'upgrade':
        texts = sorted(texts, key=lambda text: not text.startswith('Before '))
    groups = {'': texts}
    if kind != 'upgrade' and len(texts) > MOST_TOGETHER:
        groups = {f'#### {subject}\n\n': [text for text in texts if subject_of(text) == subject] for subject in ORDER}
    lists = [title + '\n'.join(map(item, group)) + '\n' for title, group in groups.items() if group]
    return f'### {kind.capitalize()}\n\n' + '\n'.join(lists)


def notes(fragments):
    """The notes of a release: a section for each kind."""
    by_kind = {kind: [fragment.text for fragment in fragments if fragment.kind == kind] for kind in KINDS}
    return '\n'.join(section(kind, texts) for kind, texts in by_kind.items() if texts)


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
