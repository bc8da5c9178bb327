"""Calls of OpenStack's APIs as one account."""
import requests

from control_plane.plan import PASSWORD

TIMEOUT = 60  # seconds


class ApiError(RuntimeError):
    def __init__(self, response):
        request = response.request
        super().__init__(f'{request.method} {request.url}: {response.status_code} {response.text}')
        self.status = response.status_code


class Api:
    """An account's access to the services. They are named by their types: compute, network, …"""

    def __init__(self, keystone, user, project, password=PASSWORD):
        self.keystone = keystone
        self.account = {
            'identity': {'methods': ['password'],
                         'password': {'user': {'name': user, 'domain': {'id': 'default'},
                                               'password': password}}},
            'scope': {'project': {'name': project, 'domain': {'id': 'default'}}}}
        self.http = requests.Session()
        self.http.trust_env = False  # no proxies
        self.authenticate()

    def authenticate(self):
        answer = self.http.post(f'{self.keystone}/auth/tokens', json={'auth': self.account}, timeout=TIMEOUT)
        if answer.status_code != 201:
            raise ApiError(answer)
        self.token = answer.headers['X-Subject-Token']
        content = answer.json()['token']
        self.project_id = content['project']['id']
        self.user_id = content['user']['id']
        self.endpoints = {service['type']: endpoint['url'] for service in content['catalog']
                          for endpoint in service['endpoints'] if endpoint['interface'] == 'public'}

    def call(self, method, service, path, json=None, headers=None, **more):
        """The answer; throws ApiError unless it is a good one."""
        answer = self.http.request(method, self.endpoints[service] + path, json=json, timeout=TIMEOUT,
                                   headers={'X-Auth-Token': self.token, **(headers or {})}, **more)
        if answer.status_code >= 400:
            raise ApiError(answer)
        return answer

    def get(self, service, path, **more):
        return self.call('GET', service, path, **more).json()

    def post(self, service, path, content, **more):
        answer = self.call('POST', service, path, json=content, **more)
        return answer.json() if answer.content else None

    def put(self, service, path, content=None, **more):
        answer = self.call('PUT', service, path, json=content, **more)
        return answer.json() if answer.content else None

    def delete(self, service, path, **more):
        self.call('DELETE', service, path, **more)
