"""The suites, in the order of `./check all`: the most informative and fastest ones first."""
import collections
import contextlib
import dataclasses
import os
import pathlib
import re
import subprocess
import typing

import change
import process
import programs
from results import Result, read_junit, write_junit

BUILD = 'build/check'
SANITIZED = 'build/asan'
RESULTS = pathlib.Path(BUILD, 'results')
JOBS = os.cpu_count() + 1  # more than processors, because some tests wait
LOADS = 8            # busy loops for tests that must not depend on the load
ROUNDS = 20          # of new and changed tests, with busy loops
ROUNDS_LIMIT = 180   # seconds; no test starts afterwards
DECIDING_SEEDS = 200


@dataclasses.dataclass
class Run:
    """The parameters of a suite's run."""
    budget: process.Budget
    options: list = dataclasses.field(default_factory=list)
    since: str | None = None  # only tests affected by changes since this commit
    changed: list = dataclasses.field(default_factory=list)  # paths
    is_ci: bool = False
    part: str | None = None   # of a suite with services: 'smoke', 'rest'; None: all


class Failed(Exception):
    """A step before the tests has failed and has printed the reason."""


def do(run, *command, **options):
    """Runs a command; raises Failed if it fails."""
    if process.run(command, run.budget, **options) != 0:
        raise Failed(' '.join(map(str, command)))


def configure(run, preset):
    with open(os.devnull, 'w') as nothing:
        do(run, 'cmake', '--preset', preset, stdout=nothing)


def build(run, preset='check', targets=()):
    configure(run, preset)
    command = ['cmake', '--build', '--preset', preset]
    do(run, *command, *(['--target', *targets] if targets else []))


def single(suite, run, *command, **environment):
    """Runs a suite that is one command."""
    print('+', *command, flush=True)
    good = process.run(command, run.budget, env={**os.environ, **environment}) == 0
    return Result(suite, passed=int(good), failed=int(not good))


# --- checks of sources

def formatting(run):
    return single('format', run, 'tools/check-format')


def headers(run):
    if run.since is None:
        return single('headers', run, 'tools/check-headers')
    return single('headers', run, 'tools/check-headers', '--of', *of_sources(run, '.h'))


def docs(run):
    return single('docs', run, 'tools/update-docs', '--check')


def stability(run):
    return single('stability', run, 'tools/stable-names', '--check')


def words(run):
    return single('words', run, 'tools/check-words')


def changes(run):
    return single('changes', run, 'tools/changelog', '--check', run.since or change.base())


def lint(run):
    if run.since is None:
        return single('lint', run, 'tools/check-tidy')
    return single('lint', run, 'tools/check-tidy', '--of', *of_sources(run, '.cc', '.h'))


def of_sources(run, *endings):
    return [path for path in run.changed if path.startswith('src/') and path.endswith(endings)
            and pathlib.Path(path).exists()]


# --- test programs

def quick(run):
    """All test programs, or those that the changes affect; for continuous integration all that `asan` does not run, so
    that each test program is built and run once."""
    there = configured(run)
    targets = []
    if run.is_ci:
        sanitized = {program.name for program in sanitized_programs(run, BUILD, there)}
        there = [program for program in there if program.name not in sanitized]
        targets = ['src/all', 'bench/all', *targets_of(there)]
    elif run.since is not None:
        there = change.concerned_programs(BUILD, there, run.changed)
    build(run, targets=targets)
    return test_programs('quick', run, built(BUILD, there))


def asan(run):
    there = configured(run, 'asan')
    if run.since is not None:
        there = sanitized_programs(run, SANITIZED, there)
    there = [program for program in there if program.is_compiled]
    if not there:
        return Result('asan', note='no program has changed')
    build(run, 'asan', targets_of(there))
    return test_programs('asan', run, built(SANITIZED, there))


def sanitized_programs(run, folder, there):
    return change.concerned_programs(folder, there, run.changed, by_code_alone=True)


def configured(run, preset='check'):
    """Configures a build and returns its test programs, built or not."""
    configure(run, preset)
    return programs.list_programs(f'build/{preset}')


def targets_of(wanted):
    return [program.target for program in wanted if program.is_compiled]


