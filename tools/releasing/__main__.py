"""Makes releases, repositories for apt, and a web site of manuals."""
import argparse
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import image
import manual
import package
import repository
import sbom
import source
import system
import website

PARTS = ('source', 'package', 'sbom', 'manual', 'image')
SUMS = 'SHA256SUMS'
# What must not change a file of a release. ccache is off: the second build compiles.
VARIATION = {'TZ': 'Pacific/Kiritimati', 'LANG': 'C', 'CCACHE_DISABLE': '1'}

USAGE = '''
Files in the output folder, by default build/release-VERSION:

  source    nodepool-VERSION.tar.xz
  package   the Debian package, for this system and for each --debian
  sbom      its dependencies, those of the build too, with versions and licenses: SPDX 2.3 in JSON, validated
  manual    static HTML with checked links
  image     the container image as an OCI archive for `podman load`
  SHA256SUMS

The same commit gives the same files on each machine with the same packages of Debian installed. --verify makes
everything twice, in different folders, time zones and locales, and compares. --debian and `image` need root.
'''


def parse():
    parser = argparse.ArgumentParser(prog='tools/release', epilog=USAGE,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument('tag', nargs='?', help='make the release of this tag, such as v12.1.0')
    what.add_argument('--snapshot', action='store_true', help='make the same of HEAD')
    what.add_argument('--repository', type=pathlib.Path, metavar='DIR',
                      help='add packages to a repository for apt, which is created if necessary')
    what.add_argument('--website', type=pathlib.Path, metavar='DIR',
                      help='add manuals to a web site of manuals, which is created if necessary')
    parser.add_argument('--output', type=pathlib.Path, metavar='DIR', help='new folder; an old one is replaced')
    parser.add_argument('--only', choices=PARTS, action='append', metavar='PART',
                        help=f'only this part; may be repeated: {", ".join(PARTS)}')
    parser.add_argument('--debian', action='append', default=[], metavar='SUITE',
                        help='also a package for this Debian, such as trixie, built in a chroot; may be repeated')
    parser.add_argument('--built', type=pathlib.Path, metavar='FILE',
                        help='make sbom and image of this package, which was built here of the same commit')
    parser.add_argument('--verify', action='store_true', help='make everything twice, and compare')
    parser.add_argument('--package', type=pathlib.Path, nargs='+', default=[], metavar='FILE',
                        help='of --repository: packages')
    parser.add_argument('--manual', type=pathlib.Path, nargs='+', default=[], metavar='FILE',
                        help='of --website: archives of manuals')
    parser.add_argument('--key', help='of --repository: sign with this key of GnuPG')
    options = parser.parse_args()
    if bool(options.repository) != bool(options.package):
        parser.error('--repository and --package need each other')
    if bool(options.website) != bool(options.manual):
        parser.error('--website and --manual need each other')
    if options.built and (options.debian or 'package' in (options.only or PARTS)):
        parser.error('--built goes with --only of other parts than the package, and without --debian')
    return options


def make(of, parts, suites, built, output, variation=None):
    """Makes the parts of a release in a new folder. `built`: a package to use; None: it is built."""
    environment = system.environment(of.epoch, variation)
    output.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix='nodepool-release-') as folder:
        work = pathlib.Path(folder)
        archive = source.archive(of, work)
        sources = source.unpack(archive, work / 'source')
        if 'source' in parts:
            keep(archive, output)
        if 'manual' in parts:
            (work / 'manual').mkdir()
            html = manual.build(sources, work / 'manual', of.version, environment)
            image.pack(html, output / f'{of.name}-manual.tar.xz', of.epoch, '--xz')
        if {'package', 'sbom', 'image'} & set(parts):
            packages = [make_package(of, archive, suite, built, work, parts, output, environment)
                        for suite in (None, *suites)]
            if 'image' in parts:
                (work / 'image').mkdir()
                keep(image.build(sources, packages[0], work / 'image', of.version, environment), output)
    sums = [f'{digest(path)}  {path.name}\n' for path in sorted(output.iterdir())]
    (output / SUMS).write_text(''.join(sums))


def make_package(of, archive, suite, built, work, parts, output, environment):
    """Makes a package, unless it is built, and its SBOM. Returns the package's path."""
    with system.debian(suite, work) as place:
        sources = source.unpack(archive, place.outside(work / f'package-{suite or "here"}'))
        inside = sources if place.root is None else pathlib.Path('/') / sources.relative_to(place.root)
        if not built:
            log = output.parent / f'{output.name}-{suite or "package"}.log'
            built = package.build(place, inside, environment, log)
        elif repository.upstream_version(built) != of.version:
            raise ValueError(f'{built} is not of version {of.version}')
        path = keep(built, output if 'package' in parts else work)
        if 'sbom' in parts:
            document = sbom.of_package(path, place, inside, environment, of.version, of.epoch)
            bill = output / f'{path.stem}.spdx.json'
            bill.write_text(sbom.text(document))
            subprocess.run([manual.python_environment() / 'bin/pyspdxtools', '--infile', bill], check=True)
    return path


def keep(path, folder):
    return pathlib.Path(shutil.copyfile(path, folder / path.name))


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def differences(first, second):
    """The names of files that are not the same in two folders."""
    names = {path.name for folder in (first, second) for path in folder.iterdir()} - {SUMS}
    return sorted(name for name in names if not (first / name).exists() or not (second / name).exists() or
                  digest(first / name) != digest(second / name))


def release(options):
    of = source.snapshot() if options.snapshot else source.of_tag(options.tag)
    output = (options.output or source.ROOT / 'build' / f'release-{of.version}').resolve()
    shutil.rmtree(output, ignore_errors=True)
    make(of, options.only or PARTS, options.debian, options.built, output)
    print((output / SUMS).read_text(), end='')
    print(f'{output}: {of.name}')
    if not options.verify:
        return 0
    second = output.parent / f'{output.name}-verify'
    shutil.rmtree(second, ignore_errors=True)
    make(of, options.only or PARTS, options.debian, options.built, second, VARIATION)
    if differ := differences(output, second):
        print(*(f'not reproducible: {output / name} and {second / name}' for name in differ), sep='\n', file=sys.stderr)
        return 1
    shutil.rmtree(second)
    print('A second time the same.')
    return 0


def main():
    options = parse()
    try:
        if options.repository:
            root = options.repository.resolve()
            suites = repository.add(root, options.package, options.key)
            print(f'{root}: {", ".join(suites)}' + ('' if options.key else ', not signed'))
            return 0
        if options.website:
            root = options.website.resolve()
            print(f'{root}: {", ".join(website.add(root, options.manual))}')
            return 0
        return release(options)
    except (ValueError, RuntimeError) as error:
        print(error, file=sys.stderr)
    except subprocess.CalledProcessError as error:
        print(f'{error}\n{error.stderr or ""}'.strip(), file=sys.stderr)
    return 1


if __name__ == '__main__':
    os.umask(0o022)
    sys.exit(main())
