"""Both projects' builders on one store, each as on a host of its own."""
import json
import re

import pytest

from builders import HERE, OwnBuilder, PythonBuilder, disk_image
from images_test import image_data, listings, rows
from installation import OwnLauncher, PythonLauncher, wait_until

BOTH = pytest.mark.parametrize('first, second', [(PythonBuilder, OwnBuilder), (OwnBuilder, PythonBuilder)],
                               ids=('theirs_then_ours', 'ours_then_theirs'))
EITHER = pytest.mark.parametrize('kind', (OwnBuilder, PythonBuilder), ids=('ours', 'theirs'))
DEB = disk_image('deb', formats=['raw'], metadata={'colour': 'red'}, **{'env-vars': {'FRUIT': 'apple'}})
WITNESS = disk_image('witness')  # what is done to it shows that a builder has looked at all there is
DAYS = 86400


def hook():
    return {'post-upload-hook': str(HERE / 'after_upload')}


def let_look_around(images, command):
    """Whoever builds has looked at everything, and has left it alone or not."""
    for _ in range(2):
        images.rebuild(command, 'witness')


def records_of(tree, image):
    return image_data(tree, f'/nodepool/images/{image}')


def grow_old(tree, image, build):
    """Makes a build two days older."""
    path = f'/nodepool/images/{image}/builds/{build}'
    record = tree.record(path)
    record['state_time'] -= 2 * DAYS
    tree.client.set(path, json.dumps(record).encode())


# --- one after the other


@BOTH
@pytest.mark.smoke
def test_what_one_has_made_the_other_leaves_alone(builder, images, tree, first, second):
    one = builder(first, [DEB, WITNESS])
    images.await_made('deb')
    images.await_made('witness')
    before = records_of(tree, 'deb')
    files = [name for name in one.files() if name.startswith('deb-')]
    one.stop()
    other = builder(second, [DEB, WITNESS])
    let_look_around(images, other)
    assert records_of(tree, 'deb') == before
    one.start()  # back again, which is no reason either
    other.stop()
    let_look_around(images, one)
    assert records_of(tree, 'deb') == before
    assert [name for name in one.files() if name.startswith('deb-')] == files


@BOTH
@pytest.mark.parametrize('asking', (OwnBuilder, PythonBuilder), ids=('our_command', 'their_command'))
def test_one_takes_over_when_a_build_is_asked_for_or_too_old(builder, images, tree, first, second, asking):
    one = builder(first, [DEB])
    oldest = images.await_made('deb')
    one.stop()
    other = builder(second, [DEB])
    command = one if isinstance(one, asking) else other
    asked = images.rebuild(command, 'deb')
    assert images.builds('deb')[asked]['builder_id'] == other.id()
    grow_old(tree, 'deb', oldest)
    assert set(images.builds('deb')) == {oldest, asked}  # an old build before a newer one is nothing to act upon
    grow_old(tree, 'deb', asked)
    newest = images.await_made('deb', {oldest, asked})
    wait_until('the two newest are left', lambda: len(images.builds('deb')) == 2)
    assert newest in images.builds('deb', 'ready')
    assert images.builds('deb')[newest]['builder_id'] == other.id()
    one.start()
    other.stop()
    images.rebuild(one, 'deb')  # ours deletes files without a record only when the store has a build of its own
    wait_until('it has deleted what has no record', lambda: one.builds_on_disk() <= {f'deb-{id}' for id in
                                                                                   images.builds('deb')})


@BOTH
def test_one_takes_over_the_files_of_the_other(builder, images, first, second):
    one = builder(first, [DEB])
    made = images.await_made('deb')
    upload = images.await_upload('deb', 'ready')
    id = one.id()
    one.stop()
    other = builder(second, [DEB], images_dir=one.images_dir)
    other.run('image-delete', '--provider', 'cloud', '--image', 'deb', '--build-id', made, '--upload-id', upload[1])
    assert images.await_upload('deb', 'ready', {upload})[0] == made
    kept = [images.rebuild(other, 'deb') for _ in range(2)]
    wait_until('the oldest files are gone', lambda: other.builds_on_disk() == {f'deb-{build}' for build in kept})
    assert images.builds('deb')[kept[-1]]['builder_id'] == id


