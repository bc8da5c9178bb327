"""The glossary of record: a table "Term | Meaning | Not" in docs/architecture.md."""
import dataclasses
import re

import unused
from texts import Finding, GLOSSARY

PAGE = 'docs/architecture.md'
EVERYWHERE = ('docs/**', '*.md', 'src/**')


@dataclasses.dataclass
class Term:
    names: list    # the term, and other forms of it
    line: int
    synonyms: list = dataclasses.field(default_factory=list)  # words that are not used for it


def split_names(cell):
    return [name.strip().strip('`*') for name in cell.split(',') if name.strip() and name.strip() != '–']


def read(files):
    """The terms, and what is wrong with the table."""
    page = next((file for file in files if file.path == PAGE), None)
    rows, findings = {}, []
    for text in page.texts if page else []:
        if text.section == GLOSSARY and text.form == 'cell':
            rows.setdefault(text.line, []).append(text)
    if not rows:
        return [], [Finding(PAGE, 1, 'glossary', f'no section "{GLOSSARY}" with a table of terms')]
    terms, seen = [], {}
    for line, cells in list(rows.items())[1:]:
        term = Term(split_names(cells[0].raw), line, split_names(cells[2].raw) if len(cells) > 2 else [])
        if len(cells) < 2 or not cells[1].raw:
            findings.append(Finding(PAGE, line, 'glossary', f'"{cells[0].raw}" has no meaning'))
        for name in term.names:
            if name.lower() in seen:
                findings.append(Finding(PAGE, line, 'glossary', f'"{name}" is in line {seen[name.lower()]} already'))
            seen.setdefault(name.lower(), line)
        terms.append(term)
    return terms, findings


def rules(terms):
    """The words of the third column are not used in the manual, nor in comments and texts."""
    return [unused.Rule(unused.compile_words(inflected(synonym)), f'the glossary\'s term is "{term.names[0]}"',
                        frozenset(unused.KINDS), EVERYWHERE)
            for term in terms for synonym in term.synonyms]


def inflected(name):
    """Also in the plural, and as a verb: "leases", "backs off"."""
    return ' '.join(re.escape(word) + '(?:e?s)?' for word in name.split())


def check(terms, files):
    """Each term is used outside of the glossary."""
    wanted = {name: (term, unused.compile_words(inflected(name))) for term in terms for name in term.names}
    for file in files:
        for text in file.texts:
            if text.section == GLOSSARY and file.path == PAGE:
                continue
            for name in [name for name, (_, expression) in wanted.items() if expression.search(text.plain)]:
                del wanted[name]
        if not wanted:
            break
    return [Finding(PAGE, term.line, 'glossary', f'"{name}" is used nowhere else')
            for name, (term, _) in wanted.items()]
