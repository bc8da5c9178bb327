"""The container image, by packaging/Containerfile, without a daemon and without another's base image: needs root."""
import shutil
import subprocess

SUITE = 'bookworm'  # as in the Containerfile
NAME = 'localhost/nodepool'
BASE = 'localhost/debian'


def build(sources, package, work, version, environment):
    """Writes an OCI archive, for `podman load`, to a file in `work`, and returns it."""
    epoch = environment['SOURCE_DATE_EPOCH']
    log = open(work / 'image.log', 'w')

    def run(*command):
        subprocess.run(command, check=True, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL, umask=0o022)

    def buildah(*arguments):
        run('buildah', '--storage-driver', 'vfs', '--root', work / 'containers', '--runroot', work / 'containers-run',
            *arguments)

    with log:
        try:
            run('mmdebstrap', '--variant=minbase', SUITE, work / 'base.tar')
            buildah('from', '--name', 'base', 'scratch')
            buildah('add', 'base', work / 'base.tar', '/')
            buildah('commit', '--timestamp', epoch, 'base', BASE)
            context = work / 'context'
            context.mkdir()
            shutil.copy(package, context)
            buildah('build', '--isolation', 'chroot', '--timestamp', epoch, '--build-arg', f'BASE={BASE}',
                    '--build-arg', f'SOURCE_DATE_EPOCH={epoch}', '--tag', NAME, '--file', sources / 'packaging/Containerfile',
                    context)
            buildah('push', NAME, f'oci:{work / "oci"}:{NAME}:{tag_of(version)}')
        except subprocess.CalledProcessError as error:
            log.flush()
            raise RuntimeError(f'{error}: see {log.name}:\n' + '\n'.join(open(log.name).read().splitlines()[-20:])) from error
    path = work / f'nodepool-{version}-oci.tar'
    pack(work / 'oci', path, epoch)
    return path


def tag_of(version):
    """The version as a tag of an image, which may have neither ~ nor +."""
    return version.replace('~', '-').replace('+', '-')


def pack(folder, path, epoch, *options):
    """Packs a folder into a tar archive that depends only on its names and contents."""
    subprocess.run(['tar', '--create', '--sort=name', '--format=gnu', f'--mtime=@{epoch}', '--owner=0', '--group=0',
                    '--numeric-owner', '--mode=u=rwX,go=rX', *options, '--file', path, '--directory', folder, '.'], check=True)