def built(folder, wanted):
    """These programs as they are after the build."""
    names = {program.name for program in wanted}
    there = [program for program in programs.list_programs(folder) if program.name in names and program.is_built]
    if len(there) < len(names):
        raise Failed(f'{len(there)} of {len(names)} programs have been built')
    return there


def test_programs(suite, run, there):
    for program in there:
        programs.list_tests(program)
    batches = programs.all_batches(there, lambda program, test: is_wanted(program, test, run.options))
    print(f'== {suite}: {sum(len(batch.tests) for batch in batches)} tests of {len(there)} programs '
          f'in {len(batches)} processes', flush=True)
    result = Result(suite)
    cases = []
    try:
        cases = programs.run_all(batches, run.budget, JOBS)
        failed = [case for case in cases if case.outcome == 'failed']
        result.flaky = [case.full_name for case in failed if passes_alone(case, there, run)]
    except process.OutOfTime:
        result.out_of_time = True
    write_junit(RESULTS / f'{suite}.xml', suite, cases)
    count(result, cases)
    slowest = sorted(cases, key=lambda case: -case.seconds)[:10]
    print('slowest: ' + ', '.join(f'{c.full_name} {c.seconds:.1f} s' for c in slowest), flush=True)
    return result


def is_wanted(program, test, patterns):
    name = f'{program.name}: {test}'
    return not patterns or any(re.search(pattern, name) for pattern in patterns)


def passes_alone(case, there, run):
    program = next(program for program in there if program.name == case.program)
    print(f'== retrying alone: {case.full_name}', flush=True)
    again = programs.run_batch(programs.Batch(program, [case.name]), run.budget)
    return all(case.outcome == 'passed' for case in again)


def count(result, cases):
    """Adds test cases to the result. A skipped test counts as failed."""
    for case in cases:
        if case.outcome == 'passed' or case.full_name in result.flaky:
            result.passed += 1
        else:
            result.failed += 1


def repeated(run):
    """Runs new and changed tests many times with busy loops. Starts with the shortest, so that the time limit affects
    the longest."""
    tests = change.changed_tests(run.since, run.changed)
    if not tests:
        return Result('repeated', note='no test has changed')
    seconds = {case.full_name: case.seconds
               for suite in ('quick', 'asan') for case in read_junit(RESULTS / f'{suite}.xml')}
    wanted = []
    for program in programs_with_changed_tests(run):
        programs.list_tests(program)
        wanted += [programs.Batch(program, [test]) for test in program.tests if change.is_one_of(test, tests)]
    wanted.sort(key=lambda batch: seconds.get(f'{batch.program.name}: {batch.tests[0]}', 0))
    return rounds('repeated', run, wanted, ROUNDS, process.Budget(ROUNDS_LIMIT))


def programs_with_changed_tests(run):
    """These programs, built: in continuous integration as the suites before have built them, otherwise without the
    sanitizers."""
    there = [program for program in configured(run) if program.is_gtest and change.is_own(program, run.changed)]
    sanitized = sanitized_programs(run, BUILD, there) if run.is_ci else []
    plain = [program for program in there if program not in sanitized]
    if plain:
        build(run, targets=targets_of(plain))
    return built(BUILD, plain) + (built(SANITIZED, sanitized) if sanitized else [])


def burn_in(run):
    """Runs all quick suites several times with busy loops, without retries."""
    build(run)
    there = programs.list_programs(BUILD)
    for program in there:
        programs.list_tests(program)
    batches = programs.all_batches(there, lambda program, test: is_wanted(program, test, run.options))
    return rounds('burn-in', run, batches, 5, process.Budget())


def rounds(suite, run, batches, most, limit):
    """Runs all batches up to `most` times; none starts after the limit."""
    result = Result(suite)
    if not batches:
        result.note = 'no test has changed'
        return result
    cases, done = [], 0
    with process.busy_loops(LOADS):
        while done < most and not limit.is_over():
            try:
                cases += programs.run_all(batches, run.budget, JOBS, until=limit)
            except process.OutOfTime:
                result.out_of_time = True
                break
            done += 1
            failures = sum(case.outcome == 'failed' for case in cases)
            print(f'== {suite}: round {done} of {most}, {failures} failures', flush=True)
    write_junit(RESULTS / f'{suite}.xml', suite, cases)
    count(result, cases)
    result.note = describe_rounds(batches, cases)
    return result


