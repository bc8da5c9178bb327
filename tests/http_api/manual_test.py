"""Runs the `curl` lines of the manual, in their order, and compares the answers with those on the page."""
import os
import pathlib
import re
import subprocess

import pytest
from launcher import wait_until
from network import free_port

DOCS = pathlib.Path(__file__).parents[2] / 'docs'
PAGES = ['api.md', 'web.md']
# Pages with `curl` lines that are not run: they show launchers that are not ready.
OTHER_PAGES = ['operating.md']

# Values in the answers on the pages, and those of this suite.
ANSWERS = {'192.0.2.17': 'fake', 'ssh-ed25519 AAAA…': 'ssh-rsa FAKEKEY'}


def addresses(site, launcher):
    """Addresses and files in the commands on the pages, and those of this suite."""
    return {'/run/nodepool/api.socket': str(site.directory / 'api.socket'),
            '/run/secrets/nodepool': str(site.directory / 'token'),
            'https://launcher.example.org:8006': f'https://localhost:{launcher.tls_port}',
            'http://localhost:8005': f'http://localhost:{launcher.port}'}


# In answers on a page, `…` matches any text, a time matches any time, and white space matches any or none. An id matches
# the id in its place. After that, in commands and answers, it stands for that id.
PARTS = re.compile(r'(?P<gap>…)|(?P<time>\d{10}\.\d+)|(?P<id>(?:\d{3}-)?\d{10})|(?P<space>\s+)')
FENCE = re.compile(r'^ *```')


def code_blocks(text):
    """Lists of lines: the indented and the fenced blocks of a page, without the indentation."""
    block = []
    is_fenced = False
    for line in text.splitlines() + ['']:
        if FENCE.match(line):
            is_fenced = not is_fenced
        elif is_fenced or line.startswith('    '):
            block.append(line if is_fenced else line[4:])
            continue
        if block:
            yield block
        block = []


def calls(text):
    """(command, answer) of each `$ curl` on a page: the answer is what follows in its block, up to the next prompt."""
    for block in code_blocks(text):
        while block:
            line = block.pop(0)
            if not line.startswith('$ curl '):
                assert not re.search(r'\bcurl ', line), f'`curl` without a prompt is not run: {line}'
                continue
            command = [line[2:]]
            while command[-1].endswith('\\'):
                command.append(block.pop(0))
            answer = []
            while block and not block[0].startswith('$ '):
                answer.append(block.pop(0))
            yield '\n'.join(command), '\n'.join(answer)


def replaced(text, values):
    for value, own in values.items():
        text = text.replace(value, own)
    return text


def pattern(answer, ids):
    """A regular expression for an answer on a page. Ids that `ids` lacks (id -> own id) are named groups."""
    expression = ''
    end = 0
    new = set()
    for part in PARTS.finditer(answer):
        expression += re.escape(answer[end:part.start()])
        end = part.end()
        if part['gap']:
            expression += '.*?'
        elif part['time']:
            expression += r'\d{10}(\.\d+)?'
        elif part['space']:
            expression += r'\s*'
        elif part['id'] in ids:
            expression += re.escape(ids[part['id']])
        else:
            name = 'id_' + part['id'].replace('-', '_')
            expression += f'(?P={name})' if name in new else f'(?P<{name}>{re.sub("[0-9]", "[0-9]", part["id"])})'
            new.add(name)
    return re.compile(expression + re.escape(answer[end:]), re.DOTALL)


def compare(answer, got, ids):
    """Adds the ids in `got` to `ids`. Returns whether it is the answer on the page."""
    match = pattern(replaced(answer.strip(), ANSWERS), ids).fullmatch(got.strip())
    for name, own in (match.groupdict() if match else {}).items():
        ids[name.removeprefix('id_').replace('_', '-')] = own
    return match is not None


@pytest.fixture
def launcher(site):
    """Has a node of the label debian-12 in use, and after that one that is ready."""
    site.add_token('gitlab', tenant='acme', **{'max-nodes': 20, 'max-lease': '4h'})
    (site.directory / 'token').write_text(site.tokens['gitlab'] + '\n')
    certificate, key = site.make_certificate()
    port = free_port()
    image = 'Fake Precise'
    pool = {'name': 'main', 'labels': [{'name': 'debian-12', 'cloud-image': image, 'min-ram': 1024}]}
    provider = {'name': 'rack', 'driver': 'fake', 'cloud': 'fake', 'cloud-images': [{'name': image, 'username': 'ci'}],
                'pools': [pool]}
    launcher = site.launch(api={'socket': str(site.directory / 'api.socket'), 'port': port,
                                'listen-address': '127.0.0.1', 'tls-cert': str(certificate), 'tls-key': str(key)},
                           labels=[{'name': 'debian-12'}], providers=[provider])
    launcher.tls_port = port
    launcher.certificate = certificate

    site.call(launcher, 'POST', '/api/v1/requests?wait=60s', {'labels': ['debian-12']}, 'boss')
    site.configure(launcher, labels=[{'name': 'debian-12', 'min-ready': 1}])

    def states():
        nodes = site.call(launcher, 'GET', '/api/v1/nodes').json()['nodes']
        return [node['state'] for node in nodes]

    wait_until('another node is ready', lambda: states() == ['in-use', 'ready'])
    return launcher


@pytest.mark.smoke
@pytest.mark.parametrize('page', PAGES)
def test_calls_are_answered_as_the_page_says(site, launcher, page):
    environment = {'PATH': os.environ['PATH'], 'CURL_CA_BUNDLE': str(launcher.certificate)}
    ids = {}
    count = 0
    for command, answer in calls((DOCS / page).read_text()):
        own = replaced(replaced(command, addresses(site, launcher)), ids)
        done = subprocess.run(['bash', '-c', own], env=environment, capture_output=True, text=True, timeout=90)
        assert done.returncode == 0, f'{command}\n{done.stderr}'
        assert compare(answer, done.stdout, ids), f'{command}\nThe page says:\n{answer}\nIt is:\n{done.stdout}'
        count += 1
    assert count >= 3


@pytest.mark.smoke
def test_no_other_page_has_calls():
    pages = [str(page.relative_to(DOCS)) for page in sorted(DOCS.rglob('*.md')) if list(calls(page.read_text()))]
    assert sorted(pages) == sorted(PAGES + OTHER_PAGES)


@pytest.mark.smoke
def test_answers_that_differ_are_noticed():
    ids = {}
    shown = '{"id": "200-0000000007", …, "expires": 1795421313.4, "position": 1}'
    assert compare(shown, '{"id":"200-0000000000","x":0,"expires":1795600719.11,"position":1}\n', ids)
    assert ids == {'200-0000000007': '200-0000000000'}
    assert not compare(shown, '{"id":"200-0000000001","x":0,"expires":1795600719.11,"position":1}', ids)
    assert not compare(shown, '{"id":"200-0000000000","x":0,"expires":1795600719.11,"place":1}', ids)
    assert not compare('', '{"status":404}', ids)
    assert list(calls('    $ curl a \\\n        b\n    {\n    }\n    $ nodepool list\n\n```\n$ curl c\n```\n')) == [
        ('curl a \\\n    b', '{\n}'), ('curl c', '')]
    with pytest.raises(AssertionError, match='without a prompt'):
        list(calls('    curl a\n'))
