"""Builders of both projects: what they are told, what they share, and what they have made."""
import os
import pathlib
import sys

from installation import BINARIES, OwnLauncher, PythonLauncher, wait_until

HERE = pathlib.Path(__file__).parent


def disk_image(name, **more):
    """An image that a script makes."""
    return {'name': name, 'dib-cmd': f'{HERE / "make_image"} "--by a test"', 'elements': ['vm', 'simple-init'],
            'release': 'bookworm', 'username': 'ci', 'shell-type': 'sh', **more}


def cloud(images, **more):
    """A provider that takes any image, and makes nodes of label `vm` from image `deb`. The clouds of two processes
    are two clouds."""
    label = {'name': 'vm', 'diskimage': 'deb', 'min-ram': 8000}
    return {'name': 'cloud', 'driver': 'fake', 'cloud': 'fake', 'rate': 0.001, 'diskimages': images,
            'pools': [{'name': 'main', 'host-key-checking': False, 'labels': [label]}], **more}


class Workshop:
    """What the image program and the hook share with the tests."""

    def __init__(self, directory, environment=None):
        self.directory = directory
        self.more = environment or {}
        directory.mkdir()
        (directory / 'clouds.yaml').write_text('clouds: {fake: {auth: {}}}\n')

    def environment(self):
        return {'WORKSHOP': str(self.directory), 'OS_CLIENT_CONFIG_FILE': str(self.directory / 'clouds.yaml'),
                **self.more}

    def order(self, what):
        (self.directory / what).touch()

    def cancel(self, what):
        (self.directory / what).unlink(missing_ok=True)

    def let_go(self):
        for what in ('hold-build', 'hold-upload', 'fail-build'):
            self.cancel(what)

    def note(self, name):
        return (self.directory / name).read_text()

    def journal(self):
        """What the image program has done: (verb, image, image and build id)."""
        path = self.directory / 'journal'
        return [tuple(line.split()) for line in path.read_text().splitlines()] if path.exists() else []


class ImageWork:
    """Of a builder, beside what it has in common with a launcher."""

    def __init__(self, directory, servers, workshop, images, providers, images_dir=None):
        self.directory = directory
        self.images_dir = images_dir or directory / 'images'
        labels = {label['name'] for provider in providers for pool in provider['pools'] for label in pool['labels']}
        super().__init__(directory, servers, providers, sorted(labels),
                         {'images-dir': str(self.images_dir), 'build-log-dir': str(directory / 'logs'),
                          'elements-dir': str(directory / 'elements'), 'diskimages': images}, workshop.environment())
        self.images_dir.mkdir(exist_ok=True)

    def id(self):
        """What its build records say."""
        return (self.images_dir / 'builder_id.txt').read_text()

    def files(self):
        """Of images."""
        return sorted(set(os.listdir(self.images_dir)) - {'builder_id.txt'})

    def builds_on_disk(self):
        return {name.split('.')[0] for name in self.files()}


class OwnBuilder(ImageWork, OwnLauncher):
    """Of this project."""

    def daemon(self):
        return [BINARIES / 'nodepool-builder', '-f', '-c', self.config]


class PythonBuilder(ImageWork, PythonLauncher):
    """Of the Python Nodepool."""

    def daemon(self):
        return [sys.executable, HERE / 'python_builder.py', '-f', '-c', self.config]


class ImageTree:
    """The records of images and of their uploads to a provider, oldest first."""

    def __init__(self, tree, provider='cloud'):
        self.tree = tree
        self.provider = provider

    def builds(self, image, state=None):
        """By id."""
        path = f'/nodepool/images/{image}/builds'
        return self.chosen({id: self.tree.record(f'{path}/{id}') for id in self.tree.children(path) if id != 'lock'},
                           state)

    def uploads(self, image, state=None):
        """By build id and number."""
        found = {}
        for build in self.builds(image):
            path = f'/nodepool/images/{image}/builds/{build}/providers/{self.provider}/images'
            found |= {(build, id): self.tree.record(f'{path}/{id}') for id in self.tree.children(path) if id != 'lock'}
        return self.chosen(found, state)

    @staticmethod
    def chosen(records, state):
        present = {key: record for key, record in records.items() if record and state in (None, record['state'])}
        return dict(sorted(present.items(), key=lambda item: item[1]['state_time']))

    def first_build(self, image, state, known=()):
        """The id and the record of a build in this state that is not known."""
        return self.first(f'a build of {image} is {state}', lambda: self.builds(image, state), known)

    def first_upload(self, image, state, known=()):
        """The same of an upload."""
        return self.first(f'an upload of {image} is {state}', lambda: self.uploads(image, state), known)

    @staticmethod
    def first(what, look, known):
        return wait_until(what, lambda: next((item for item in look().items() if item[0] not in known), None))

    def await_build(self, image, state, known=()):
        return self.first_build(image, state, known)[0]

    def await_upload(self, image, state, known=()):
        return self.first_upload(image, state, known)[0]

    def await_made(self, image, known=()):
        """The id of a build that is not known, ready and uploaded."""
        build = self.await_build(image, 'ready', known)
        wait_until(f'build {build} is uploaded', lambda: build in [key[0] for key in self.uploads(image, 'ready')])
        return build

    def rebuild(self, command, image):
        """Has it built and uploaded by whoever is there."""
        known = self.builds(image)
        command.run('image-build', image)
        build = self.await_made(image, known)
        wait_until('the request is gone', lambda: not self.requested(image))
        return build

    def requested(self, image):
        return self.tree.client.exists(f'/nodepool/images/{image}/request-build')
