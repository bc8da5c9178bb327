"""The API of running launchers, as clients on the wire see it."""
import http.client
import os
import pwd
import ssl
import subprocess
import threading
import time

import pytest
from ci_site import Connection
from launcher import wait_until
from network import free_port

SMALL = {'labels': ['small'], 'lease': '10m'}


def nodes(launcher, *states):
    return [line for line in launcher.run('list').splitlines() if any(f'| {state} ' in line for state in states)]


@pytest.mark.smoke
def test_a_request_is_answered_and_given_back(site):
    launcher = site.launch()
    placed = site.call(launcher, 'POST', '/api/v1/requests?wait=60s', SMALL, 'gitlab')
    assert placed.status == 201, placed.text
    lease = placed.json()['lease']
    assert lease['owner'] == 'gitlab' and lease['nodes'][0]['label'] == 'small'
    assert len(nodes(launcher, 'in-use')) == 1
    assert site.call(launcher, 'DELETE', f"/api/v1/leases/{lease['id']}", token='gitlab').status == 204
    wait_until('the node is gone', lambda: not nodes(launcher, 'in-use', 'used', 'deleting'))
    audit = [line for line in launcher.log.read_text().splitlines() if 'nodepool.audit' in line]
    assert len(audit) == 2 and 'placed' in audit[0] and 'released' in audit[1]
    assert site.tokens['gitlab'] not in launcher.log.read_text()


def test_the_tls_port_takes_tokens_and_reloads_its_certificate(site):
    certificate, key = site.make_certificate()
    port = free_port()
    launcher = site.launch(api={'port': port, 'listen-address': '127.0.0.1', 'tls-cert': str(certificate),
                                'tls-key': str(key)})

    def client():
        connection = site.secure_connection(port, certificate)
        return site.call(launcher, 'GET', '/api/v1/client', token='gitlab', connection=connection)

    assert client().json()['name'] == 'gitlab'
    old = ssl.create_default_context(cafile=certificate)
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    old.set_ciphers('AES128-GCM-SHA256:AES128-SHA256')  # whoever gets the key reads all that was said before
    with pytest.raises(ssl.SSLError):
        http.client.HTTPSConnection('localhost', port, context=old, timeout=30).request('GET', '/live')
    site.make_certificate()

    def is_followed():
        try:
            return client().status == 200
        except OSError:
            return False

    wait_until('the new certificate is in use', is_followed)


def test_a_token_over_an_unencrypted_connection_is_refused(site):
    # 127.0.0.1 is private; any other address of this machine is not.
    outside = subprocess.run(['hostname', '-I'], capture_output=True, text=True, check=True).stdout.split()
    assert outside, 'this machine has no address but the loopback'
    launcher = site.launch(address='0.0.0.0')
    connection = http.client.HTTPConnection(outside[0], launcher.port, timeout=30)
    answer = site.call(launcher, 'GET', '/api/v1/client', token='gitlab', connection=connection)
    assert answer.status == 403 and 'TLS' in answer.json()['detail']


def test_private_responses_are_not_cached_or_shared(site):
    launcher = site.launch(api={'anonymous-read': False})

    def headers(path, **more):
        connection = http.client.HTTPConnection('127.0.0.1', launcher.port, timeout=30)
        connection.request('GET', path, headers={'Authorization': f"Bearer {site.tokens['viewer']}", **more})
        answer = connection.getresponse()
        connection.close()
        return answer.status, dict(answer.getheaders())

    for path in ['/node-list', '/metrics', '/page/rows', '/api/v1/nodes', '/ready?detail']:
        status, seen = headers(path)
        assert status == 200, path
        assert seen['Cache-Control'] == 'no-store' and 'Access-Control-Allow-Origin' not in seen, path
        assert seen['X-Content-Type-Options'] == 'nosniff', path
        assert "frame-ancestors 'none'" in seen['Content-Security-Policy'], path
    assert headers('/node-list', Host='stranger.example')[0] == 421
    assert headers('/ready', Host='stranger.example')[0] == 200


def test_lists_that_anyone_may_read_are_served_behind_any_proxy(site):
    launcher = site.launch()

    def seen(path):
        connection = http.client.HTTPConnection('127.0.0.1', launcher.port, timeout=30)
        connection.request('GET', path, headers={'Host': 'nodepool.example'})
        answer = connection.getresponse()
        connection.close()
        return answer.status, answer.getheader('Content-Security-Policy')

    for path in ['/node-list', '/request-list', '/image-list', '/dib-image-list', '/image-status', '/label-list']:
        assert seen(path) == (200, "default-src 'none'"), path
    for path in ['/', '/page/rows', '/metrics', '/api/v1/nodes']:
        status, policy = seen(path)
        assert status == 421 and "frame-ancestors 'none'" in policy, path


