"""A client of a Kubernetes API, as far as tests need one."""
import base64
import json
import pathlib
import ssl
import urllib.error
import urllib.request


class Refused(RuntimeError):
    def __init__(self, status, message):
        super().__init__(f'{status}: {message}')
        self.status = status


class Api:
    """Speaks to one cluster as one user."""

    def __init__(self, host, token, ca_pem):
        self.host = host
        self.token = token
        self.context = ssl.create_default_context(cadata=ca_pem)

    @classmethod
    def of_kubeconfig(cls, content):
        """By the current context of a kubeconfig, whose user has a token."""
        def entry(kind, name):
            (found,) = [each[kind] for each in content[f'{kind}s'] if each['name'] == name]
            return found
        context = entry('context', content['current-context'])
        cluster = entry('cluster', context['cluster'])
        return cls(cluster['server'], entry('user', context['user'])['token'],
                   base64.b64decode(cluster['certificate-authority-data']).decode())

    def call(self, method, path, body=None, content_type='application/json'):
        return json.loads(self.text(path, method, body, content_type))

    def text(self, path, method='GET', body=None, content_type='application/json'):
        """An answer as it is."""
        request = urllib.request.Request(
            self.host + path, method=method, data=None if body is None else json.dumps(body).encode(),
            headers={'Authorization': f'Bearer {self.token}', 'Content-Type': content_type})
        try:
            with urllib.request.urlopen(request, context=self.context, timeout=30) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            text = error.read().decode()
            try:
                text = json.loads(text).get('message', text)
            except ValueError:
                pass
            raise Refused(error.code, text) from None

    def get(self, path):
        return self.call('GET', path)

    def items(self, path):
        return self.get(path)['items']

    def find(self, path):
        """What is there, or nothing."""
        try:
            return self.get(path)
        except Refused as refused:
            if refused.status != 404:
                raise
        return None

    def apply(self, path, body):
        """Makes it, or puts it in place of what is there."""
        try:
            return self.call('POST', path, body)
        except Refused as refused:
            if refused.status != 409:
                raise
        return self.call('PUT', f'{path}/{body["metadata"]["name"]}', body)

    def delete(self, path):
        try:
            self.call('DELETE', path)
        except Refused as refused:
            if refused.status not in (404, 409):
                raise

    def patch_status(self, path, status):
        return self.call('PATCH', f'{path}/status', {'status': status}, 'application/merge-patch+json')


def as_admin(plane):
    """The administrator of a ControlPlane."""
    return Api(plane.url, 'admin-token', (pathlib.Path(plane.tls) / 'ca.pem').read_text())
