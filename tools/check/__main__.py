"""Installs what the tests need, builds, and runs them: see the usage below."""
import argparse
import os
import pathlib
import subprocess
import sys
import time

import change
import process
import suites
from results import Result, table
from suites import BY_NAME, GROUPS, SUITES

USAGE = '''
./check                     what decides for everybody: the quick suites and 1000 seeds of the simulation
./check changed [BASE]      what a change concerns, as tests/concerns says; since BASE, or since the newest commit
                            that is older than a day
./check ci                  the same with all quick suites, in the time that continuous integration has
./check all [--from SUITE]  every suite, in this order, at any length
./check SUITE… [OPTION…]    some suites:
'''
CI_BUDGET = 60 * 60       # seconds; an idle machine takes half of that
CI_REST_BUDGET = 30 * 60  # what is not only smoke, as far as that goes


def perform(suite, name, run):
    """Runs a suite, whatever happens in it, and measures it."""
    print(f'== {name}', flush=True)
    began, cpu = time.monotonic(), process.cpu_seconds()
    try:
        result = suite.perform(run)
    except process.OutOfTime:
        result = Result(name, out_of_time=True)
    except (suites.Failed, OSError, subprocess.CalledProcessError) as error:
        print(f'FAILED: {error}', file=sys.stderr)
        result = Result(name, failed=1, note=str(error))
    result.seconds = time.monotonic() - began
    result.cpu_seconds = process.cpu_seconds() - cpu
    print(f'== {result.suite}: {result.verdict}, {result.seconds:.0f} s', flush=True)
    return result


def bootstrap(wanted):
    options = {option for suite in wanted for option in suite.packages}
    subprocess.run(['tools/bootstrap', '--tests', *sorted(options)], check=True)


def run_suites(names, options, budget=process.Budget()):
    wanted = [BY_NAME[name] for name in names]
    bootstrap(wanted)
    return [perform(suite, suite.name, suites.Run(budget, list(options))) for suite in wanted]


def run_all(first):
    names = [suite.name for suite in SUITES if not suite.is_measurement]
    return run_suites(names[names.index(first):] if first else names, [])


def run_changed(since, is_ci):
    budget = process.Budget(CI_BUDGET if is_ci else None)
    rest_budget = process.Budget(CI_REST_BUDGET if is_ci else None)
    paths = change.changed_files(since)
    concerned = change.concerned_suites(change.parse_map(change.MAP.read_text()), paths)
    say_concerned(since, paths, concerned)
    is_part = {suite.name: suite.has_services for suite in SUITES}
    steps = plan(concerned, is_ci)
    bootstrap([BY_NAME[name] for name in steps if name in BY_NAME])
    results = []
    for name in steps:
        if name == 'repeated':
            suite = suites.Suite(name, '', suites.repeated)
        else:
            suite = BY_NAME[name]
        run = suites.Run(budget, since=since, changed=paths,
                         part='smoke' if is_part.get(name) else None)
        if is_ci and name == 'quick':
            run.since = None
        results.append(perform(suite, name, run))
    for name in [name for name in steps if is_part.get(name) and concerned[name]]:
        results.append(rest(BY_NAME[name], suites.Run(rest_budget, part='rest')))
    return results


def plan(concerned, is_ci):
    """The suites in the order of their table, the sanitizers last."""
    always = ['format', 'headers', 'docs', 'quick'] + (['simulation', 'counts'] if is_ci else [])
    last = ['asan']
    names = set(always) | set(concerned) | {'lint'}
    return ([suite.name for suite in SUITES if suite.name in names and suite.name not in last] +
            ['repeated'] + last)


def rest(suite, run):
    """What is not smoke: if there is no time for it, that is said, and decides nothing."""
    result = perform(suite, f'{suite.name}-rest', run)
    if result.out_of_time:
        result.out_of_time = False
        result.note = 'as far as there was time'
    return result


def say_concerned(since, paths, concerned):
    named = ', '.join(name + (' (all of it)' if whole else '') for name, whole in sorted(concerned.items()))
    print(f'{len(paths)} files have changed since {since[:12]}; they concern {named or "no further suite"}',
          flush=True)


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog='./check', formatter_class=argparse.RawDescriptionHelpFormatter, usage=USAGE,
        epilog='\n'.join(f'  {suite.name:20} {suite.what}' for suite in SUITES) +
        f'\n  {"style":20} {", ".join(GROUPS["style"])}')
    parser.add_argument('names', nargs='*')
    parser.add_argument('--from', dest='first', choices=[suite.name for suite in SUITES])
    return parser.parse_known_args(arguments)


def choose(arguments, options):
    names = arguments.names or ['quick', 'simulation']
    if names[0] == 'all':
        return run_all(arguments.first)
    if names[0] == 'ci':
        return run_changed(change.base(), is_ci=True)
    if names[0] == 'changed':
        return run_changed(names[1] if len(names) > 1 else change.base(), is_ci=False)
    return run_suites([part for name in names for part in GROUPS.get(name, [name])], options)


def main():
    os.chdir(pathlib.Path(__file__).resolve().parents[2])
    own, options = split(sys.argv[1:])
    arguments, unknown = parse(own)
    known = {*BY_NAME, *GROUPS, 'all', 'ci', 'changed'}
    for name in arguments.names[:1] if arguments.names[:1] == ['changed'] else arguments.names:
        if name not in known:
            sys.exit(f'unknown suite: {name} (./check --help lists them)')
    results = choose(arguments, unknown + options)
    print(table(results))
    passed, failed = (sum(getattr(result, what) for result in results) for what in ('passed', 'failed'))
    failed += sum(result.out_of_time for result in results)
    print(f'{passed} passed, {failed} failed')
    return 1 if failed else 0


def split(arguments):
    """Our own arguments, and those behind `--`, which are the suite's."""
    if '--' in arguments:
        place = arguments.index('--')
        return arguments[:place], arguments[place + 1:]
    return arguments, []


if __name__ == '__main__':
    sys.exit(main())
