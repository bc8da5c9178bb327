"""Words that are not used, and what is used instead."""
import dataclasses
import pathlib
import re
import sys

from texts import Finding, GLOSSARY

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'check'))
import change  # noqa: E402

RULES = 'tools/words/unused'
KINDS = {'prose', 'comments', 'strings'}


@dataclasses.dataclass
class Rule:
    expression: re.Pattern
    instead: str
    kinds: frozenset
    paths: tuple  # patterns, as in tests/concerns

    def is_for(self, path):
        return any(change.expression(pattern).fullmatch(path) for pattern in self.paths)


def compile_words(pattern):
    """As whole words, however long the space between them is, in capitals or not."""
    pattern = pattern.strip().replace(' ', r'[\s\v]+')
    return re.compile(rf'(?<![\w-])(?:{pattern})(?![\w-])', re.IGNORECASE)


def parse(text):
    """The rules of the file. Raises ValueError."""
    rules, kinds, paths = [], None, ()
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith('#'):
            continue
        if section := re.fullmatch(r'\[(.+?) in (.+)\]', line):
            kinds, paths = frozenset(section[1].replace(',', ' ').split()), tuple(section[2].split())
            if not kinds <= KINDS:
                raise ValueError(f'{RULES}:{number}: not of {", ".join(sorted(KINDS))}: {section[1]}')
            continue
        pattern, arrow, instead = line.partition(' => ')
        if not arrow or not instead.strip() or kinds is None:
            raise ValueError(f'{RULES}:{number}: not "PATTERN => WHAT IS USED INSTEAD" in a section: {line}')
        rules.append(Rule(compile_words(pattern), instead.strip(), kinds, paths))
    return rules


def check(rules, files):
    findings = []
    for file in files:
        concerned = [rule for rule in rules if rule.is_for(file.path)]
        for text in file.texts:
            # Generated tables come from texts in src/, where they are read. The glossary says what is not used.
            if text.is_generated or text.section == GLOSSARY and text.column == 2:
                continue
            for rule in concerned:
                if text.kind in rule.kinds:
                    findings += matches(rule, file.path, text)
    return findings


def matches(rule, path, text):
    for found in rule.expression.finditer(text.plain):
        group = 1 if rule.expression.groups else 0
        if found[group]:
            word = re.sub(r'[\s\v]+', ' ', found[group])
            yield Finding(path, text.line_at(found.start(group)), 'word', f'"{word}": {rule.instead}')
