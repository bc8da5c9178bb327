"""What a cloud's operator sets up: accounts, endpoints, zones, flavors, networks, an image."""
import time

from control_plane.api import Api
from control_plane.plan import PASSWORD, REGION

IDENTITY_DOMAIN = 'default'
PROJECTS = ('nodepool', 'tiny')  # each with a user of its name
FLAVORS = {  # vCPUs, MiB, GiB
    'm1.tiny': (1, 512, 1),
    'm1.small': (1, 2048, 20),
    'm1.medium': (2, 4096, 40),
    'm1.large': (4, 8192, 80),
    'm1.toobig': (512, 512_000_000, 10),  # than any host
}
HYPERVISOR_PATIENCE = 300  # seconds


def administrator(plan):
    return Api(plan.url('keystone', '/v3'), 'admin', 'admin')


def user(plan, project):
    return Api(plan.url('keystone', '/v3'), project, project)


def identity(plan):
    """The services' account, which they ask for while starting; endpoints; the users' accounts."""
    admin = administrator(plan)
    services = {'compute': ('nova', plan.url('nova', '/v2.1')),
                'image': ('glance', plan.url('glance')),
                'network': ('neutron', plan.url('neutron')),
                'placement': ('placement', plan.url('placement'))}
    if plan.cinder:
        services['volumev3'] = ('cinderv3', plan.url('cinder', '/v3/%(project_id)s'))
    for kind, (name, url) in services.items():
        service = admin.post('identity', '/services', {'service': {'name': name, 'type': kind}})
        for interface in 'public', 'internal', 'admin':
            admin.post('identity', '/endpoints', {'endpoint': {
                'service_id': service['service']['id'], 'interface': interface, 'url': url,
                'region_id': REGION}})
    admin.post('identity', '/roles', {'role': {'name': 'service'}})
    roles = {role['name']: role['id'] for role in admin.get('identity', '/roles')['roles']}
    accounts = {'service': ('admin', 'service'), **{project: ('member',) for project in PROJECTS}}
    for name, names_of_roles in accounts.items():
        project = admin.post('identity', '/projects', {'project': {
            'name': name, 'domain_id': IDENTITY_DOMAIN}})['project']['id']
        user_id = admin.post('identity', '/users', {'user': {
            'name': name, 'password': PASSWORD, 'domain_id': IDENTITY_DOMAIN}})['user']['id']
        for role in names_of_roles:
            admin.put('identity', f'/projects/{project}/users/{user_id}/roles/{roles[role]}')


def await_hypervisors(plan):
    """Returns when every nova-compute has reported."""
    admin = administrator(plan)
    deadline = time.monotonic() + HYPERVISOR_PATIENCE
    while True:
        services = admin.get('compute', '/os-services?binary=nova-compute')['services']
        if sum(service['state'] == 'up' for service in services) >= plan.computes:
            return
        if time.monotonic() > deadline:
            raise RuntimeError(f'not every nova-compute came up: {services}')
        time.sleep(0.2)


def compute(plan):
    """Flavors; host fake1 is zone az1, and so on."""
    admin = administrator(plan)
    for number in range(1, plan.computes + 1):
        zone = f'az{number}'
        aggregate = admin.post('compute', '/os-aggregates', {'aggregate': {
            'name': zone, 'availability_zone': zone}})['aggregate']['id']
        admin.post('compute', f'/os-aggregates/{aggregate}/action', {'add_host': {'host': f'fake{number}'}})
    for name, (vcpus, ram, disk) in FLAVORS.items():
        admin.post('compute', '/flavors', {'flavor': {
            'name': name, 'vcpus': vcpus, 'ram': ram, 'disk': disk}})
    tiny = user(plan, 'tiny').project_id
    admin.put('compute', f'/os-quota-sets/{tiny}', {'quota_set': {
        'instances': 2, 'cores': 4, 'ram': 8192}})
    admin.put('network', f'/v2.0/quotas/{tiny}', {'quota': {'floatingip': 1, 'port': 20}})


def make_network(api, name, subnets, **network):
    made = api.post('network', '/v2.0/networks', {'network': {'name': name, **network}})['network']['id']
    ids = [api.post('network', '/v2.0/subnets', {'subnet': {
        'network_id': made, 'name': f'{name}-{number}', **subnet}})['subnet']['id']
        for number, subnet in enumerate(subnets)]
    return made, ids


def networks(plan):
    admin = administrator(plan)
    public, _ = make_network(
        admin, 'public', [{'ip_version': 4, 'cidr': plan.floating_range, 'enable_dhcp': False}],
        **{'router:external': True, 'provider:network_type': 'flat', 'provider:physical_network': 'public'})
    make_network(
        admin, 'provider', [{'ip_version': 4, 'cidr': plan.guest_range}],
        **{'shared': True, 'provider:network_type': 'flat', 'provider:physical_network': 'provider'})
    for number, project in enumerate(PROJECTS):
        api = user(plan, project)
        _, (subnet,) = make_network(api, f'private-{project}', [
            {'ip_version': 4, 'cidr': f'10.{10 + number}.0.0/16'}])
        router = api.post('network', '/v2.0/routers', {'router': {
            'name': f'router-{project}', 'external_gateway_info': {'network_id': public}}})['router']['id']
        api.put('network', f'/v2.0/routers/{router}/add_router_interface', {'subnet_id': subnet})
    make_network(user(plan, 'nodepool'), 'dual-nodepool', [
        {'ip_version': 4, 'cidr': '10.20.0.0/16'},
        {'ip_version': 6, 'cidr': '2001:db8:20::/64', 'ipv6_ra_mode': 'slaac', 'ipv6_address_mode': 'slaac'}])


def image(plan):
    admin = administrator(plan)
    made = admin.post('image', '/v2/images', {
        'name': 'tiny-image', 'disk_format': 'raw', 'container_format': 'bare', 'visibility': 'public'})
    admin.call('PUT', 'image', f'/v2/images/{made["id"]}/file', data=bytes(1 << 20),
               headers={'Content-Type': 'application/octet-stream'})


def volume(plan):
    administrator(plan).post('volumev3', '/types', {'volume_type': {'name': 'fake'}})
