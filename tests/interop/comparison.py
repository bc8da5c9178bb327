"""Holds what one launcher has made against what the other has made of the same configuration."""
import contextlib
import fnmatch
import json

from builders import ImageTree, OwnBuilder, PythonBuilder, Workshop, disk_image
from installation import Tree, wait_until
from zuul_client import Zuul

ABSENT = '(absent)'

# Of a node's record: what is another one each time, whoever makes it.
OF_THE_RUN = {
    'state_time': 'a time', 'created_time': 'a time', 'launcher': 'the name of the process',
    'requestor': 'another Zuul', 'user_data.zuul_system': 'another Zuul', 'allocated_to': 'another request'}


def leaves(value, path=''):
    """What is in lists and mappings, by path."""
    if isinstance(value, dict) and value:
        parts = value.items()
    elif isinstance(value, list) and value:
        parts = enumerate(value)
    else:
        return {path: value}
    return {place: leaf for name, part in parts
            for place, leaf in leaves(part, f'{path}.{name}' if path else str(name)).items()}


def with_names(value, names):
    """The same with a name in place of each text of `names`, also within other texts."""
    text = json.dumps(value, default=str)
    for found, name in names.items():
        text = text.replace(found, f'<{name}>')
    return json.loads(text)


def unexplained(ours, theirs, changing, different):
    """Where the two differ, but for places (patterns of fnmatch) that have a reason to: `changing` is another one each time,
    but there, and of the same kind; `different` is what one of them does otherwise."""
    own, other = leaves(ours), leaves(theirs)

    def differ(path):
        here, there = own.get(path, ABSENT), other.get(path, ABSENT)
        if here == there or any(fnmatch.fnmatchcase(path, place) for place in different):
            return False
        is_changing = any(fnmatch.fnmatchcase(path, place) for place in changing)
        return not is_changing or ABSENT in (here, there) or type(here) is not type(there)

    return {path: {'ours': own.get(path, ABSENT), 'theirs': other.get(path, ABSENT)}
            for path in sorted(own.keys() | other.keys()) if differ(path)}


class Nodes:
    """Nodes that Zuul has in use, each of a request of its own, by label."""

    def __init__(self, tree, zuul, labels):
        self.tree = tree
        self.zuul = zuul
        requests = {label: zuul.ask(label) for label in labels}
        self.sets = {label: zuul.accept(request) for label, request in requests.items()}
        for nodes in self.sets.values():
            zuul.use(nodes)

    def id(self, label):
        (node,) = self.sets[label].getNodes()
        return node.id

    def record(self, label):
        return self.tree.record(f'/nodepool/nodes/{self.id(label)}')

    def give_back(self):
        for nodes in self.sets.values():
            self.zuul.give_back(nodes)
        ids = {self.id(label) for label in self.sets}
        wait_until('the nodes are gone', lambda: not ids & set(self.tree.nodes()))


@contextlib.contextmanager
def running(kind, directory, servers, tree, provider, environment):
    """A launcher that serves the provider."""
    labels = [label['name'] for pool in provider['pools'] for label in pool['labels']]
    launcher = kind(directory, servers, [provider], labels, environment=environment)
    launcher.start()
    try:
        wait_until('the pools are registered', lambda: provider['name'] in tree.pools())
        yield launcher
    finally:
        launcher.stop()
        print(f'--- {launcher.log}\n{launcher.log.read_text()}')  # shown when the test fails


@contextlib.contextmanager
def empty_store(servers):
    """The records, of which there are none, and a Zuul that knows of none."""
    with contextlib.ExitStack() as at_the_end:
        tree = Tree(servers)
        at_the_end.callback(tree.close)
        tree.clear()
        zuul = Zuul(servers)
        at_the_end.callback(zuul.close)
        yield tree, zuul


BUILDERS = {'ours': OwnBuilder, 'theirs': PythonBuilder}
# Of the records of a build and an upload: what is another one each time.
OF_THE_BUILD = {f'{record}.{key}': 'of the run' for record in ('build', 'upload') for key in (
    'state_time', 'builder', 'builder_id')}


@contextlib.contextmanager
def building(name, directory, servers, tree, provider, environment, **image):
    """A builder of the image `deb` for the provider: its records of images, and its commands."""
    directory.mkdir()
    workshop = Workshop(directory / 'workshop', environment)
    builder = BUILDERS[name](directory / 'builder', servers, workshop, [disk_image('deb', **image)], [provider])
    builder.start()
    try:
        yield ImageTree(tree, provider['name']), builder
    finally:
        builder.kill()
        print(f'--- {builder.log}\n{builder.log.read_text()}')  # shown when the test fails


def upload_and_delete(servers, directory, provider, environment, look, uploader, deleter, **image):
    """One uploads an image, and another one deletes it: {'build': …, 'upload': …, 'cloud': look()}, with names in place of
    ids. `look`: the images in the cloud."""
    with empty_store(servers) as (tree, _):
        with building(uploader, directory / 'uploader', servers, tree, provider, environment, **image) as (images, _):
            (build, number), upload = images.first_upload('deb', 'ready')
            found = with_names({'build': images.builds('deb')[build], 'upload': upload, 'cloud': look()}, {
                upload['external_id']: 'id', upload['external_name']: 'name', build: 'build'})
        with building(deleter, directory / 'deleter', servers, tree, provider, environment, **image) as (images, builder):
            builder.run('image-delete', '--provider', provider['name'], '--image', 'deb', '--build-id', build,
                        '--upload-id', number)
            wait_until('the image is gone', lambda: (build, number) not in images.uploads('deb'))
        return found


def specimens(kind, directory, servers, provider, environment, labels, look, names_of):
    """Of each label a node by a launcher of this kind: {'record': …, 'cloud': look(record)}, with names (names_of(record)
    and the node's) in place of what is another one each time. The nodes are given back at the end."""
    with empty_store(servers) as (tree, zuul), running(kind, directory, servers, tree, provider, environment):
        nodes = Nodes(tree, zuul, labels)
        made = {}
        for label in labels:
            record = nodes.record(label)
            made[label] = with_names({'record': record, 'cloud': look(record)},
                                     {**names_of(record), nodes.id(label): 'node'})
        nodes.give_back()
        return made
