"""Lists the test programs of a build and runs their tests.

The list comes from CTest, so `ctest` and `./check` run the same programs. Most programs use GoogleTest:
a process runs many of their tests, because starting a process costs more than most tests. If a process
dies or hangs, its current test has failed, and the remaining tests run in another process.
"""
import concurrent.futures
import dataclasses
import json
import os
import re
import selectors
import subprocess
import time

import process
from results import TestCase

TESTS_PER_PROCESS = 40
WAITING_JOBS = 2  # batches with a shared service at a time
PROCESSES = 8  # the least number for a program's tests, if there are enough
# Seconds without output after which a test counts as hanging: a hundred times the longest silence of a
# test on an idle machine.
SILENCE = 600

RUNS = re.compile(r'^\[ RUN      \] (\S+)')
ENDS = re.compile(r'\[ +(OK|FAILED|SKIPPED) +\] ([^\s,]+).*?(?:\((\d+) ms\))?$')


@dataclasses.dataclass
class Program:
    name: str  # in CTest
    command: list
    is_gtest: bool
    is_whole: bool = False         # its tests share a service that takes seconds to start
    reads_documents: bool = False  # its tests read files of the source tree, unknown to the build
    starts_daemons: bool = False   # its tests start the launcher and the builder
    is_built: bool = True
    tests: list = dataclasses.field(default_factory=list)

    @property
    def file(self):
        return self.command[0]

    @property
    def source_folder(self):
        return self.name.replace('fuzz: ', 'tests/fuzz/corpus/') if ': ' in self.name else f'tests/{self.name}'

    @property
    def is_compiled(self):
        return self.target.startswith(('test_', 'corpus_'))

    @property
    def target(self):
        return os.path.basename(self.file)


@dataclasses.dataclass
class Batch:
    """Tests of one program that run in one process."""
    program: Program
    tests: list


def list_programs(build):
    """The test programs of a build folder, also those that have not been built."""
    return parse_listing(subprocess.run(['ctest', '--test-dir', build, '--show-only=json-v1'], check=True,
                                        capture_output=True, text=True).stdout)


def parse_listing(text):
    """Parses CTest's list. A test without a command has not been built; REQUIRED_FILES names its program."""
    programs = []
    for test in json.loads(text)['tests']:
        properties = {p['name']: p['value'] for p in test['properties']}
        labels = properties.get('LABELS', [])
        programs.append(Program(test['name'], test.get('command') or properties['REQUIRED_FILES'], 'gtest' in labels,
                                'shared-service' in labels, 'reads-documents' in labels, 'starts-daemons' in labels,
                                'command' in test))
    return programs


def list_tests(program):
    """Sets the names of a program's tests."""
    if not program.is_gtest:
        program.tests = [program.name]
        return
    listing = subprocess.run([*program.command, '--gtest_list_tests'], check=True,
                             capture_output=True, text=True).stdout
    program.tests, suite = [], ''
    for line in listing.splitlines():
        name = line.split('#')[0].rstrip()
        if line.startswith('  '):
            if 'DISABLED_' not in suite + name:
                program.tests.append(suite + name.strip())
        elif name.endswith('.'):
            suite = name


