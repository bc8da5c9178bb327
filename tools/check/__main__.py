"""Installs the packages for the tests, builds, and runs the tests: see the usage below."""
import os
import pathlib
import signal
import sys

import change
import plan
from results import table
from suites import BY_NAME, GROUPS, SUITES

USAGE = '''\
./check                     the default: the quick suites and 1000 seeds of the simulation
./check changed [BASE]      the suites that tests/concerns lists for the changed files; since BASE, by default the
                            commit in .ci/passed or the newest one older than a day
./check ci                  the same with all quick suites, within the time limit of continuous integration
./check all [--from SUITE]  every suite, in the order of this list, without a time limit
./check SUITE… [OPTION…]    some suites; options, from the first one or after `--`, are passed to the suite:
'''


def usage():
    lines = [f'  {suite.name:20} {suite.what}' for suite in SUITES]
    return USAGE + '\n'.join([*lines, f'  {"style":20} {", ".join(GROUPS["style"])}'])


def split(arguments):
    """Splits arguments into names and the options after them."""
    count = next((i for i, argument in enumerate(arguments) if argument.startswith('-')), len(arguments))
    names, options = arguments[:count], arguments[count:]
    return names, options[1:] if options[:1] == ['--'] else options


def choose(names, options):
    """Runs the named suites or groups. Raises ValueError for an unknown name."""
    first, *others = names or ['quick', 'simulation']
    if first == 'all' and not others and (not options or len(options) == 2 and options[0] == '--from'):
        if options and options[1] not in BY_NAME:
            raise ValueError(f'unknown suite: {options[1]}')
        return plan.run_all(options[1] if options else None)
    if first == 'ci' and not others and not options:
        return plan.run_changed(change.base(), is_ci=True)
    if first == 'changed' and len(others) < 2 and not options:
        return plan.run_changed(others[0] if others else change.base(), is_ci=False)
    wanted = [part for name in (first, *others) for part in GROUPS.get(name, [name])]
    if unknown := [name for name in wanted if name not in BY_NAME]:
        raise ValueError(f'unknown suite: {unknown[0]}')
    if options and len(wanted) > 1:
        raise ValueError('options require a single suite')
    return plan.run_suites(wanted, options)


def main():
    os.chdir(pathlib.Path(__file__).resolve().parents[2])
    # Raise KeyboardInterrupt, so that the process groups that have been started are ended.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.default_int_handler)
    # A script ignores this and SIGINT for a command in its background. Tests, which interrupt programs, inherit that.
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    names, options = split(sys.argv[1:])
    if options[:1] == ['--help']:
        print(usage())
        return 0
    try:
        results = choose(names, options)
    except KeyboardInterrupt:
        return 130
    except ValueError as error:
        print(f'{error} (./check --help)', file=sys.stderr)
        return 2
    print(table(results))
    passed, failed = (sum(getattr(result, what) for result in results) for what in ('passed', 'failed'))
    failed += sum(result.out_of_time for result in results)
    print(f'{passed} passed, {failed} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