@pytest.mark.smoke
def test_users_of_this_machine_are_known_by_the_socket(site):
    path = site.directory / 'api.socket'
    launcher = site.launch(api={'socket': str(path), 'socket-mode': '0666'})
    own = site.call(launcher, 'GET', '/api/v1/client', connection=Connection(path)).json()
    assert own == {**own, 'name': f'user:{os.geteuid()}', 'scope': 'admin'}
    nobody = pwd.getpwnam('nobody')
    for directory in [site.directory, *site.directory.parents]:
        if directory.stat().st_uid == os.geteuid() and directory != directory.parent:
            directory.chmod(directory.stat().st_mode | 0o011)
    script = ('import os, socket; os.setgid(%d); os.setuid(%d); s = socket.socket(socket.AF_UNIX); s.connect(%r);'
              's.sendall(b"GET /api/v1/client HTTP/1.0\\r\\n\\r\\n"); print(s.recv(4096).decode())')
    seen = subprocess.run(['python3', '-c', script % (nobody.pw_gid, nobody.pw_uid, str(path))], capture_output=True,
                          text=True, check=True).stdout
    assert f'"name":"user:{nobody.pw_uid}","scope":"request"' in seen


def test_a_lease_is_what_it_was_after_the_launcher_was_killed(site):
    first = site.launch()
    second = site.launch()
    lease = site.call(first, 'POST', '/api/v1/requests?wait=60s', SMALL, 'gitlab').json()['lease']
    first.kill()
    path = f"/api/v1/leases/{lease['id']}"
    assert site.call(second, 'GET', path, token='gitlab').json() == lease
    renewed = site.call(second, 'POST', path + '/renew', {'lease': '20m'}, 'gitlab')
    assert renewed.json()['expires'] > lease['expires']
    assert site.call(second, 'DELETE', path, token='gitlab').status == 204


@pytest.mark.smoke
def test_what_was_asked_of_a_launcher_that_is_killed_is_answered_by_another(site):
    first = site.launch()
    second = site.launch()
    placed = []
    for number in range(10):
        answer = site.call(first, 'POST', '/api/v1/requests', {**SMALL, 'idempotency_key': str(number)}, 'gitlab')
        placed.append(answer.json()['id'])
    first.kill()
    for number, request in enumerate(placed):
        done = site.call(second, 'GET', f'/api/v1/requests/{request}?wait=60s', token='gitlab')
        assert done.json()['state'] == 'fulfilled', done.text
        again = site.call(second, 'POST', '/api/v1/requests', {**SMALL, 'idempotency_key': str(number)}, 'gitlab')
        assert again.status == 200 and again.json()['id'] == request


@pytest.mark.smoke
def test_nothing_is_left_when_the_client_dies(site):
    launcher = site.launch()
    site.call(launcher, 'POST', '/api/v1/requests?wait=60s', {'labels': ['small'], 'lease': '2s'}, 'gitlab')
    wait_until('the lease has ended', lambda: site.call(launcher, 'GET', '/api/v1/leases').json()['leases'] == [])
    wait_until('its node is gone', lambda: not nodes(launcher, 'in-use', 'used', 'deleting'))


def test_slow_and_many_clients_do_not_delay_others(site):
    launcher = site.launch(api={'host-names': ['nodepool']})
    large = {'labels': ['large']}
    site.call(launcher, 'POST', '/api/v1/requests?wait=60s', large, 'gitlab')
    waiting = site.call(launcher, 'POST', '/api/v1/requests', large, 'gitlab').json()['id']
    streams = []
    for _ in range(1000):
        streams.append(site.stream(launcher, f'/api/v1/requests/{waiting}/events', 'boss'))
    slow = [site.half_a_request(launcher) for _ in range(200)]
    began = time.monotonic()
    answers = [site.call(launcher, 'GET', '/api/v1/client', token='viewer').status for _ in range(200)]
    assert set(answers) == {200}
    took = time.monotonic() - began
    lease = site.call(launcher, 'POST', '/api/v1/requests?wait=60s', SMALL, 'jenkins').json()
    assert lease['state'] == 'fulfilled'
    assert site.call(launcher, 'DELETE', f'/api/v1/requests/{waiting}', token='gitlab').status == 204
    for stream in streams:
        assert b'event: gone' in site.rest_of(stream)
    print(f'200 calls beside 1000 streams took {took:.2f} s; {site.memory(launcher)} MiB')
    for connection in slow:
        connection.close()


def test_two_clients_at_once_get_what_each_asked_for(site):
    launcher = site.launch()
    leases = []

    def ask(name):
        for _ in range(5):
            leases.append((name, site.call(launcher, 'POST', '/api/v1/requests?wait=60s', SMALL, name).json()['lease']))

    threads = [threading.Thread(target=ask, args=(name,)) for name in ['gitlab', 'boss']]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(lease['owner'] == name for name, lease in leases)
    taken = [node['id'] for _, lease in leases for node in lease['nodes']]
    assert len(taken) == len(set(taken)) == 10
