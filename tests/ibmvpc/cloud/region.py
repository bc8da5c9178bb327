"""The state of the simulated region: things by path, instances that start and end, floating IPs, images, quotas."""
import collections
import datetime
import heapq
import itertools
import re
import threading
import time

import ibm_catalog as catalog
from ibm_catalog import BASE, REGION, reference, thing

DOCS = 'https://cloud.ibm.com/docs/vpc?topic=vpc-'
OBJECT = re.compile(r'cos://([^/]+)/([^/]+)/(.+)')
NO_ADDRESS = '0.0.0.0'  # of an interface that has none yet
BUSY = ('pending', 'starting', 'stopping', 'restarting', 'deleting')  # states in which an instance cannot be deleted
STATUS_REASONS = {
    'cannot_start_capacity': 'The instance cannot start as there is no more capacity in this zone for the profile.',
    'stopped_by_preemption': 'The instance was stopped by preemption.',
    'image_data_corrupted': 'The image data is corrupt, or is not in the specified format.'}


SIMULATED = {  # fields of a call that creates an instance
    'name', 'zone', 'image', 'profile', 'keys', 'vpc', 'primary_network_interface', 'boot_volume_attachment',
    'resource_group', 'user_data', 'availability', 'availability_policy', 'metadata_service'}


class Refusal(Exception):
    """An answer of the API that is an error. `target`: the field of the call that it is about, and its value."""

    def __init__(self, status, code, message, target=None, topic='rias-error-messages#'):
        super().__init__(message)
        self.status, self.code = status, code
        self.more_info = DOCS + (topic + code.replace('_', '-') if topic.endswith('#') else topic)
        self.target = target and {'name': target[0], 'type': 'field', 'value': target[1]}


def not_found(path):
    return Refusal(404, 'not_found', f'{path}: please check whether the resource you are requesting exists.')


def not_simulated(what):
    return Refusal(501, 'not_implemented', f'{what} is not simulated.')


def over_quota(message):
    return Refusal(400, 'over_quota', message, topic='quotas')


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%dT%H:%M:%SZ')


def reasons(code):
    return [{'code': code, 'message': STATUS_REASONS.get(code, code), 'more_info': f'{DOCS}instance-status-messages'}]


class Things(dict):
    """Things by path, with an index of the paths in each folder."""

    def __init__(self, things):
        super().__init__()
        self.folders = collections.defaultdict(dict)
        for path, new in things.items():
            self[path] = new

    def __setitem__(self, path, new):
        super().__setitem__(path, new)
        self.folders[path.rpartition('/')[0]][path] = new

    def __delitem__(self, path):
        super().__delitem__(path)
        del self.folders[path.rpartition('/')[0]][path]

    def pop(self, path):
        found = self[path]
        del self[path]
        return found


