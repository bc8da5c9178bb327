"""A launcher and a builder of this project with one store, beside the cloud."""
import json
import pathlib
import subprocess

from installation import CloudLauncher
from launcher import BINARIES, Daemon, wait_until

HERE = pathlib.Path(__file__).parent


def tiny(name, directory, **more):
    """An image of the element `tiny`, 64 MiB large."""
    environment = {'DIB_IMAGE_SIZE': '0.0625',  # GiB
                   'DIB_JOURNAL_SIZE': '4',  # MiB
                   **{key: str(directory) for key in ('DIB_IMAGE_CACHE', 'DIB_LOCKFILES', 'TMP_DIR')},
                   **more.pop('env-vars', {})}
    # -n: without the element `base`, which is for whole distributions.
    return {'name': name, 'dib-cmd': 'disk-image-create -n', 'elements': ['tiny'], 'username': 'ci',
            'env-vars': environment, **more}


def mounted_below(directory):
    """Mount points, the innermost first."""
    points = [line.split()[1] for line in pathlib.Path('/proc/mounts').read_text().splitlines()]
    return sorted((point for point in points if point.startswith(f'{directory}/')), reverse=True)


class Builder(Daemon):
    def __init__(self, launcher):
        super().__init__(launcher.config.parent / 'builder.log', launcher.environment)
        self.config = launcher.config
        self.options = []

    def daemon(self):
        return [BINARIES / 'nodepool-builder', '-f', '-c', self.config, *self.options]


class ImageInstallation(CloudLauncher):
    """`diskimages` are what tiny() takes, by the image's name."""

    def __init__(self, directory, cloud, providers, diskimages):
        self.images = directory / 'images'
        self.scratch = directory / 'scratch'  # of diskimage-builder
        self.build_logs = directory / 'builds'
        super().__init__(directory, cloud, providers, {
            'diskimages': [tiny(name, self.scratch, **more) for name, more in diskimages.items()],
            'images-dir': str(self.images), 'elements-dir': str(HERE / 'elements'),
            'build-log-dir': str(self.build_logs)})
        for path in self.images, self.scratch:
            path.mkdir()
        self.builder = Builder(self)

    def close(self):
        self.builder.stop()
        super().close()
        # Whoever deletes the directory must not delete the host's /dev, which is mounted in an image.
        for point in mounted_below(self.scratch):
            subprocess.run(['umount', point], check=True)

    def logs(self):
        return [log for log in (self.log, self.builder.log, *self.build_logs.glob('*.log')) if log.exists()]

    def builds(self, image):
        """The records, the newest first."""
        return [build for build in json.loads(self.run('dib-image-list', '--json')) if build['image'] == image]

    def uploads(self, image, provider='sky'):
        return [upload for upload in json.loads(self.run('image-list', '--json'))
                if (upload['image'], upload['provider']) == (image, provider)]

    def await_upload(self, image, provider='sky', besides=()):
        """An upload that is ready, and not one of these."""
        known = [upload['external_id'] for upload in besides]

        def ready():
            return next((upload for upload in self.uploads(image, provider)
                         if upload['state'] == 'ready' and upload['external_id'] not in known), None)
        return wait_until(f'image {image} is in {provider}', ready)

    def rebuild(self, image, besides):
        """The upload of a new build."""
        self.run('image-build', image)
        return self.await_upload(image, besides=besides)

    def file(self, upload, ending):
        """That of the upload's build."""
        return self.images / f'{upload["image"]}-{upload["id"]}.{ending}'

    def ids_of_files(self):
        """The ids of the builds that have files."""
        return {path.name.split('.')[0].rpartition('-')[2] for path in self.images.glob('*-*')}

    def aliens(self):
        """The ids of the images that no record knows."""
        rows = [line.split('|') for line in self.run('alien-image-list').splitlines() if line.startswith('|')]
        return {row[3].strip() for row in rows[1:]}

    def launch(self, label):
        """The record of a new node."""
        (node,) = self.ask(label).lease()['nodes']
        return node
