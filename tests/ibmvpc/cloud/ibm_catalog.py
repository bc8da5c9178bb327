"""What the simulated region contains at the start, by path as in the API."""
import itertools
import uuid

REGION = 'us-south'
ZONES = [f'{REGION}-{number}' for number in (1, 2, 3)]
ACCOUNT = 'a0b1c2d3e4f5a6b7c8d9e0f1a2b3c4d5'
BASE = f'https://{REGION}.iaas.cloud.ibm.com/v1'  # of links in stored things; answers name the address of the call
BEGIN = '2026-01-02T03:04:05Z'
BUCKET, BUCKET_LOCATION = 'ci-images', f'{REGION}-smart'
PROFILES = {  # vCPUs, GiB
    'cx2-2x4': (2, 4), 'cx2-4x8': (4, 8), 'bx2-2x8': (2, 8), 'bx2-8x32': (8, 32)}
LACKING = {(ZONES[2], 'bx2-8x32')}  # profiles that a zone does not have
SYSTEMS = {  # vendor, family, version
    'debian-12-amd64': ('Debian', 'Debian GNU/Linux', '12.x Bookworm/Stable - Minimal Install'),
    'ubuntu-24-04-amd64': ('Canonical', 'Ubuntu Linux', '24.04 LTS Noble Numbat Minimal Install'),
    'red-9-amd64': ('Red Hat', 'Red Hat Enterprise Linux', '9.x - Minimal Install')}
IMAGES = [  # name, operating system, status; those of the account have no prefix `ibm-`
    ('ibm-debian-12-10-minimal-amd64-1', 'debian-12-amd64', 'deprecated'),
    ('ibm-debian-12-11-minimal-amd64-1', 'debian-12-amd64', 'available'),
    ('ibm-ubuntu-24-04-2-minimal-amd64-3', 'ubuntu-24-04-amd64', 'available'),
    ('ci-base', 'debian-12-amd64', 'available'), ('ci-old', 'debian-12-amd64', 'obsolete')]
SUBNETS = {'ci-1': ('ci', ZONES[0]), 'ci-2': ('ci', ZONES[1]), 'ci-3': ('ci', ZONES[2]),  # VPC, zone
           'small': ('ci', ZONES[0]), 'other-1': ('other', ZONES[0])}
ADDRESSES = {'small': 8}  # of subnets, 4096 of the others
LIMITS = {  # quotas: of the region; `floating_ips` of each zone
    'vcpu': 200, 'memory': 5600, 'instances': 1000, 'floating_ips': 40, 'volumes': 300, 'images': 100}
TIMES = {  # seconds
    'pending': 0.05, 'starting': 0.05, 'deleting': 0.1,  # of states of an instance, `deleting` also of an image
    'reserving': 0.05, 'attaching': 0.05, 'releasing': 0.1,  # until a floating IP is available, has its target, is gone
    'importing': 0.1}  # until an image is available
COUNTS = {'type': 'dependent'}

numbers = itertools.count(1)


def new_id(place):
    return f'{place}-{uuid.uuid5(uuid.NAMESPACE_OID, str(next(numbers)))}'


def zone_id(zone):
    return new_id(f'071{zone[-1]}')


def crn(kind, thing_id, place=REGION):
    return f'crn:v1:bluemix:public:is:{place}:a/{ACCOUNT}::{kind}:{thing_id}'


def thing(kind, path, **more):
    """A thing with a name, of which references are made."""
    thing_id = path.rpartition('/')[2]
    return {'id': thing_id, 'crn': crn(kind.replace('_', '-'), thing_id), 'href': f'{BASE}/{path}', **more}


def reference(found, *names):
    return {name: found[name] for name in names or ('crn', 'href', 'id', 'name', 'resource_type') if name in found}


def zone_reference(zone):
    return {'href': f'{BASE}/regions/{REGION}/zones/{zone}', 'name': zone}


