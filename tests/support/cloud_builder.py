"""A builder beside a launcher that makes its nodes in a simulated cloud, for suites in Python."""
import contextlib
import json
import pathlib

from launcher import BINARIES, Daemon, wait_until

MAKE_IMAGE = pathlib.Path(__file__).parent / 'make_image'


class CloudBuilder(Daemon):
    """With the configuration of the launcher."""

    def __init__(self, launcher):
        super().__init__(launcher.config.parent / 'builder.log', launcher.environment)
        self.config = launcher.config

    def daemon(self):
        return [BINARIES / 'nodepool-builder', '-f', '-c', self.config]


@contextlib.contextmanager
def builders(directory):
    """Starts builders of the image `trixie`: start(launcher, filled=None). `filled`: the size of the image in MiB. The
    builder is `launcher.builder`. Stops them at the end."""
    started = []

    def start(launcher, filled=None):
        launcher.stop()
        content = json.loads(launcher.config.read_text())
        content.update({'images-dir': str(directory / 'images'), 'build-log-dir': str(directory / 'logs'),
                        'elements-dir': str(directory), 'diskimages': [
                            {'name': 'trixie', 'dib-cmd': str(MAKE_IMAGE), 'username': 'ci',
                             'env-vars': {'FILLED_MIB': str(filled)} if filled else {}}]})
        launcher.config.write_text(json.dumps(content))
        launcher.start()
        (directory / 'images').mkdir()
        launcher.builder = CloudBuilder(launcher)
        started.append(launcher.builder)
        launcher.builder.start()
        return launcher

    yield start
    for builder in started:
        builder.stop()
        print(f'--- {builder.log}\n{builder.log.read_text()}')  # shown when the test fails


def await_image(launcher):
    wait_until('the image is there', lambda: 'ready' in launcher.run('image-list'))


def delete_image(launcher, provider):
    """Deletes the only upload."""
    (upload,) = json.loads(launcher.run('image-list', '-o', 'json'))
    launcher.run('image-delete', '--provider', provider, '--image', 'trixie', '--strict', '--build-id', upload['id'],
                 '--upload-id', upload['upload_id'])
