"""A static repository for apt: a directory, also behind a web server. It has one suite for each Debian, `debian12`."""
import pathlib
import re
import shutil
import subprocess

COMPONENT = 'main'
KEY_FILE = 'nodepool.asc'  # the public key, for users
VERSION = re.compile(r'.+-([a-z]+\d[\d.]*)')


def suite_of(version):
    """The suite of a package's version: `12.0.0-debian12` is for Debian 12. Raises ValueError."""
    found = VERSION.fullmatch(version)
    if not found:
        raise ValueError(f'version {version} does not end with the system it is for, such as -debian12')
    return found[1]


def field(package, name):
    return subprocess.run(['dpkg-deb', '--field', package, name], check=True, capture_output=True,
                          text=True).stdout.strip()


def upstream_version(package):
    """Without the system at the end."""
    return field(package, 'Version').rpartition('-')[0]


def add(root, packages, key=None):
    """Copies packages into a repository, which is created if necessary, and writes the indexes of their suites. Older
    versions stay. Signs with this key of GnuPG's keyring, if there is one."""
    if not key and (root / KEY_FILE).exists():
        raise ValueError(f'{root} is signed: name its key')
    suites = set()
    for package in packages:
        suite = suite_of(field(package, 'Version'))
        pool = root / 'pool' / suite
        pool.mkdir(parents=True, exist_ok=True)
        target = pool / pathlib.Path(package).name
        if target.exists() and target.read_bytes() != pathlib.Path(package).read_bytes():
            raise ValueError(f'{target} exists and differs: a published version does not change')
        shutil.copyfile(package, target)
        suites.add(suite)
    for suite in sorted(suites):
        index(root, suite, key)
    if key:
        (root / KEY_FILE).write_bytes(gpg(key, '--armor', '--export', key))
    return sorted(suites)


def index(root, suite, key):
    """Writes the indexes of a suite: of its packages first, and InRelease, which clients read first, last."""
    packages = sorted((root / 'pool' / suite).glob('*.deb'))
    architectures = sorted({field(package, 'Architecture') for package in packages})
    folder = root / 'dists' / suite
    for architecture in architectures:
        text = ftparchive(root, '--arch', architecture, 'packages', f'pool/{suite}')
        place = folder / COMPONENT / f'binary-{architecture}'
        place.mkdir(parents=True, exist_ok=True)
        (place / 'Packages').write_bytes(text)
        subprocess.run(['gzip', '--force', '--keep', '--no-name', '-9', place / 'Packages'], check=True)
    for stale in ('Release', 'Release.gpg', 'InRelease'):
        (folder / stale).unlink(missing_ok=True)
    values = {'Origin': 'Nodepool', 'Label': 'Nodepool', 'Suite': suite, 'Codename': suite,
              'Architectures': ' '.join(architectures), 'Components': COMPONENT}
    options = [word for name, value in values.items() for word in ('-o', f'APT::FTPArchive::Release::{name}={value}')]
    release = ftparchive(root, *options, 'release', f'dists/{suite}')
    (folder / 'Release').write_bytes(release)
    if key:
        (folder / 'Release.gpg').write_bytes(gpg(key, '--armor', '--detach-sign', '--output', '-', folder / 'Release'))
        (folder / 'InRelease').write_bytes(gpg(key, '--clearsign', '--output', '-', folder / 'Release'))


def ftparchive(root, *arguments):
    return subprocess.run(['apt-ftparchive', *arguments], cwd=root, check=True, capture_output=True).stdout


def gpg(key, *arguments):
    return subprocess.run(['gpg', '--batch', '--local-user', key, *arguments], check=True, capture_output=True).stdout
