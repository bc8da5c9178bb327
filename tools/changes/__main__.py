"""Checks, prints and collects the fragments of the changelog: see tools/changelog."""
import argparse
import pathlib
import subprocess
import sys

import fragments
import interface

ROOT = pathlib.Path(__file__).resolve().parents[2]


def check(base):
    _, problems = fragments.read(ROOT)
    if base and (changed := interface.problems(ROOT, base)):
        problems += [*changed, f'Names of the interface have changed since {base[:12]}: describe the change in '
                     f'{fragments.FOLDER}/ ({fragments.FOLDER}/{fragments.GUIDE}).']
    print(*problems, sep='\n', end='\n' if problems else '')
    return 1 if problems else 0


def collect(version):
    found, problems = fragments.read(ROOT)
    if problems:
        raise ValueError('\n'.join(problems))
    page = ROOT / fragments.PAGE
    page.write_text(fragments.release(page.read_text(), version, found))
    for fragment in found:
        fragment.path.unlink()
    print(f'{fragments.PAGE}: {version} with {len(found)} changes')


def main():
    parser = argparse.ArgumentParser(prog='tools/changelog')
    parser.add_argument('version', nargs='?', metavar='VERSION', help='move the fragments to this release')
    parser.add_argument('--check', nargs='?', const='', metavar='BASE',
                        help='check the fragments, and that changed names of the interface have one')
    options = parser.parse_args()
    try:
        if options.check is not None:
            return check(options.check)
        if options.version:
            collect(options.version)
        else:
            print(fragments.notes(fragments.read(ROOT)[0]), end='')
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(error.stderr.strip(), file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
