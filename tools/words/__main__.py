"""Checks the language of the manual and of the texts in src/. Prints `file:line: rule: what`, sorted, and a count."""
import collections
import pathlib
import sys

from tree import check

ROOT = pathlib.Path(__file__).resolve().parents[2]


def is_below(path, places):
    return not places or any(path == place or path.startswith(place + '/') for place in places)


def main():
    places = [place.rstrip('/') for place in sys.argv[1:]]
    findings = [finding for finding in check(ROOT) if is_below(finding.path, places)]
    for finding in findings:
        print(f'{finding.path}:{finding.line}: {finding.rule}: {finding.text}')
    for rule, count in sorted(collections.Counter(finding.rule for finding in findings).items()):
        print(f'{count:6} {rule}')
    return 1 if findings else 0


if __name__ == '__main__':
    sys.exit(main())