def describe_rounds(batches, cases):
    """The number of runs of each test."""
    times = collections.Counter(case.full_name for case in cases)
    names = [f'{batch.program.name}: {test}' for batch in batches for test in batch.tests]
    least, most = min(times[name] for name in names), max(times[name] for name in names)
    often = least if least == most else f'{least} to {most}'
    return f'runs of each test with {LOADS} busy loops: {often}'


def simulation(run):
    build(run, targets=['simulation'])
    options = run.options
    if not options:
        options = ['--seeds', '1000'] if run.since is None else ['--first', '1', '--seeds', str(DECIDING_SEEDS)]
    return single('simulation', run, f'{BUILD}/bin/simulation', *options, **process.NOTICE_USE_AFTER_FREE)


def counts(run):
    build(run, targets=['bench_counts'])
    figures = pathlib.Path(BUILD, 'counts.json')
    with open(figures, 'w') as file:
        do(run, f'{BUILD}/bin/bench_counts', stdout=file)
    return single('counts', run, 'bench/compare', 'bench/counts.json', figures)


def fuzz(run):
    build(run, 'fuzz')
    return single('fuzz', run, 'tests/fuzz/run', *run.options)


# --- programs with real services, with pytest

def pytest(suite, folder, run):
    """Runs the suite in the folder below tests/. Retries failed tests alone."""
    name = suite if run.part is None else f'{suite}-{run.part}'
    file, again = (RESULTS.resolve() / f'{name}{end}.xml' for end in ('', '-again'))
    for path in (file, again):
        path.unlink(missing_ok=True)
    marker = {'smoke': ['-m', 'smoke'], 'rest': ['-m', 'not smoke'], None: []}[run.part]
    command = [f'tests/{folder}/run', *marker, *run.options]
    result = Result(name)
    try:
        print('+', *command, flush=True)
        process.run([*command, f'--junit-xml={file}'], run.budget)
        cases = read_junit(file)
        if any(case.outcome == 'failed' for case in cases):
            print('== retrying failed tests', flush=True)
            process.run([*command, '--last-failed', '--last-failed-no-failures=none',
                         f'--junit-xml={again}'], run.budget)
            better = {case.full_name for case in read_junit(again) if case.outcome == 'passed'}
            result.flaky = [case.full_name for case in cases
                            if case.outcome == 'failed' and case.full_name in better]
    except process.OutOfTime:
        result.out_of_time = True
        cases = read_junit(file)
    count(result, cases)
    if not cases and not result.out_of_time:
        result.failed, result.note = 1, 'no test was run'
    return result


# --- with another ZooKeeper than Debian's

@contextlib.contextmanager
def apache_zookeeper():
    """Lets tests start servers of Apache ZooKeeper."""
    os.environ['ZOOKEEPER_HOME'] = subprocess.run(['tests/support/apache_zookeeper/fetch'], check=True,
                                                  stdout=subprocess.PIPE, text=True).stdout.strip()
    try:
        yield
    finally:
        del os.environ['ZOOKEEPER_HOME']


def zookeeper_3_9(run):
    """The test programs that start servers."""
    build(run)
    there = [program for program in programs.list_programs(BUILD) if program.is_whole and 'zookeeper' in program.name]
    with apache_zookeeper():
        return test_programs('zookeeper-3.9', run, there)


def interop_3_9(run):
    with apache_zookeeper():
        return pytest('interop-3.9', 'interop', dataclasses.replace(run, options=['-m', 'smoke', *run.options]))


def package(run):
    build(run, 'release')
    return single('package', run, 'packaging/check', 'build')


@dataclasses.dataclass
class Suite:
    name: str
    what: str
    perform: typing.Callable
    packages: tuple = ()    # options of tools/bootstrap in addition to --tests
    has_smoke: bool = False  # has tests marked `smoke`
    is_measurement: bool = False  # prints measurements only; not part of `all`


def services(name, folder, what, *packages, has_smoke=False):
    return Suite(name, what, lambda run: pytest(name, folder, run), packages, has_smoke)


def measurement(name, what, command, *packages):
    return Suite(name, what, lambda run: single(name, run, command), packages, is_measurement=True)