def group(name, is_default=False):
    """A resource group, as the resource manager shows it."""
    group_id = uuid.uuid5(uuid.NAMESPACE_OID, str(next(numbers))).hex
    return {'id': group_id, 'crn': f'crn:v1:bluemix:public:resource-controller::a/{ACCOUNT}::resource-group:{group_id}',
            'account_id': ACCOUNT, 'name': name, 'state': 'ACTIVE', 'default': is_default, 'created_at': BEGIN,
            'updated_at': BEGIN, 'resource_linkages': [], 'quota_id': 'a3d7b8d01e261c24677937c29ab33f3c',
            'quota_url': '/v2/quota_definitions/a3d7b8d01e261c24677937c29ab33f3c',
            'payment_methods_url': f'/v2/resource_groups/{group_id}/payment_methods', 'teams_url': ''}


def group_reference(found):
    return {'href': f'https://resource-controller.cloud.ibm.com/v2/resource_groups/{found["id"]}', 'id': found['id'],
            'name': found['name']}


def storage_instances(default_group):
    """Of the resource controller: an instance of Cloud Object Storage, and one of another service."""
    found = []
    for name, service in (('ci-storage', 'cloud-object-storage'), ('ci-keys', 'kms')):
        guid = str(uuid.uuid5(uuid.NAMESPACE_OID, name))
        name_of_instance = f'crn:v1:bluemix:public:{service}:global:a/{ACCOUNT}:{guid}::'
        found.append({
            'id': name_of_instance, 'crn': name_of_instance, 'guid': guid, 'name': name, 'account_id': ACCOUNT,
            'url': f'/v2/resource_instances/{guid}', 'region_id': 'global', 'state': 'active',
            'type': 'service_instance', 'resource_group_id': default_group['id'], 'created_at': BEGIN})
    return found


def profile(name):
    count, memory = PROFILES[name]

    def fixed(value):
        return {'type': 'fixed', 'value': value}

    def choice(default, *values):
        return {'type': 'enum', 'default': default, 'values': list(values) or [default]}

    return {
        'name': name, 'href': f'{BASE}/instance/profiles/{name}', 'resource_type': 'instance_profile',
        'family': {'b': 'balanced', 'c': 'compute'}[name[0]], 'status': 'current', 'disks': [],
        'availability_class': choice('standard', 'standard', 'spot'), 'bandwidth': fixed(count * 2000),
        'cluster_network_attachment_count': COUNTS, 'network_attachment_count': COUNTS,
        'network_interface_count': COUNTS,
        'confidential_compute_modes': choice('disabled'), 'memory': fixed(memory), 'port_speed': fixed(16000),
        'network_bandwidth_mode': fixed('divided'), 'os_architecture': choice('amd64'),
        'reservation_terms': {'type': 'enum', 'values': ['one_year', 'three_year']}, 'secure_boot_modes': choice(False),
        'supported_cluster_network_profiles': [], 'threads_per_core': choice(2), 'total_volume_bandwidth': COUNTS,
        'vcpu_architecture': fixed('amd64'), 'vcpu_burst_limit': fixed(100), 'vcpu_count': fixed(count),
        'vcpu_manufacturer': fixed('intel'), 'vcpu_percentage': choice(100),
        'volume_bandwidth_qos_modes': choice('weighted'),
        'zones': [zone_reference(zone) for zone in ZONES if (zone, name) not in LACKING]}


def system(name):
    vendor, family, version = SYSTEMS[name]
    return {'name': name, 'href': f'{BASE}/operating_systems/{name}', 'architecture': 'amd64', 'vendor': vendor,
            'family': family, 'version': version, 'display_name': f'{family} {version} (amd64)',
            'allow_user_image_creation': vendor != 'Red Hat', 'dedicated_host_only': False,
            'user_data_format': 'cloud_init'}


