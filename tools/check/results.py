"""Results of suites: counts, verdicts, JUnit files, and the table at the end."""
import dataclasses
import pathlib
import xml.etree.ElementTree as xml

PASSED = 'passed'
FAILED = 'FAILED'
NOT_DECIDED = 'NOT DECIDED'


@dataclasses.dataclass
class Result:
    """The result of one suite. `flaky` are tests that failed, but passed when they were retried alone."""
    suite: str
    passed: int = 0
    failed: int = 0
    flaky: list = dataclasses.field(default_factory=list)
    out_of_time: bool = False
    seconds: float = 0
    cpu_seconds: float = 0
    note: str = ''

    @property
    def verdict(self):
        if self.failed:
            return FAILED
        return NOT_DECIDED if self.out_of_time else PASSED


@dataclasses.dataclass
class TestCase:
    """The outcome of a test. `output` is kept only if the test did not pass."""
    program: str
    name: str
    seconds: float = 0
    outcome: str = 'passed'  # or failed, skipped
    output: str = ''

    @property
    def full_name(self):
        return f'{self.program}: {self.name}'


def write_junit(path, suite, cases):
    root = xml.Element('testsuite', name=suite, tests=str(len(cases)),
                       failures=str(sum(case.outcome == 'failed' for case in cases)),
                       skipped=str(sum(case.outcome == 'skipped' for case in cases)))
    for case in cases:
        element = xml.SubElement(root, 'testcase', classname=case.program, name=case.name,
                                 time=f'{case.seconds:.3f}')
        if case.outcome != 'passed':
            kind = 'failure' if case.outcome == 'failed' else 'skipped'
            xml.SubElement(element, kind).text = printable(case.output)
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    xml.ElementTree(root).write(path, encoding='utf-8', xml_declaration=True)


def printable(text):
    """Replaces control characters, which XML does not allow."""
    return ''.join(c if c in '\n\t' or c >= ' ' else '�' for c in text)


def read_junit(path):
    """The test cases in a JUnit file, an empty list if there is none."""
    try:
        root = xml.parse(path).getroot()
    except (OSError, xml.ParseError):
        return []
    cases = []
    for element in root.iter('testcase'):
        case = TestCase(element.get('classname', ''), element.get('name', ''),
                        float(element.get('time', 0)))
        for kind, outcome in (('failure', 'failed'), ('error', 'failed'), ('skipped', 'skipped')):
            if (found := element.find(kind)) is not None:
                case.outcome, case.output = outcome, found.text or ''
        cases.append(case)
    return cases


def table(results):
    """A line for each suite, then the flaky tests."""
    columns = ('suite', 'tests', 'failed', 'flaky', 'seconds', 'CPU', 'verdict')
    rows = [columns] + [(r.suite, str(r.passed + r.failed), str(r.failed), str(len(r.flaky)),
                         f'{r.seconds:.0f}', f'{r.cpu_seconds:.0f}',
                         r.verdict + (f' ({r.note})' if r.note else '')) for r in results]
    widths = [max(len(row[i]) for row in rows) for i in range(len(columns) - 1)]
    lines = []
    for row in rows:
        first, *numbers, verdict = row
        lines.append('  '.join([first.ljust(widths[0])] +
                               [n.rjust(w) for n, w in zip(numbers, widths[1:])] + [verdict]))
    lines += [f'FLAKY: {result.suite}: {name} passed only when retried alone'
              for result in results for name in result.flaky]
    return '\n'.join(lines)