@EITHER
def test_both_list_the_same(builder, images, tree, kind):
    one = builder(kind, [DEB, WITNESS])
    images.await_made('deb')
    images.await_made('witness')
    images.rebuild(one, 'deb')
    one.stop()
    other = builder(OwnBuilder if kind is PythonBuilder else PythonBuilder, [DEB, WITNESS], running=False)
    ours, theirs = (list(map(rows, listings(each))) for each in (one, other))
    assert len(theirs[0]) == len(theirs[1]) == 4 + 3
    assert ours == theirs


@pytest.mark.parametrize('building, launching', [(PythonBuilder, OwnLauncher), (OwnBuilder, PythonLauncher)],
                         ids=('their_image_our_launcher', 'our_image_their_launcher'))
def test_a_node_is_made_of_the_others_image(builder, ours, theirs, images, tree, zuul, building, launching):
    one = builder(building, [DEB])
    images.await_made('deb')
    content = json.loads(one.config.read_text())
    start = ours if launching is OwnLauncher else theirs
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv('OS_CLIENT_CONFIG_FILE', one.environment['OS_CLIENT_CONFIG_FILE'])
        start(content['providers'], ['vm'], diskimages=content['diskimages'])
    wait_until('the pool is registered', lambda: list(tree.pools()) == ['cloud'])
    with zuul.nodes('vm') as (node,):
        record = tree.record(f'/nodepool/nodes/{node.id}')
        assert (record['username'], record['python_path'], record['shell_type']) == ('ci', 'auto', 'sh')
    wait_until('the node is gone', lambda: not tree.nodes())


# --- at the same time


def test_each_image_is_built_by_one_at_a_time(builder, images, tree, workshop):
    workshop.order('hold-build')
    ours, theirs = (builder(kind, [DEB, disk_image('bsd')]) for kind in (OwnBuilder, PythonBuilder))
    builds = {'deb': [], 'bsd': []}
    for command in (ours, theirs, theirs, ours, ours):
        under_way = {image: images.await_build(image, 'building') for image in builds}
        makers = [images.builds(image)[build]['builder_id'] for image, build in under_way.items()]
        assert sorted(makers) == sorted([ours.id(), theirs.id()])  # each has one worker
        workshop.cancel('hold-build')
        for image, build in under_way.items():
            wait_until('it is made', lambda: images.await_made(image, builds[image]) == build)
            builds[image].append(build)
            wait_until('the request is gone', lambda: not images.requested(image))
            wait_until('the two newest are left', lambda: list(images.builds(image)) == builds[image][-2:])
        workshop.order('hold-build')
        for image in builds:
            command.run('image-build', image)
    # The last ones are under way; what they will replace is whole.
    for image in builds:
        images.await_build(image, 'building')
        kept = images.builds(image, 'ready')
        assert list(kept) == builds[image][-2:]
        assert sorted(build for build, _ in images.uploads(image, 'ready')) == sorted(kept)
        for build, record in kept.items():
            maker = ours if record['builder_id'] == ours.id() else theirs
            assert (maker.images_dir / f'{image}-{build}.qcow2').read_text() == f'{image} in qcow2\n'
    for image in builds:
        def verbs():
            return [verb for verb, name, _ in workshop.journal() if name == image]
        expected = ['begins', 'ends'] * len(builds[image]) + ['begins']
        wait_until('the last program has begun', lambda: len(verbs()) == len(expected))  # its record is there earlier
        assert verbs() == expected


@BOTH
def test_the_builder_with_the_image_uploads_it(builder, images, tree, workshop, first, second):
    maker = builder(first, [DEB], **hook())
    made = images.await_made('deb')
    spectator = builder(second, [DEB], **hook())
    upload = images.await_upload('deb', 'ready')
    spectator.run('image-delete', '--provider', 'cloud', '--image', 'deb', '--build-id', made, '--upload-id', upload[1])
    images.await_upload('deb', 'ready', {upload})
    assert workshop.note(f'deb-{made}.qcow2.uploaded').splitlines()[2] == str(maker.images_dir / f'deb-{made}.qcow2')
    wait_until('one upload is left', lambda: len(images.uploads('deb')) == 1)