class Region:
    def __init__(self, settings, storage):
        """`settings`: a mapping, see server.py. `storage`: an object storage with find()."""
        self.settings, self.storage = settings, storage
        self.changed = threading.Condition()  # and the lock of everything here
        self.reset()

    def reset(self):
        things, self.groups = catalog.seeds()
        self.things = Things(things)
        self.services = catalog.storage_instances(self.groups[0])
        self.limits = dict(catalog.LIMITS)
        self.stockouts = {}  # the status reason of an instance that does not start, by zone
        self.events = []
        self.moment = None   # that of the event that is performed late
        self.order = itertools.count()
        self.addresses = itertools.count(4)

    # --- time

    def at(self, setting, action):
        """Performs the action after the time of a setting."""
        begin = time.monotonic() if self.moment is None else self.moment
        heapq.heappush(self.events, (begin + self.settings[setting], next(self.order), action))

    def settle(self):
        """Performs what is due."""
        while self.events and self.events[0][0] <= time.monotonic():
            self.step()

    def step(self):
        """Performs what is due next, though its time has not come."""
        due, _, action = heapq.heappop(self.events)
        self.moment = min(due, time.monotonic())
        action()
        self.moment = None
        self.changed.notify_all()

    # --- things

    def get(self, path):
        if path not in self.things:
            raise not_found(path)
        return self.things[path]

    def below(self, folder):
        return list(self.things.folders[folder])

    def all_of(self, folder):
        return list(self.things.folders[folder].values())

    def resolve(self, field, identity, folder):
        """The thing that a field of a call identifies, by its id or another unique property."""
        (name, value), = identity.items()
        for found in self.all_of(folder):
            if found.get(name) == value:
                return found
        raise Refusal(400, 'bad_field', f'{field}.{name}: {value} was not found.', (f'{field}.{name}', value))

    def group(self, body):
        """A reference to the resource group of a new thing."""
        wanted = body.get('resource_group', {}).get('id', self.groups[0]['id'])
        for found in self.groups:
            if found['id'] == wanted:
                return catalog.group_reference(found)
        raise Refusal(400, 'bad_field', 'The resource group was not found.', ('resource_group.id', wanted))

    def create_group(self, name):
        if any(one['name'] == name for one in self.groups):
            raise Refusal(409, 'RESOURCE_GROUP_EXISTS', f'There is a resource group {name} already.')
        self.groups.append(catalog.group(name))
        return self.groups[-1]

    def name_for(self, folder, name, field='name'):
        """The name of a new thing. Some words, as IBM invents them, if it is None."""
        if name is not None and any(one['name'] == name for one in self.all_of(folder)):
            raise Refusal(400, 'validation_unique_failed', f'Provided Name ({name}) is not unique', (field, name))
        return name or f'suite-invented-name-{next(self.order)}'

    # --- quotas

    def used(self):
        """By quota; of floating IPs by zone."""
        used = collections.Counter()
        for found in self.all_of('instances'):
            used.update(instances=1, vcpu=found['vcpu']['count'], memory=found['memory'])
        used.update(volumes=len(self.below('volumes')),
                    images=sum(one['visibility'] == 'private' for one in self.all_of('images')))
        used.update(one['zone']['name'] for one in self.all_of('floating_ips'))
        return used

    def require_quota(self, quota, what, used_as=None):
        used = self.used()[used_as or quota]
        if used + 1 > self.limits[quota]:
            raise over_quota(f'Creating a new {what} will put the user over quota. Allocated: {used}, Requested: 1, '
                             f'Quota: {self.limits[quota]}')

    def require_profile_quota(self, profile):
        used = self.used()
        for quota, unit in (('vcpu', ' vCPU'), ('memory', 'GB')):
            count = profile['vcpu_count' if quota == 'vcpu' else 'memory']['value']
            if used[quota] + count > self.limits[quota]:
                raise over_quota(f'A VSI with this profile ({count}{unit}) will put user over quota. '
                                 f'Allocated: {used[quota]}{unit}, Quota: {self.limits[quota]}{unit}')

    # --- instances

    def create_instance(self, body):
        """The new instance, which is pending."""
        path, instance = self.make_instance(body)
        self.at('pending', lambda: self.begin_start(path, instance))
        return self.shown(path)

    def make_instance(self, body):
        """Path and instance, which nothing starts."""
        for name in body.keys() - SIMULATED:
            raise not_simulated(name)
        name = self.name_for('instances', body.get('name'))
        zone = self.resolve('zone', body['zone'], f'regions/{REGION}/zones')['name']
        interface, boot = body['primary_network_interface'], body.get('boot_volume_attachment', {})
        subnet = self.resolve('primary_network_interface.subnet', interface['subnet'], 'subnets')
        vpc = self.resolve('vpc', body.get('vpc', {'id': subnet['vpc']['id']}), 'vpcs')
        image = self.resolve('image', body['image'], 'images')
        profile = self.resolve('profile', body.get('profile', {'name': 'bx2-2x8'}), 'instance/profiles')
        security_groups = [self.resolve('primary_network_interface.security_groups', one, 'security_groups')
                           for one in interface.get('security_groups', [])] or [vpc['default_security_group']]
        for at, key in enumerate(body.get('keys', [])):
            self.resolve(f'keys[{at}]', key, 'keys')
        if subnet['zone']['name'] != zone or subnet['vpc']['id'] != vpc['id']:
            raise Refusal(400, 'invalid_zone', 'Please check whether the resources you are requesting are in the same '
                          'zone and VPC.', ('primary_network_interface.subnet.id', subnet['id']))
        if zone not in [one['name'] for one in profile['zones']]:
            raise Refusal(400, 'bad_field', f'The profile {profile["name"]} is not available in {zone}.',
                          ('profile.name', profile['name']))
        if image['status'] not in ('available', 'deprecated'):
            raise Refusal(409, 'invalid_state', f'The image is {image["status"]}.', ('image.id', image['id']))
        if subnet['available_ipv4_address_count'] == 0:
            raise Refusal(409, 'subnet_out_of_ip_addresses', 'There are no more IP addresses available in the subnet.')
        self.require_quota('instances', 'instance')
        self.require_quota('volumes', 'volume')
        self.require_profile_quota(profile)
        group = self.group(body)
        instance = self.build_instance(name, zone, profile, vpc, image, group)
        for field in ('availability', 'availability_policy', 'metadata_service'):
            instance[field].update(body.get(field, {}))
        path = f'instances/{instance["id"]}'
        self.add_volume(path, boot, image, group, zone)
        self.add_interface(path, interface, subnet, security_groups)
        self.things[path] = instance
        return path, instance

    @staticmethod
    def build_instance(name, zone, profile, vpc, image, group):
        instance_path = f'instances/{catalog.zone_id(zone)}'
        count, bandwidth = profile['vcpu_count']['value'], profile['bandwidth']['value']
        return thing(
            'instance', instance_path, name=name, resource_type='instance', created_at=now(),
            zone=catalog.zone_reference(zone), startable=True, status='pending', status_reasons=[],
            availability={'class': 'standard'}, availability_policy={'host_failure': 'restart', 'preemption': 'stop'},
            bandwidth=bandwidth, cluster_network_attachments=[], confidential_compute_mode='disabled', disks=[],
            enable_secure_boot=False, health_reasons=[], health_state='inapplicable', image=reference(image),
            lifecycle_reasons=[], lifecycle_state='pending', memory=profile['memory']['value'], network_attachments=[],
            metadata_service={'enabled': False, 'protocol': 'http', 'response_hop_limit': 1},
            profile=reference(profile, 'href', 'name', 'resource_type'), resource_group=group, software_attachments=[],
            reservation_affinity={'policy': 'disabled', 'pool': []}, threads_per_core=2,
            total_network_bandwidth=bandwidth * 3 // 4, total_volume_bandwidth=bandwidth // 4,
            vcpu={'architecture': 'amd64', 'count': count, 'manufacturer': 'intel', 'percentage': 100},
            volume_bandwidth_qos_mode='weighted', vpc=reference(vpc))

    def add_volume(self, instance_path, wanted, image, group, zone):
        """The boot volume and its attachment."""
        fields = wanted.get('volume', {'profile': {'name': 'general-purpose'}})
        volume_path = f'volumes/{catalog.new_id("r006")}'
        capacity = fields.get('capacity', image['minimum_provisioned_size'])
        if not image['minimum_provisioned_size'] <= capacity <= 250:
            raise Refusal(400, 'bad_field', 'The capacity is not between that of the image and 250 GB.',
                          ('boot_volume_attachment.volume.capacity', capacity))
        volume = thing('volume', volume_path, resource_type='volume', created_at=now(),
                       name=self.name_for('volumes', fields.get('name'), 'boot_volume_attachment.volume.name'))
        attachment_path = f'{instance_path}/volume_attachments/{catalog.zone_id(zone)}'
        attachment = thing('', attachment_path, name=self.name_for('', wanted.get('name')))
        del attachment['crn']
        profile = next(iter(fields['profile'].values())).rpartition('/')[2]
        volume.update(
            active=True, adjustable_capacity_states=['attached'], adjustable_iops_states=[],
            attachment_state='attached', bandwidth=393, busy=False, capacity=capacity, encryption='provider_managed',
            health_reasons=[], health_state='ok', iops=fields.get('iops', 3000),
            profile={'href': f'{BASE}/volume/profiles/{profile}', 'name': profile},
            resource_group=group, software_attachments=[], source_image=reference(image), status='available',
            status_reasons=[], storage_generation=1, user_tags=[], volume_attachments=[],
            zone=catalog.zone_reference(zone))
        self.things[volume_path] = volume
        self.things[attachment_path] = {
            **attachment, 'bandwidth': 393, 'created_at': now(), 'status': 'attached', 'type': 'boot',
            'delete_volume_on_instance_delete': wanted.get('delete_volume_on_instance_delete', True),
            'volume': reference(volume)}

    def add_interface(self, instance_path, wanted, subnet, security_groups):
        path = f'{instance_path}/network_interfaces/{catalog.new_id(subnet["id"][:4])}'
        address = f'{subnet["href"].removeprefix(BASE + "/")}/reserved_ips/{catalog.new_id(subnet["id"][:4])}'
        primary_ip = {'address': NO_ADDRESS, 'href': f'{BASE}/{address}', 'id': address.rpartition('/')[2],
                      'name': f'suite-invented-name-{next(self.order)}', 'resource_type': 'subnet_reserved_ip'}
        subnet['available_ipv4_address_count'] -= 1
        interface = thing(
            '', path, name=wanted.get('name', 'eth0'), allow_ip_spoofing=wanted.get('allow_ip_spoofing', False),
            created_at=now(), port_speed=16000, primary_ip=primary_ip, resource_type='network_interface',
            security_groups=[reference(one, 'crn', 'href', 'id', 'name') for one in security_groups], status='pending',
            subnet=reference(subnet), type='primary')
        del interface['crn']
        self.things[path] = interface

    def begin_start(self, path, instance):
        if path not in self.things:
            return
        instance['status'] = 'starting'
        self.assign_address(path)
        self.at('starting', lambda: self.end_start(instance))

    def assign_address(self, path):
        interface = self.all_of(f'{path}/network_interfaces')[0]
        subnet = self.things[f'subnets/{interface["subnet"]["id"]}']
        start, number = subnet['ipv4_cidr_block'].split('.'), next(self.addresses)
        third = int(start[2]) + number // 250 % max(1, subnet['total_ipv4_address_count'] // 256)
        interface['primary_ip']['address'] = f'10.240.{third}.{number % 250 + 4}'
        interface['status'] = 'available'

    def end_start(self, instance):
        code = self.stockouts.get(instance['zone']['name'])
        if code:
            instance.update(status='failed', lifecycle_state='failed', startable=False, status_reasons=reasons(code))
        else:
            instance.update(status='running', lifecycle_state='stable', health_state='ok')

    def shown_instance(self, path):
        """The instance with its interfaces and volumes."""
        interfaces = [reference(one, 'href', 'id', 'name', 'primary_ip', 'resource_type', 'subnet')
                      for one in self.all_of(f'{path}/network_interfaces')]
        attachments = [reference(one, 'href', 'id', 'name', 'volume')
                       for one in self.all_of(f'{path}/volume_attachments')]
        return {**self.things[path], 'network_interfaces': interfaces, 'primary_network_interface': interfaces[0],
                'volume_attachments': attachments, 'boot_volume_attachment': attachments[0]}

    def shown(self, path):
        """A thing as the API answers it."""
        found = self.get(path)
        if path.startswith('instances/') and path.count('/') == 1:
            return self.shown_instance(path)
        if '/network_interfaces/' in path:
            return {**found, 'floating_ips': [reference(one, 'address', 'crn', 'href', 'id', 'name')
                                              for one in self.floating_ips_of(path)]}
        if path.startswith('volumes/'):
            attached = [one for one in self.things if '/volume_attachments/' in one
                        and self.things[one]['volume']['id'] == found['id']]
            return {**found, 'volume_attachments': [self.attachment_of(one) for one in attached]}
        return found

    def attachment_of(self, path):
        instance = self.things[path.rpartition('/volume_attachments/')[0]]
        return {**reference(self.things[path], 'delete_volume_on_instance_delete', 'href', 'id', 'name', 'type'),
                'instance': reference(instance, 'crn', 'href', 'id', 'name')}

    def delete_instance(self, path):
        instance = self.get(path)
        if instance['status'] in BUSY:
            raise Refusal(409, 'instance_delete_conflict', f'The instance cannot be deleted while it is '
                          f'{instance["status"]}.')
        instance.update(status='deleting', lifecycle_state='deleting', health_state='inapplicable', startable=False)
        self.at('deleting', lambda: self.remove_instance(path))

    def remove_instance(self, path):
        """With all that belongs to it. Floating IPs stay, without a target."""
        if path not in self.things:
            return
        for one in self.below(f'{path}/network_interfaces'):
            for floating_ip in self.floating_ips_of(one):
                floating_ip.pop('target')
            self.things[f'subnets/{self.things[one]["subnet"]["id"]}']['available_ipv4_address_count'] += 1
            del self.things[one]
        for one in self.below(f'{path}/volume_attachments'):
            attachment = self.things.pop(one)
            volume = self.things[f'volumes/{attachment["volume"]["id"]}']
            volume['attachment_state'] = 'unattached'
            if attachment['delete_volume_on_instance_delete']:
                del self.things[f'volumes/{volume["id"]}']
        del self.things[path]

    def stop_instance(self, path, code):
        self.get(path).update(status='stopped', status_reasons=reasons(code) if code else [])

    def add_instances(self, count, prefix, zone, profile, group, **fields):
        """Instances of other programs, which run already. `group`: name of their resource group, created if needed."""
        subnet = next(one for one in self.all_of('subnets') if one['zone']['name'] == zone)
        owner = next((one for one in self.groups if one['name'] == group), None) or self.create_group(group)
        for number in range(count):
            path, instance = self.make_instance({
                'name': f'{prefix}-{number:05}', 'zone': {'name': zone}, 'profile': {'name': profile},
                'image': {'id': next(one['id'] for one in self.all_of('images') if one['status'] == 'available')},
                'primary_network_interface': {'subnet': {'id': subnet['id']}}, 'resource_group': {'id': owner['id']}})
            self.assign_address(path)
            instance.update(status='running', lifecycle_state='stable', health_state='ok', **fields)

    # --- volumes

    def delete_volume(self, path):
        if self.shown(path)['volume_attachments']:
            raise Refusal(409, 'volume_in_use', 'The volume is attached to an instance.')
        del self.things[path]

    def forget(self, path):
        if path in self.things:
            del self.things[path]

    # --- floating IPs

    def floating_ips_of(self, interface_path):
        number = interface_path.rpartition('/')[2]
        return [one for one in self.all_of('floating_ips') if one.get('target', {}).get('id') == number]

    def interface(self, number):
        """The path of a network interface."""
        for path in self.things:
            if '/network_interfaces/' in path and path.endswith(f'/{number}'):
                return path
        raise Refusal(400, 'bad_field', f'The target {number} was not found.', ('target.id', number))

    def create_floating_ip(self, body):
        target = self.interface(next(iter(body['target'].values())).rpartition('/')[2]) if 'target' in body else None
        zone = self.things[target]['subnet']['id'][3] if target else None
        zone = f'{REGION}-{zone}' if zone else self.resolve('zone', body['zone'], f'regions/{REGION}/zones')['name']
        self.require_quota('floating_ips', 'floating IP address', zone)
        path = f'floating_ips/{catalog.new_id("r006")}'
        number = next(self.addresses)
        address = f'{self.settings["external_network"]}.{number // 250}.{number % 250 + 1}'
        new = thing('floating_ip', path, address=address, created_at=now(), status='pending',
                    name=self.name_for('floating_ips', body.get('name')), resource_group=self.group(body),
                    zone=catalog.zone_reference(zone))
        self.things[path] = new

        def end():
            if new['status'] == 'pending':
                code = self.settings['floating_ip_status']
                new['status'] = code
                if target in self.things and code == 'available':
                    self.associate(new, target)
        self.at('reserving', end)
        return new

    def associate(self, floating_ip, interface_path):
        """Replaces the association of both."""
        for other in self.floating_ips_of(interface_path):
            other.pop('target')
        floating_ip['target'] = reference(self.things[interface_path], 'href', 'id', 'name', 'primary_ip',
                                          'resource_type')

    def attach_floating_ip(self, path, interface_path):
        """The floating IP gets its target after some time."""
        floating_ip, interface = self.get(path), self.get(interface_path)
        if floating_ip['status'] != 'available':
            raise Refusal(409, 'invalid_state', f'The floating IP is {floating_ip["status"]}.')
        if self.get('/'.join(interface_path.split('/')[:2]))['status'] in ('pending', 'deleting'):
            raise Refusal(409, 'invalid_state', 'The instance is not in a state for this action.')
        if floating_ip['zone']['name'][-1] != interface['subnet']['id'][3]:
            raise Refusal(400, 'invalid_zone', 'The floating IP is not in the zone of the instance.')

        def end():
            if path in self.things and interface_path in self.things and floating_ip['status'] == 'available':
                self.associate(floating_ip, interface_path)
        self.at('attaching', end)
        return floating_ip

    def detach_floating_ip(self, path, interface_path):
        if self.get(path) not in self.floating_ips_of(interface_path):
            raise not_found(path)
        self.things[path].pop('target')

    def update_floating_ip(self, path, patch):
        found = self.get(path)
        if patch.get('name') and patch['name'] != found['name']:
            found['name'] = self.name_for('floating_ips', patch['name'])
        if patch.get('target'):
            self.attach_floating_ip(path, self.interface(next(iter(patch['target'].values())).rpartition('/')[2]))
        elif 'target' in patch:
            found.pop('target', None)
        return found

    def delete_floating_ip(self, path):
        found = self.get(path)
        if found['status'] == 'deleting':
            raise Refusal(409, 'invalid_state', 'The floating IP is being deleted.')
        found['status'] = 'deleting'
        found.pop('target', None)
        self.at('releasing', lambda: self.forget(path))

    # --- images

    def create_image(self, body):
        if 'file' not in body:
            raise not_simulated('An image of a volume')
        field = ('file.href', body['file']['href'])
        match = OBJECT.fullmatch(body['file']['href'])
        if not match:
            raise Refusal(400, 'cos_scheme_uri_invalid', 'The format is cos://region/bucket/file.', field)
        place, bucket, key = match.groups()
        if '/' in key or not key.endswith(('.qcow2', '.vhd')):
            raise Refusal(400, 'cos_uri_not_supported', 'Only files *.qcow2 and *.vhd outside of folders.', field)
        location, size = self.storage.find(bucket, key)
        if size is None:
            raise Refusal(400, 'cos_not_found', 'Cloud Object Storage resource not found.', field)
        if location.rpartition('-')[0] != place:
            raise Refusal(400, 'cos_region_mismatch', 'The bucket is not in this location.', field)
        system = self.resolve('operating_system', body['operating_system'], 'operating_systems')
        if not system['allow_user_image_creation']:
            raise Refusal(400, 'operating_system_restricted', 'The operating system is restricted to system images.')
        self.require_quota('images', 'image')
        group = next(one for one in self.groups if one['id'] == self.group(body)['id'])
        path, image = catalog.image(self.name_for('images', body.get('name')), system, group, status='pending', file={},
                                    created_at=now(), status_reasons=reasons('image_request_in_progress'))
        self.things[path] = image
        self.at('importing', lambda: self.end_import(image, bucket, key))
        return image

    def end_import(self, image, bucket, key):
        if image['status'] == 'deleting':
            return
        _, size = self.storage.find(bucket, key)
        code = self.settings['import_error'] or (None if size else 'image_data_corrupted')
        image.update(status='failed' if code else 'available', status_reasons=reasons(code) if code else [])
        if not code:
            image['file'] = {'size': -(-size // 10**9), 'checksums': {'sha256': f'{size:064x}'}}

    def delete_image(self, path):
        image = self.get(path)
        if image['visibility'] == 'public':
            raise Refusal(403, 'invalid_action_for_public_image', 'Public images cannot be deleted.')
        if image['status'] == 'deleting':
            raise Refusal(409, 'invalid_state', 'The image is being deleted.')
        image['status'] = 'deleting'
        self.at('deleting', lambda: self.forget(path))