def image(name, operating_system, resource_group, **more):
    path = f'images/{new_id("r006")}'
    return path, {**thing('image', path), 'name': name, 'operating_system': operating_system, 'resource_type': 'image',
                  'resource_group': group_reference(resource_group), 'created_at': BEGIN, 'encryption': 'none',
                  'allowed_use': {'api_version': '2026-10-06', 'bare_metal_server': 'true', 'instance': 'true'},
                  'catalog_offering': {'managed': False}, 'file': {'size': 1}, 'minimum_provisioned_size': 100,
                  'status': 'available', 'status_reasons': [], 'user_data_format': 'cloud_init',
                  'visibility': 'private', 'zones': [zone_reference(zone) for zone in ZONES], **more}


def vpc_things(name, owner):
    """A VPC and what comes with it, by path."""
    path, number = f'vpcs/{new_id("r006")}', new_id('r006')
    found = thing('vpc', path, name=name, resource_type='vpc')
    security_path = f'security_groups/{new_id("r006")}'
    security_group = thing('security_group', security_path, name=f'{name}-default', created_at=BEGIN, rules=[],
                           targets=[], resource_group=owner, vpc=reference(found))
    table = {**thing('routing_table', f'{path}/routing_tables/{number}'), 'name': f'{name}-routes',
             'resource_type': 'routing_table'}
    found.update(
        classic_access=False, created_at=BEGIN, cse_source_ips=[], health_reasons=[], health_state='ok',
        default_network_acl={**thing('network_acl', f'network_acls/{number}'), 'name': f'{name}-acl'},
        default_routing_table=table, default_security_group=reference(security_group, 'crn', 'href', 'id', 'name'),
        dns={'enable_hub': False, 'resolution_binding_count': 0, 'resolver': {
            'servers': [{'address': '161.26.0.10'}], 'type': 'system', 'configuration': 'default'}},
        public_address_ranges=[], resource_group=owner, status='available')
    return {path: found, security_path: security_group}


def subnet_thing(at, name, vpc, zone, owner):
    total = ADDRESSES.get(name, 4096)
    path = f'subnets/{zone_id(zone)}'
    return path, thing(
        'subnet', path, name=name, resource_type='subnet', created_at=BEGIN, ip_version='ipv4', status='available',
        ipv4_cidr_block=f'10.240.{at * 16}.0/{32 - total.bit_length() + 1}', total_ipv4_address_count=total,
        available_ipv4_address_count=total - 5, network_acl=vpc['default_network_acl'], resource_group=owner,
        routing_table=vpc['default_routing_table'], vpc=reference(vpc), zone=zone_reference(zone))


def seeds():
    """All things by path, and the resource groups."""
    default = group('Default', is_default=True)
    owner, found = group_reference(default), {}
    region = {'name': REGION, 'href': f'{BASE}/regions/{REGION}', 'endpoint': BASE.removesuffix('/v1'),
              'status': 'available'}
    found[f'regions/{REGION}'] = region
    for zone in ZONES:
        found[f'regions/{REGION}/zones/{zone}'] = {
            **zone_reference(zone), 'region': reference(region, 'href', 'name'), 'status': 'available'}
    for name in PROFILES:
        found[f'instance/profiles/{name}'] = profile(name)
    for name in SYSTEMS:
        found[f'operating_systems/{name}'] = system(name)
    for name in ('ci', 'other'):
        found.update(vpc_things(name, owner))
    vpcs = {one['name']: one for path, one in found.items() if path.startswith('vpcs/')}
    for at, (name, (vpc, zone)) in enumerate(SUBNETS.items()):
        path, subnet = subnet_thing(at, name, vpcs[vpc], zone, owner)
        found[path] = subnet
    for name in ('zuul', 'admin'):
        path = f'keys/{new_id("r006")}'
        found[path] = thing('key', path, name=name, created_at=BEGIN, fingerprint=f'SHA256:{name}', length=256,
                            public_key=f'ssh-ed25519 AAAA {name}', resource_group=owner, type='ed25519')
    for name, operating_system, status in IMAGES:
        path, new = image(name, found[f'operating_systems/{operating_system}'], default, status=status,
                          visibility='public' if name.startswith('ibm-') else 'private')
        found[path] = new
    return found, [default]
