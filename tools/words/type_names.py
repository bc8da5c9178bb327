"""Names of types: one that two headers declare is listed with its single meaning."""
import collections
import re

from texts import Finding

LISTED = 'tools/words/shared_types'
TYPE = re.compile(r'^(?:class|struct|enum(?: class)?) (\w+)(?: final)?(?: :| \{|$)', re.M)  # not within another type


def parse(text):
    """The names of a list with a line `NAME: meaning` for each."""
    lines = (line.partition('#')[0].strip() for line in text.splitlines())
    return {line.partition(':')[0] for line in lines if line}


def check(listed, files):
    places = collections.defaultdict(dict)  # the line in each header
    for file in files:
        if file.path.startswith('src/') and file.path.endswith('.h'):
            for found in TYPE.finditer(file.content):
                places[found[1]].setdefault(file.path, file.content.count('\n', 0, found.start()) + 1)
    findings = []
    for name, lines in places.items():
        first, *others = sorted(lines)
        if name not in listed:
            findings += [Finding(path, lines[path], 'type', f'{name}: {first} declares it too; rename one, or list '
                                                            f'it in {LISTED}') for path in others]
    return findings