# --- after the death of one


@BOTH
def test_the_surviving_builder_repeats_the_build(builder, images, tree, workshop, first, second):
    workshop.order('hold-build')
    victim = builder(first, [DEB])
    left = images.await_build('deb', 'building')
    survivor = builder(second, [DEB])
    wait_until('the survivor is there', lambda: len(tree.children('/nodepool/components/builder')) == 2)
    assert list(images.builds('deb')) == [left]
    victim.kill()
    anew = images.await_build('deb', 'building', {left})
    assert images.builds('deb')[anew]['builder_id'] == survivor.id()
    workshop.cancel('hold-build')
    assert images.await_made('deb') == anew
    wait_until('what was left is gone', lambda: list(images.builds('deb')) == [anew])
    victim.start()
    survivor.stop()
    made = images.rebuild(victim, 'deb')  # ours deletes files without a record only after a build of its own
    wait_until('the files of what was left are gone', lambda: victim.builds_on_disk() == {f'deb-{made}'})
    assert set(images.builds('deb')) == {anew, made}


@BOTH
def test_the_surviving_builder_removes_the_record_of_an_upload(builder, images, tree, workshop, first, second):
    workshop.order('hold-upload')
    victim = builder(first, [DEB], **hook())
    left = images.await_upload('deb', 'uploading')
    survivor = builder(second, [DEB], **hook())
    wait_until('the survivor is there', lambda: len(tree.children('/nodepool/components/builder')) == 2)
    assert list(images.uploads('deb')) == [left]
    victim.kill()
    wait_until('what was left is gone', lambda: not images.uploads('deb'))
    workshop.cancel('hold-upload')
    victim.start()
    build, number = images.await_upload('deb', 'ready')
    assert build == left[0] and number > left[1]
    assert survivor.files() == []


# --- what operators do


@EITHER
@pytest.mark.parametrize('asking', (OwnBuilder, PythonBuilder), ids=('our_command', 'their_command'))
def test_deletions_are_carried_out(builder, images, tree, kind, asking):
    one = builder(kind, [DEB])
    made = images.await_made('deb')
    upload = images.await_upload('deb', 'ready')
    command = builder(asking, [DEB], running=False)
    command.run('image-delete', '--provider', 'cloud', '--image', 'deb', '--build-id', made, '--upload-id', upload[1])
    again = images.await_upload('deb', 'ready', {upload})
    wait_until('the upload is gone', lambda: list(images.uploads('deb')) == [again])
    assert again[0] == made
    command.run('dib-image-delete', f'deb-{made}')
    newer = images.await_made('deb', {made})
    wait_until('the build is gone', lambda: list(images.builds('deb')) == [newer])
    assert [key[0] for key in images.uploads('deb')] == [newer]
    wait_until('its files are gone', lambda: f'deb-{made}' not in one.builds_on_disk())


@EITHER
@pytest.mark.parametrize('asking', (OwnBuilder, PythonBuilder), ids=('our_command', 'their_command'))
def test_pauses_are_obeyed(builder, images, tree, kind, asking):
    paused = [disk_image('never', pause=True), disk_image('stays')]
    listed = [{'name': 'deb'}, {'name': 'never'}, {'name': 'stays', 'pause': True}, {'name': 'witness'}]
    one = builder(kind, [DEB, *paused, WITNESS], listed)
    first = images.await_made('deb')
    images.await_made('witness')
    images.await_build('stays', 'ready')
    command = builder(asking, [DEB, *paused, WITNESS], listed, running=False)
    command.run('image-pause', 'deb')
    command.run('image-build', 'deb')
    let_look_around(images, one)
    assert list(images.builds('deb')) == [first]
    assert not images.builds('never')
    assert not images.uploads('stays')
    command.run('image-unpause', 'deb')
    images.await_made('deb', {first})
    wait_until('the request is gone', lambda: not images.requested('deb'))