def batches_of(program, tests):
    """Batches in the program's order, so that tests of one fixture stay together."""
    size = len(tests) if program.is_whole else min(TESTS_PER_PROCESS, -(-len(tests) // PROCESSES))
    return [Batch(program, tests[i:i + size]) for i in range(0, len(tests), size or 1)]


def all_batches(programs, is_wanted):
    """The batches of the tests for which is_wanted(program, test). Programs with few tests come first, because these
    tests take longest and should not be the last ones."""
    batches = []
    for program in sorted(programs, key=lambda program: len(program.tests)):
        batches += batches_of(program, [test for test in program.tests if is_wanted(program, test)])
    return batches


def run_all(batches, budget, jobs, announce=print, until=None):
    """Runs batches, `jobs` at a time, and returns the test cases. Batches with a shared service run beside them, because
    they mostly wait. No batch starts after `until`. Raises process.OutOfTime."""
    whole = [batch for batch in batches if batch.program.is_whole]
    others = [batch for batch in batches if not batch.program.is_whole]
    cases = []
    with (concurrent.futures.ThreadPoolExecutor(WAITING_JOBS) as aside,
          concurrent.futures.ThreadPoolExecutor(jobs) as pool):
        running = [aside.submit(run_batch, batch, budget, until) for batch in whole]
        running += [pool.submit(run_batch, batch, budget, until) for batch in others]
        try:
            for done in concurrent.futures.as_completed(running):
                for case in done.result():
                    cases.append(case)
                    if case.outcome != 'passed':
                        announce(f'{case.outcome.upper()}: {case.full_name}\n{case.output}')
        except BaseException:
            # Running processes end within a second.
            budget.end()
            for future in running:
                future.cancel()
            raise
    return cases


def run_batch(batch, budget, until=None):
    """Runs the tests of a batch, in further processes if one dies or hangs; none after `until`."""
    cases, left = [], [] if until and until.is_over() else list(batch.tests)
    while left:
        ended = run_process(batch.program, left, budget)
        cases += ended
        names = {case.name for case in ended}
        left = [test for test in left if test not in names]
    return cases


def run_process(program, tests, budget):
    """Runs tests in one process; returns the outcomes of those that started, at least one."""
    if budget.is_over():
        raise process.OutOfTime
    command = list(program.command)
    if program.is_gtest:
        command.append('--gtest_filter=' + ':'.join(tests))
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             stdin=subprocess.DEVNULL, start_new_session=True,
                             env={**os.environ, **process.NOTICE_USE_AFTER_FREE})
    try:
        reader = Reader(program, tests)
        why = follow(child, reader, budget)
        if why is None:
            status = child.wait()
            why = '' if status == 0 else f'the process ended with {status}'
    finally:
        process.signal_group(child, process.signal.SIGKILL)
        child.wait()
        child.stdout.close()
    return reader.conclude(why)


def follow(child, reader, budget):
    """Reads the child's output to its end. Returns the problem if it does not end, otherwise None."""
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        heard = time.monotonic()
        while True:
            if budget.is_over():
                raise process.OutOfTime
            if selector.select(1):
                data = os.read(child.stdout.fileno(), 1 << 16)
                if not data:
                    return None
                reader.feed(data.decode(errors='replace'))
                heard = time.monotonic()
            elif child.poll() is not None:
                # A child of the test keeps the pipe open.
                return None
            elif time.monotonic() - heard > SILENCE:
                return f'no output for {SILENCE} s'


class Reader:
    """Gets the outcomes of tests from the output of a process."""

    def __init__(self, program, tests):
        self.program = program
        self.cases = []
        self.began = time.monotonic()
        self.current = None if program.is_gtest else tests[0]
        self.first = tests[0]
        self.lines = []
        self.rest = ''

    def feed(self, text):
        *lines, self.rest = (self.rest + text).split('\n')
        for line in lines:
            self.read(line)

    def read(self, line):
        self.lines.append(line)
        if not self.program.is_gtest:
            return
        if found := RUNS.match(line):
            self.current, self.lines = found[1], [line]
        elif (found := ENDS.search(line)) and found[2] == self.current:
            outcome = {'OK': 'passed', 'FAILED': 'failed', 'SKIPPED': 'skipped'}[found[1]]
            self.end(outcome, float(found[3] or 0) / 1000)

    def end(self, outcome, seconds):
        output = '' if outcome == 'passed' else '\n'.join(self.lines)
        self.cases.append(TestCase(self.program.name, self.current, seconds, outcome, output))
        self.current, self.lines = None, []

    def conclude(self, why):
        """Returns the outcomes. `why`: the problem of the process, empty if it succeeded."""
        if self.rest:
            self.read(self.rest)
        if not self.program.is_gtest:
            self.lines += [why] if why else []
            self.end('failed' if why else 'passed', time.monotonic() - self.began)
        elif self.current is not None:
            self.lines.append(why or 'the process ended in the middle of the test')
            self.end('failed', 0)
        elif not self.cases or (why and all(case.outcome == 'passed' for case in self.cases)):
            # The process failed outside of all tests: before the first one or at its end.
            self.current = self.cases.pop().name if self.cases else self.first
            self.lines.append(why or 'the test did not run')
            self.end('failed', 0)
        return self.cases
