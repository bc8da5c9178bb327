"""Where a package is built: this system, or another Debian in a folder."""
import contextlib
import dataclasses
import os
import pathlib
import shutil
import subprocess

MIRROR = 'http://deb.debian.org/debian'


@dataclasses.dataclass(frozen=True)
class System:
    root: pathlib.Path | None = None  # of a chroot; None: this system

    def run(self, *command, folder='/', environment=None, output=None):
        """Runs a command in a folder below the root. Returns what it prints, unless `output` is a file for it.
        Raises subprocess.CalledProcessError, and prints the error output then."""
        inside = [] if self.root is None else [
            'unshare', '--mount', '--pid', '--fork', '--kill-child', f'--mount-proc={self.root}/proc',
            'chroot', self.root, 'env', '--chdir', folder]
        done = subprocess.run([*inside, *command], cwd=folder if self.root is None else '/', env=environment,
                              stdout=output or subprocess.PIPE, stderr=subprocess.STDOUT if output else None, text=True,
                              stdin=subprocess.DEVNULL, check=True, umask=0o022)
        return done.stdout

    def outside(self, path):
        """The path, from this system, of an absolute path in the system."""
        return pathlib.Path(path) if self.root is None else self.root / str(path).lstrip('/')


@contextlib.contextmanager
def debian(suite, folder):
    """A clean Debian with the packages for a build, in a new folder below `folder`; without a suite, this system."""
    if suite is None:
        yield System()
        return
    root = folder / suite
    try:
        subprocess.run(['mmdebstrap', '--quiet', '--variant=minbase', '--include=ca-certificates,dpkg-dev,file', suite,
                        root, MIRROR], check=True, umask=0o022)
        for configuration in pathlib.Path('/etc/apt/apt.conf.d').glob('*proxy*'):
            shutil.copy(configuration, root / 'etc/apt/apt.conf.d')
        yield System(root)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def environment(epoch, variation=None):
    """Of all programs that make a part of a release."""
    keep = ('PATH', 'HOME', 'LANG', 'TZ', 'CCACHE_DIR', 'CCACHE_DISABLE', 'http_proxy', 'https_proxy', 'GNUPGHOME')
    own = {name: os.environ[name] for name in keep if name in os.environ} | (variation or {})
    return own | {'SOURCE_DATE_EPOCH': str(epoch)}
