"""Links between the pages: in the tree, and among the files that are installed."""
import posixpath
import re
import subprocess

from texts import CODE_SPAN, LINK, NAME, Finding, blank

PACKAGING = 'packaging/CMakeLists.txt'
DEFINITION = re.compile(r'^\[[^]]+\]:\s+(\S+)')
INSTALL = re.compile(r'install\((DIRECTORY|FILES)\s+([^)]*?)\s+DESTINATION\s+"?\$\{CMAKE_INSTALL_DOCDIR\}([^")\s]*)"?')


def targets(text):
    """(offset, target) of the links in a text."""
    hidden = CODE_SPAN.sub(lambda found: blank(found, NAME), text.raw)
    yield from ((found.start(), found[2]) for found in LINK.finditer(hidden))
    if found := DEFINITION.match(hidden):
        yield found.start(), found[1]


def is_outside(target):
    return re.match(r'[a-z][a-z0-9+.-]*:', target) is not None


def anchors(file):
    """What a link to a page may have behind its `#`, as GitHub makes it of the headings."""
    known = set(re.findall(r'<a (?:id|name)="([^"]+)"', file.content))
    times = {}
    for text in file.texts:
        if text.form == 'heading':
            slug = slug_of(text.raw)
            known.add(slug if slug not in times else f'{slug}-{times[slug]}')
            times[slug] = times.get(slug, 0) + 1
    return known


def slug_of(title):
    title = LINK.sub(lambda found: found[1], title).replace('`', '').replace('*', '')
    return re.sub(r'[^\w\- ]', '', title.strip().lower()).replace(' ', '-')


def check(files, names, where=lambda path: path):
    """`names`: the files that there are; `where`: the place of a page among them, None if it has none."""
    places = {where(file.path): file for file in files if where(file.path)}
    folders = {folder for name in names for folder in parents(name)}
    known = {place: anchors(file) for place, file in places.items() if place.endswith('.md')}
    findings = []
    for place, file in places.items():
        for text in file.texts:
            for offset, target in targets(text) if text.kind == 'prose' else ():
                if is_outside(target):
                    continue
                path, _, anchor = target.partition('#')
                found = posixpath.normpath(posixpath.join(posixpath.dirname(place), path)) if path else place
                if found not in names and found not in folders:
                    problem = 'there is no such file'
                elif anchor and found in known and anchor not in known[found]:
                    problem = 'the page has no such heading'
                else:
                    continue
                findings.append((file.path, text.line_at(offset), f'{target}: {problem}'))
    return findings


def parents(name):
    while name := posixpath.dirname(name):
        yield name


def installed(packaging, names):
    """Where the files of the tree go below the folder of documentation, as packaging/CMakeLists.txt says."""
    places = {}
    for kind, what, destination in INSTALL.findall(packaging):
        destination = destination.strip('/')
        for source in what.split():
            source = source.strip('"')
            is_of_tree = source.startswith('${CMAKE_SOURCE_DIR}/')
            source = source.removeprefix('${CMAKE_SOURCE_DIR}/') if is_of_tree else f'packaging/{source}'
            if kind == 'FILES':
                places[source] = posixpath.join(destination, posixpath.basename(source))
                continue
            # The folder itself, or, where its name ends with a slash, what is in it.
            below = source if source.endswith('/') else source + '/'
            cut = len(source) if source.endswith('/') else source.rfind('/') + 1
            places |= {name: posixpath.join(destination, name[cut:]) for name in names if name.startswith(below)}
    return places


def check_all(root, files):
    """A link that does not resolve in the tree is reported once."""
    names = subprocess.run(['git', 'ls-files', '--cached', '--others', '--exclude-standard'], cwd=root, check=True,
                           capture_output=True, text=True).stdout.splitlines()
    places = installed((root / PACKAGING).read_text(), names)
    in_tree = set(check(files, set(names)))
    in_package = set(check(files, set(places.values()), places.get)) - in_tree
    return ([Finding(path, line, 'link', text) for path, line, text in in_tree] +
            [Finding(path, line, 'installed link', text) for path, line, text in in_package])
