"""A project of the cloud, as its user and as its operator see and disturb it."""
import time

from control_plane import seed
from control_plane.api import ApiError
from launcher import wait_until

UNLIMITED = {'instances': 2000, 'cores': -1, 'ram': -1}


class Project:
    def __init__(self, plan, name):
        self.plan = plan
        self.api = seed.user(plan, name)
        self.admin = seed.administrator(plan)

    # Servers

    def servers(self):
        """The records of all servers, newest first."""
        return self.api.get('compute', '/servers/detail')['servers']

    def server(self, server_id):
        """Its record, or None if it is gone."""
        try:
            return self.api.get('compute', f'/servers/{server_id}')['server']
        except ApiError as error:
            if error.status != 404:
                raise
            return None

    def servers_of(self, node_id):
        """The servers whose metadata name a node of Nodepool."""
        return [server for server in self.servers()
                if server['metadata'].get('nodepool_node_id') == node_id]

    def deleted_servers(self):
        """The ids of those that have been."""
        path = f'/servers/detail?deleted=true&all_tenants=1&project_id={self.api.project_id}'
        return {server['id'] for server in self.admin.get('compute', path)['servers']}

    def create_server(self, name, flavor='m1.tiny', network='provider', metadata=None, **more):
        """Asks for a server; returns its id."""
        return self.api.post('compute', '/servers', {'server': {
            'name': name, 'flavorRef': self.flavor(flavor), 'imageRef': self.image('tiny-image'),
            'networks': [{'uuid': self.network(network)}], 'metadata': metadata or {}, **more,
        }})['server']['id']

    def await_status(self, server_id, *statuses):
        """Its record, as soon as it has one of these statuses."""
        def server_then():
            server = self.server(server_id)
            return server if server['status'] in statuses else None
        return wait_until(f'server {server_id} is {statuses}', server_then)

    def delete_server(self, server_id):
        self.api.delete('compute', f'/servers/{server_id}')

    def await_gone(self, server_id):
        wait_until(f'server {server_id} is gone', lambda: self.server(server_id) is None)

    def console(self, server_id):
        return self.api.post('compute', f'/servers/{server_id}/action',
                             {'os-getConsoleOutput': {}})['output']

    def flavor(self, name):
        flavors = self.api.get('compute', '/flavors')['flavors']
        return next(flavor['id'] for flavor in flavors if flavor['name'] == name)

    # Networks

    def network(self, name):
        return self.api.get('network', f'/v2.0/networks?name={name}')['networks'][0]['id']

    def ports(self):
        """Those of the project's servers, and stray ones; not those of routers and DHCP."""
        ports = self.api.get('network', f'/v2.0/ports?project_id={self.api.project_id}')['ports']
        return [port for port in ports if not port['device_owner'].startswith('network:')]

    def create_down_port(self, network='provider'):
        """A port that no server has; returns its id."""
        port = self.api.post('network', '/v2.0/ports', {'port': {'network_id': self.network(network)}})['port']
        assert port['status'] == 'DOWN'
        return port['id']

    def floating_ips(self):
        return self.api.get('network', '/v2.0/floatingips')['floatingips']

    def create_floating_ip(self, port=None):
        return self.api.post('network', '/v2.0/floatingips', {'floatingip': {
            'floating_network_id': self.network('public'), 'port_id': port}})['floatingip']

    # Images and volumes

    def images(self):
        return self.api.get('image', '/v2/images')['images']

    def own_images(self):
        """Those that the project has made."""
        return [image for image in self.images() if image['owner'] == self.api.project_id]

    def content(self, image_id):
        return self.api.call('GET', 'image', f'/v2/images/{image_id}/file').content

    def image(self, name):
        return next(image['id'] for image in self.images() if image['name'] == name)

    def upload_image(self, name, content, **properties):
        """Returns its record when it can be used."""
        made = self.api.post('image', '/v2/images', {
            'name': name, 'disk_format': 'raw', 'container_format': 'bare', **properties})
        self.api.call('PUT', 'image', f'/v2/images/{made["id"]}/file', data=content,
                      headers={'Content-Type': 'application/octet-stream'})

        def active():
            image = self.api.get('image', f'/v2/images/{made["id"]}')
            return image if image['status'] == 'active' else None
        return wait_until(f'image {name} is active', active)

    def volumes(self):
        return self.api.get('volumev3', '/volumes/detail')['volumes']

    def create_volume(self, metadata, size=1):
        """Asks for a volume of so many GiB."""
        self.api.post('volumev3', '/volumes', {'volume': {'size': size, 'metadata': metadata}})

    # The operator

    def limits(self):
        return self.api.get('compute', '/limits')['limits']['absolute']

    def set_quota(self, **quota):
        """Also below what is in use: instances, cores, ram (MiB)."""
        self.admin.put('compute', f'/os-quota-sets/{self.api.project_id}', {
            'quota_set': {'force': True, **quota}})

    def revoke_tokens(self):
        """Makes all tokens of the project's user invalid. Those that the user gets afterwards are valid."""
        user = f'/users/{self.api.user_id}'
        self.admin.call('PATCH', 'identity', user, json={'user': {'enabled': False}})
        # Tokens know the second of their birth; all of this second's are invalid.
        second = int(time.time())
        wait_until('the next second', lambda: int(time.time()) > second)
        self.admin.call('PATCH', 'identity', user, json={'user': {'enabled': True}})
        self.api.authenticate()

    def clear(self):
        """Deletes what a test may have left."""
        for server in self.servers():
            # One that was told to fail deletes obeys as often as it was told.
            wait_until(f'server {server["id"]} can be deleted', lambda: self.try_to_delete(server['id']))
        for ip in self.floating_ips():
            self.api.delete('network', f'/v2.0/floatingips/{ip["id"]}')
        for port in self.ports():
            self.api.delete('network', f'/v2.0/ports/{port["id"]}')
        for image in self.own_images():
            self.api.delete('image', f'/v2/images/{image["id"]}')
        if self.plan.cinder:
            for volume in self.volumes():
                self.api.delete('volumev3', f'/volumes/{volume["id"]}')
            wait_until('all volumes are gone', lambda: not self.volumes())

    def try_to_delete(self, server_id):
        """Whether it is gone; asks for its deletion unless that is under way."""
        server = self.server(server_id)
        if server is None:
            return True
        if server['OS-EXT-STS:task_state'] != 'deleting':
            try:
                self.delete_server(server_id)
            except ApiError as error:
                if error.status != 404:
                    raise
        return False