SUITES = [
    Suite('format', 'formatting of the sources', formatting, ('--style',)),
    Suite('headers', 'every header compiles alone', headers),
    Suite('docs', 'generated documentation is up to date', docs),
    Suite('stability', 'stable names are those in tests/stability', stability),
    Suite('words', 'the language of the manual and of texts in src/, the glossary, links', words),
    Suite('changes', 'fragments of the changelog, and that keys, options and calls have one that have changed since the base',
          changes),
    Suite('quick', 'unit, conformance and integration tests; options: regular expressions for names', quick),
    Suite('simulation', 'random seeds of the simulation; options are passed to it', simulation),
    Suite('counts', 'costs of a request, compared with bench/counts.json', counts),
    Suite('lint', 'clang-tidy', lint, ('--style',)),
    services('web', 'page', 'the status page in headless Chromium', '--page', '--npm', has_smoke=True),
    services('api', 'http_api', 'the request API with third-party clients, schemathesis and curl', '--interop', has_smoke=True),
    services('ci-examples', 'ci_examples', 'the examples of docs/ci/ as GitLab Runner, GitHub Actions, '
             'Jenkins and Buildbot run them', '--interop', '--ci-examples', has_smoke=True),
    services('aws', 'aws', 'a simulated AWS; every call is checked against AWS\' service models', '--interop', has_smoke=True),
    services('gce', 'gce', 'a simulated Compute Engine; every call is checked against Google\'s discovery document',
             '--interop', has_smoke=True),
    services('azure', 'azure', 'a simulated Azure; every call is checked against Microsoft\'s models; the first run '
             'builds the judge (2 min)', '--interop', '--kubernetes', '--npm', has_smoke=True),
    services('ibmvpc', 'ibmvpc', 'a simulated IBM Cloud VPC; every call is checked with the models of IBM\'s client',
             '--interop', has_smoke=True),
    services('interop', 'interop', 'the programs together with Zuul\'s client and the Python Nodepool', '--interop', has_smoke=True),
    services('clouds-interop', 'interop/clouds', 'the programs together with the Python Nodepool on the simulated clouds',
             '--interop', '--kubernetes', has_smoke=True),
    Suite('zookeeper-3.9', 'the quick tests that start ZooKeeper, with Apache\'s 3.9 instead of Debian\'s', zookeeper_3_9,
          ('--zookeeper',)),
    Suite('interop-3.9', 'the smoke tests of interop, with the same', interop_3_9, ('--interop', '--zookeeper')),
    services('openstack', 'openstack', 'OpenStack\'s own services with a fake hypervisor', '--openstack', has_smoke=True),
    services('kubernetes', 'kubernetes', 'a real Kubernetes API; the first run builds it (10 min)',
             '--kubernetes', '--interop', has_smoke=True),
    services('kubernetes-interop', 'interop/kubernetes', 'the programs together with the Python Nodepool on that API',
             '--kubernetes', '--interop', has_smoke=True),
    services('libvirt', 'libvirt', 'libvirt and QEMU with virtual machines; the first run makes their image (as root)',
             '--libvirt', has_smoke=True),
    services('images', 'openstack/images', 'builds, uploads and boots images of diskimage-builder (as root)',
             '--openstack', '--images', has_smoke=True),
    services('upgrade', 'upgrade', 'upgrades from the previous release and rollbacks to it; the first run builds that release',
             '--interop'),
    Suite('package', 'builds, installs, uses, upgrades and removes the Debian package in a clean Debian (as root); source '
          'archive, manual and bill of materials of a release', package, ('--package',)),
    Suite('asan', 'the quick suites under AddressSanitizer and UBSan', asan),
    Suite('burn-in', 'the quick suites five times with eight busy loops', burn_in),
    Suite('fuzz', 'libFuzzer on the parsers of untrusted input; options: --seconds N for each', fuzz),
    measurement('bench', 'the measurements of bench/', 'bench/run'),
    measurement('side-by-side', 'the Python launcher compared with this one on one ZooKeeper', 'bench/side_by_side', '--interop'),
    measurement('virtual-machines', 'requests for machines of libvirt compared with virsh (as root)', 'bench/virtual_machines',
                '--libvirt'),
    measurement('side-by-side-clouds', 'the same on a simulated AWS and a real Kubernetes API', 'bench/clouds',
                '--interop', '--kubernetes'),
]
BY_NAME = {suite.name: suite for suite in SUITES}
GROUPS = {'style': ['format', 'headers', 'docs', 'stability', 'words', 'changes', 'lint']}
