"""Checks and updates the lists of stable names: see tools/stable-names."""
import argparse
import pathlib
import subprocess
import sys

import declared
import lists

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    parser = argparse.ArgumentParser(prog='tools/stable-names')
    parser.add_argument('program', help=argparse.SUPPRESS)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument('--check', action='store_true', help='fail if the lists are not up to date')
    action.add_argument('--update', action='store_true', help='add new names to the lists')
    parser.add_argument('--remove', action='store_true', help='with --update: also remove names, in a MAJOR version')
    options = parser.parse_args()
    if options.remove and not options.update:
        parser.error('--remove needs --update')
    try:
        names = declared.names(ROOT, options.program)
    except ValueError as error:
        print(f'stable-names: {error}', file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(error.stderr.strip(), file=sys.stderr)
        return 1
    if options.update:
        problems = lists.update(ROOT / lists.FOLDER, names, options.remove)
    else:
        problems = lists.check(ROOT / lists.FOLDER, names)
    print(*problems, sep='\n', end='\n' if problems else '')
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
