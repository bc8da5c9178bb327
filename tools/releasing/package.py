"""The Debian package of an unpacked source archive."""
import subprocess


def build(system, sources, environment, log):
    """Builds in `sources`, a path in the system. Returns the path of the package, from this system."""
    environment = environment | {'CCACHE_BASEDIR': str(sources), 'CCACHE_NOHASHDIR': '1'}
    output = f'{sources}/build/release'
    with open(log, 'w') as file:
        def run(*command, folder=sources):
            try:
                system.run('nice', *command, folder=folder, environment=environment, output=file)
            except subprocess.CalledProcessError:
                file.flush()
                raise RuntimeError(f'{" ".join(map(str, command))}: see {log}:\n' + '\n'.join(log.read_text().splitlines()[-20:]))
        if system.root is not None:
            run('tools/bootstrap')
        run('cmake', '--preset', 'release')
        run('cmake', '--build', '--preset', 'release')
        run('cpack', '-B', output, folder=f'{sources}/build')
    [package] = system.outside(output).glob('*.deb')
    return package
