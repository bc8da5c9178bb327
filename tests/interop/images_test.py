"""Both projects' image commands on both projects' records."""
import json
import re

import pytest
from nodepool.zk.zookeeper import ImageBuild, ImageUpload  # for records in their form

from installation import OwnLauncher, PythonLauncher

DISKIMAGES = [{'name': name} for name in ('deb', 'bsd')] + [{'name': 'win', 'pause': True}]
BUILD = '0123456789abcdef0123456789abcdef'
LISTINGS = ('dib-image-list', 'image-list', 'image-status')


def build_path(image):
    return f'/nodepool/images/{image}/builds/{BUILD}'


def uploads_path(image, provider):
    return f'{build_path(image)}/providers/{provider}/images'


def build_record(state):
    build = ImageBuild()
    build.state = state
    build.builder = 'builder1.example.org'
    build.builder_id = '5bbcd01d-6a1b-4a6e-a1f5-4c1ea4e2a1a1'
    build.formats = ['raw', 'qcow2']
    if state == 'ready':
        build.username, build.python_path = 'zuul', 'auto'
    return build.serialize()


def upload_record(state):
    upload = ImageUpload()
    upload.state = state
    if state == 'ready':
        upload.external_id, upload.external_name, upload.format = 'a1-b2', 'déb-1795230258', 'qcow2'
    return upload.serialize()


@pytest.fixture
def images(tree):
    """What their builder would leave: one build of each of two images, and their uploads."""
    put(tree, build_path('deb'), build_record('ready'))
    put(tree, build_path('bsd'), build_record('building'))
    for provider in ('rack', 'sky', 'sky-2'):
        # The lock was there first, as it is in the field.
        put(tree, f'{uploads_path("deb", provider)}/lock', b'')
        for state in ('failed', 'ready', 'uploading')[:1 if provider == 'sky' else 3]:
            tree.client.create(f'{uploads_path("deb", provider)}/', upload_record(state), sequence=True)
    put(tree, '/nodepool/images/bsd/pause', b'')


def put(tree, path, data):
    tree.client.create(path, data, makepath=True)


@pytest.fixture
def commands(servers, tree, tmp_path):
    """The commands of both."""
    return [kind(tmp_path / kind.__name__, servers, [], [], {'diskimages': DISKIMAGES})
            for kind in (OwnLauncher, PythonLauncher)]


def without_times(text):
    return re.sub(r'\d+:\d\d:\d\d:\d\d', 'DD:HH:MM:SS', text)


def listings(command):
    return [without_times(command.run(listing)) for listing in LISTINGS]


def rows(text):
    return sorted(text.splitlines())


def image_data(tree, root='/nodepool/images'):
    """All records below a path, but for locks."""
    def below(path):
        for name in tree.children(path):
            if name != 'lock':
                child = f'{path}/{name}'
                yield child, tree.client.get(child)[0]
                yield from below(child)
    return dict(below(root))


def test_both_print_the_same_without_images(commands):
    ours, theirs = map(listings, commands)
    assert ours == theirs


def test_both_print_the_same_images(images, commands):
    ours, theirs = map(listings, commands)
    # Their rows of uploads come in no order.
    assert list(map(rows, ours)) == list(map(rows, theirs))
    assert len(theirs[1].splitlines()) == 4 + 7


def test_both_ask_for_builds_and_pause_in_the_same_way(images, tree, commands):
    for this, other in (commands, reversed(commands)):
        this.run('image-build', 'deb')
        assert tree.client.get('/nodepool/images/deb/request-build')[0] == b''
        assert '| pending' in other.run('image-status')
        this.run('image-pause', 'deb')
        assert '| deb   | True ' in other.run('image-status')
        other.run('image-unpause', 'deb')
        assert '| deb   | False ' in this.run('image-status')
        tree.client.delete('/nodepool/images/deb/request-build')
        for arguments in (['image-build', 'win'], ['image-build', 'mac'], ['image-pause', 'mac']):
            with pytest.raises(RuntimeError, match='exit status 1'):
                this.run(*arguments)


def test_both_delete_in_the_same_way(images, tree, commands):
    build, upload = build_path('deb'), f'{uploads_path("deb", "sky")}/0000000001'
    before = [tree.client.get(path)[0] for path in (build, upload)]
    left = []
    for command in commands:
        assert command.run('dib-image-delete', f'deb-{BUILD}') == ''
        assert command.run('image-delete', '--provider', 'sky', '--image', 'deb', '--build-id', BUILD,
                           '--upload-id', '0000000001') == ''
        left.append([re.sub(rb'"state_time": [0-9.]+', b'', tree.client.get(path)[0]) for path in (build, upload)])
        for path, data in zip((build, upload), before):
            tree.client.set(path, data)
    assert b'"deleting"' in left[0][0] and b'"deleting"' in left[0][1]
    assert left[0] == left[1]


def test_both_refuse_the_same_deletions(images, commands):
    for arguments in (['dib-image-delete', f'bsd-{BUILD}'], ['dib-image-delete', 'deb-0'],
                      ['image-delete', '--provider', 'rack', '--image', 'deb', '--build-id', BUILD,
                       '--upload-id', '0000000003'],
                      ['image-delete', '--provider', 'none', '--image', 'deb', '--build-id', BUILD,
                       '--upload-id', '0000000003']):
        ours, theirs = (command.run(*arguments) for command in commands)
        assert ours != ''
        assert ours == theirs


def test_both_print_the_same_uploads_of_a_provider_and_erase_them(images, tree, commands):
    ours, theirs = (command.run('info', 'rack') for command in commands)
    assert '| deb        |' in theirs
    assert ours == theirs
    commands[0].run('erase', 'rack', '--force')
    assert tree.children(f'{build_path("deb")}/providers') == ['sky', 'sky-2']


def test_an_export_of_either_is_the_same_file(tree, commands, tmp_path):
    put(tree, build_path('deb'), build_record('ready'))
    put(tree, '/nodepool/images/deb/pause', b'')
    put(tree, f'{uploads_path("deb", "sky")}/0000000001', upload_record('ready'))
    files = [tmp_path / 'ours.json', tmp_path / 'theirs.json']
    for command, file in zip(commands, files):
        command.run('export-image-data', str(file))
    assert len(json.loads(files[1].read_text())) == 3
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize('exporter', (0, 1), ids=('ours_to_theirs', 'theirs_to_ours'))
def test_each_imports_what_the_other_exports(images, tree, commands, tmp_path, exporter):
    before = image_data(tree)
    file = str(tmp_path / 'images.json')
    commands[exporter].run('export-image-data', file)
    tree.clear()
    commands[1 - exporter].run('import-image-data', file)
    assert image_data(tree) == before
    created = tree.client.create(f'{uploads_path("deb", "rack")}/', b'', sequence=True)
    assert created > f'{uploads_path("deb", "rack")}/0000000003'


@pytest.mark.parametrize('content', ('[]', '{', '{"/nodepool/images/deb/builds/0": 1}',
                                     '{"%s/x": ""}' % uploads_path('deb', 'sky')))
def test_both_refuse_the_same_imports(tree, commands, tmp_path, content):
    file = tmp_path / 'images.json'
    file.write_text(content)
    for command in commands:
        with pytest.raises(RuntimeError, match='exit status 1'):
            command.run('import-image-data', str(file))
    assert image_data(tree) == {}