@BOTH
def test_files_go_after_the_upload_but_for_those_to_keep(builder, images, tree, first, second):
    lean = disk_image('lean', formats=['raw', 'vhd'], **{'delete-after-upload': True, 'keep-formats': ['raw']})
    one = builder(first, [DEB, lean, WITNESS])
    made = f'lean-{images.await_made("lean")}'
    kept = sorted(f'{made}.{kind}' for kind in ('d', 'raw', 'raw.md5', 'raw.sha256'))
    wait_until('only what is to be kept is left', lambda: [name for name in one.files() if 'lean' in name] == kept)
    other = builder(second, [DEB, lean, WITNESS])
    let_look_around(images, one)
    assert [name for name in one.files() if 'lean' in name] == kept
    assert not [name for name in other.files() if 'lean' in name]


# --- key by key


def known(text, one, build):
    """Without what differs between two builders and two builds."""
    return text.replace(str(one.directory), 'DIR').replace(build, 'BUILD')


def without_ids(record):
    """Of a record, in the order of its keys. `failure` is only ours."""
    record = {key: value for key, value in record.items() if key not in ('state_time', 'failure')}
    for key in ('external_id', 'external_name'):
        if record.get(key):
            record[key] = re.sub('[0-9a-f]{32}', 'ID', re.sub(r'-\d{10}$', '-TIME', record[key]))
    return list(record.items())


def work_of(one, images, workshop):
    """What a builder does for a build, from its begin to the upload: records by state, and all that a program or a
    person gets to see of it."""
    records = {}
    for state in ('building', 'ready'):
        build, records[state] = images.first_build('deb', state)
        assert records[state].pop('builder_id') == one.id()
        workshop.cancel('hold-build')
    for state in ('uploading', 'ready'):
        _, records[f'upload {state}'] = images.first_upload('deb', state)
        workshop.cancel('hold-upload')
    name = f'deb-{build}'
    notes = [workshop.note(f'{name}.{what}') for what in ('arguments', 'environment', 'qcow2.uploaded')]
    log = (one.directory / 'logs' / f'{name}.log').read_text()
    files = {known(file, one, build): known((one.images_dir / file).read_text(), one, build)
             for file in one.files() if not file.endswith('.d')}
    return records, comparable([known(note, one, build) for note in notes]), known(log, one, build), files


def test_both_make_the_same(builder, images, tree, workshop):
    done = []
    for kind in (OwnBuilder, PythonBuilder):
        workshop.order('hold-build')
        workshop.order('hold-upload')
        one = builder(kind, [DEB], **hook())
        records, *rest = work_of(one, images, workshop)
        workshop.order('fail-build')
        one.run('image-build', 'deb')
        _, records['failed'] = images.first_build('deb', 'failed')
        del records['failed']['builder_id']
        done.append(({state: without_ids(record) for state, record in records.items()}, *rest))
        one.kill()
        workshop.let_go()
        tree.clear()
    for ours, theirs in zip(*done):
        assert ours == theirs


def comparable(notes):
    arguments, environment, upload = (note.split(separator) for note, separator in zip(notes, ('\n', '\0', '\n')))
    # The formats of theirs come in no order.
    arguments = [','.join(sorted(word.split(','))) if before == '-t' else word
                 for before, word in zip(['', *arguments], arguments)]
    return arguments, sorted(environment), [upload[0], *upload[2:]]  # without the image's id


@EITHER
def test_a_failed_upload_looks_the_same(builder, images, kind):
    builder(kind, [DEB], [{'name': 'deb', 'meta': {'SHOULD_FAIL': 'true'}}])
    _, failed = images.first_upload('deb', 'failed')
    assert without_ids(failed) == [('state', 'failed'), ('external_id', None), ('external_name', None),
                                   ('format', None), ('username', None), ('python_path', None), ('shell_type', None)]
