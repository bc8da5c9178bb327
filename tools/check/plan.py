"""Selects suites, their order and their time limits."""
import subprocess
import sys
import time
import traceback

import change
import process
import suites
from results import Result
from suites import BY_NAME, SUITES

CI_BUDGET = 86 * 60       # seconds, of the 90 minutes for a run
CI_REST_BUDGET = 5 * 60  # for tests beyond smoke tests, of the time that is left


def perform(suite, name, run):
    """Runs a suite and measures its time. Reports exceptions as a failure."""
    print(f'== {name}', flush=True)
    began, cpu = time.monotonic(), process.cpu_seconds()
    try:
        result = suite.perform(run)
    except process.OutOfTime:
        result = Result(name, out_of_time=True)
    except suites.Failed as error:
        print(f'FAILED: {error}', file=sys.stderr)
        result = Result(name, failed=1, note=str(error))
    except Exception as error:  # a defect of one suite must not keep the others from being run
        traceback.print_exc()
        result = Result(name, failed=1, note=f'{type(error).__name__}: {error}')
    result.seconds = time.monotonic() - began
    result.cpu_seconds = process.cpu_seconds() - cpu
    print(f'== {result.suite}: {result.verdict}, {result.seconds:.0f} s', flush=True)
    return result


def bootstrap(wanted):
    options = {option for suite in wanted for option in suite.packages}
    subprocess.run(['tools/bootstrap', '--tests', *sorted(options)], check=True)


def run_suites(names, options):
    budget = process.Budget()
    wanted = [BY_NAME[name] for name in names]
    bootstrap(wanted)
    return [perform(suite, suite.name, suites.Run(budget, list(options))) for suite in wanted]


def run_all(first):
    names = [suite.name for suite in SUITES if not suite.is_measurement]
    return run_suites(names[names.index(first):] if first else names, [])


def run_changed(since, is_ci):
    budget = process.Budget(CI_BUDGET if is_ci else None)
    paths = change.changed_files(since)
    concerned = change.concerned_suites(change.parse_map(change.MAP.read_text()), paths)
    print_concerned(since, paths, concerned)
    has_smoke = {suite.name for suite in SUITES if suite.has_smoke}
    steps = steps_for(concerned, is_ci)
    bootstrap([BY_NAME[name] for name in steps if name in BY_NAME])
    results = []
    for name in steps:
        suite = BY_NAME.get(name) or suites.Suite(name, 'new and changed tests', suites.repeated)
        run = suites.Run(budget, since=since, changed=paths, is_ci=is_ci,
                         part='smoke' if name in has_smoke else None)
        results.append(perform(suite, name, run))
    rest_budget = budget.part(CI_REST_BUDGET) if is_ci else budget
    for name in [name for name in steps if name in has_smoke and concerned[name]]:
        results.append(rest(BY_NAME[name], suites.Run(rest_budget, part='rest')))
    return results


def steps_for(concerned, is_ci):
    """The suites in the order of SUITES, then what takes longest: the sanitizers, and changed tests many times."""
    always = ['format', 'headers', 'docs', 'stability', 'words', 'changes', 'quick'] + (['simulation', 'counts'] if is_ci else [])
    names = set(always) | set(concerned) | {'lint'}
    return [suite.name for suite in SUITES if suite.name in names and suite.name != 'asan'] + ['asan', 'repeated']


def rest(suite, run):
    """Runs the tests beyond smoke tests. Running out of time is reported, but is not a failure."""
    result = perform(suite, f'{suite.name}-rest', run)
    if result.out_of_time:
        result.out_of_time = False
        result.note = 'until the time limit'
    return result


def print_concerned(since, paths, concerned):
    named = ', '.join(name + (' (all tests)' if whole else '') for name, whole in sorted(concerned.items()))
    print(f'{len(paths)} files have changed since {since[:12]}; affected suites: {named or "none"}',
          flush=True)
