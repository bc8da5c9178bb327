"""Both projects' web apps on the same records."""
import json
import socket
import time
import urllib.error
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from installation import static_provider, wait_until
from python_nodepool_test import LABELS, hosts

LISTS = ['/node-list', '/image-list', '/dib-image-list', '/image-status', '/request-list', '/label-list']
ACCEPTED = [None, '*/*', 'text/*', 'text/html', 'text/plain', 'application/json', 'application/*',
            'application/json, text/html', 'text/html;q=0.5, application/json', '*/*;q=0.1, application/json']
COMPARED = ['Content-Type', 'Access-Control-Allow-Origin', 'Cache-Control']


def free_port():
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        return taken.getsockname()[1]


class WebApp:
    def __init__(self, start, *arguments):
        self.port = free_port()
        start(*arguments, webapp={'port': self.port, 'listen_address': '127.0.0.1'})
        wait_until('the web app is ready', self.is_ready)

    def is_ready(self):
        try:
            return self.get('/ready')[0] == 200
        except OSError:
            return False

    def get(self, target, accept=None, method='GET', **headers):
        if accept is not None:
            headers['Accept'] = accept
        request = urllib.request.Request(f'http://127.0.0.1:{self.port}{target}', headers=headers, method=method)
        request.add_unredirected_header('User-Agent', 'test')
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as answer:
            return answer.code, answer.headers, answer.read().decode()


@pytest.fixture
def web_apps(tree, ours, theirs):
    """Ours and theirs, on the same records: nodes of both, a request that waits, an image."""
    both = (WebApp(ours, [static_provider('rack', hosts(4, ['rack-only']))], LABELS),
            WebApp(theirs, [static_provider('shelf', {'127.0.2.0': ['cloud-only']})], LABELS))
    tree.await_ready(5)
    build = '/nodepool/images/img/builds/0123456789abcdef0123456789abcdef'
    record = {'state': 'ready', 'state_time': time.time()}
    tree.client.ensure_path('/nodepool/images/img')
    for path, more in [(build, {'builder': 'host', 'builder_id': 'id', 'formats': 'raw,qcow2', 'username': 'zuul',
                                'python_path': 'auto', 'shell_type': None}),
                       (f'{build}/providers/cloud/images/0000000001', {
                           'external_id': {'ami': 'x'}, 'external_name': 'img-1', 'format': 'qcow2', 'username': 'zuul',
                           'python_path': 'auto', 'shell_type': None})]:
        tree.client.create(path, json.dumps({**record, **more}).encode(), makepath=True)
    return both


def comparable(target, body):
    """In one order, without what changes between two looks."""
    try:
        rows = json.loads(body)
    except ValueError:
        lines = body.split('\n')
        return lines[:3] + sorted(lines[3:])
    for row in rows:
        if target.startswith('/node-list'):
            row.pop('age')
    return sorted(rows, key=json.dumps)


@pytest.mark.parametrize('target', [*LISTS, '/node-list?node_id=none', '/node-list?fields=id,state',
                                    '/node-list?fields=nothing', '/image-list?fields=&x=1'])
def test_both_say_the_same(web_apps, target):
    ours, theirs = web_apps
    for accept in ACCEPTED:
        def seen(web_app):
            status, headers, body = web_app.get(target, accept)
            if 'json' not in headers['Content-Type'] and target in ('/node-list', '/image-list', '/dib-image-list'):
                target_without_age = {'/node-list': 'id,provider,label,server_id,public_ipv4,ipv6,state,locked,pool,'
                                                    'hostname,private_ipv4,AZ,username,connection_port,launcher,'
                                                    'allocated_to,hold_job,comment,user_data,driver_data',
                                      '/image-list': 'id,upload_id,provider,image,external_name,external_id,state',
                                      '/dib-image-list': 'id,image,builder,formats,state'}[target]
                status, headers, body = web_app.get(f'{target}?fields={target_without_age}', accept)
            return status, [headers[name] for name in COMPARED], comparable(target, body)
        wait_until(f'both say the same of {target} to {accept}', lambda: seen(ours) == seen(theirs))


# Ours has a status page at / for whoever does not ask for JSON.
@pytest.mark.parametrize('target, accept', [('/', 'application/json')] + [
    (target, accept) for target in ('/node-list/', '/nothing') for accept in (None, 'text/html', 'application/json')])
def test_both_know_what_they_do_not_have(web_apps, target, accept):
    ours, theirs = (web_app.get(target, accept) for web_app in web_apps)
    assert ours[0] == theirs[0] == 404
    assert ours[1]['Content-Type'] == theirs[1]['Content-Type']
    if accept == 'application/json':
        assert ours[2] == theirs[2]


def test_both_answer_any_method_and_whether_something_is_new(web_apps):
    for web_app in web_apps:
        for method in ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS']:
            assert web_app.get('/label-list', method=method)[0] == 200
        status, headers, body = web_app.get('/label-list', method='HEAD')
        assert (status, body) == (200, '')
        assert int(headers['Content-Length']) > 0
        status, headers, body = web_app.get('/label-list', **{'If-Modified-Since': 'Fri, 01 Jan 2100 00:00:00 GMT'})
        assert (status, body) == (304, '')
        assert headers['Cache-Control'] == 'max-age=1, public'
        status, headers, body = web_app.get('/label-list', Range='bytes=0-2')
        assert (status, body) == (206, '+--')
        assert headers['Content-Range'].startswith('bytes 0-2/')


def test_ours_has_figures_for_prometheus(web_apps):
    ours, _ = web_apps
    status, headers, body = ours.get('/metrics', 'application/openmetrics-text;version=1.0.0,text/plain;q=0.5')
    assert status == 200
    assert headers['Content-Type'].startswith('text/plain; version=0.0.4')
    families = {family.name: family for family in text_string_to_metric_families(body)}
    ready = {sample.labels['provider']: sample.value for sample in families['nodepool_provider_nodes'].samples
             if sample.labels['state'] == 'ready'}
    assert ready == {'rack': 4, 'shelf': 1}
    assert ours.get('/live')[0] == 200
