"""The state of the simulated Compute Engine: things by path, instances that start and stop, operations, quotas."""
import base64
import collections
import datetime
import heapq
import itertools
import re
import secrets
import threading
import time

import catalog
from catalog import PROJECT, WWW

OWN = f'projects/{PROJECT}'
URL = re.compile(r'(?:https://(?:www|compute)\.googleapis\.com/compute/(?:v1|beta)/)?'
                 r'(projects/[^/]+/)?((?:global|zones|regions)/.+)')
STATUS_OF = {'QUOTA_EXCEEDED': (403, 'FORBIDDEN'), 'RESOURCE_NOT_FOUND': (404, 'NOT FOUND'),
             'RESOURCE_ALREADY_EXISTS': (409, 'CONFLICT')}  # others: 503


class Refusal(Exception):
    """An answer of the API that is an error."""

    def __init__(self, code, reason, message, **more):
        super().__init__(message)
        self.code, self.reason, self.more = code, reason, more


def not_found(path):
    return Refusal(404, 'notFound', f"The resource '{path}' was not found")


def invalid(field, value, why):
    return Refusal(400, 'invalid', f"Invalid value for field '{field}': '{value}'. {why}")


def fingerprint():
    return base64.b64encode(secrets.token_bytes(8)).decode()


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec='milliseconds')


class Project:
    def __init__(self, settings, user):
        """`settings`: a mapping, see server.py. `user`: who the operations are of."""
        self.settings, self.user = settings, user
        self.changed = threading.Condition()  # and the lock of everything here
        self.reset()

    def reset(self):
        self.things = catalog.seeds()
        self.limits = {region: dict(catalog.LIMITS) for region in catalog.REGIONS}
        self.global_limits = dict(catalog.GLOBAL_LIMITS)
        self.usage = {}      # by path of an instance or a disk: by quota
        self.consoles = {}   # by path of an instance
        self.coming = set()  # paths of instances whose creation is under way
        self.requests = {}   # what was asked for and the path of its operation, by method and requestId
        self.stockouts = {}  # the code of the error, by zone
        self.events = []
        self.moment = None   # that of the event that is performed late
        self.order = itertools.count()
        self.addresses = itertools.count(2)

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
        self.moment, _, action = heapq.heappop(self.events)
        action()
        self.moment = None
        self.changed.notify_all()

    def wait_until_done(self, operation, seconds):
        deadline = time.monotonic() + seconds
        while operation['status'] != 'DONE' and time.monotonic() < deadline:
            wake = min([deadline, *(event[0] for event in self.events[:1])])
            self.changed.wait(max(0, wake - time.monotonic()))
            self.settle()

    # --- things

    def get(self, path):
        """The thing, by name or by number."""
        folder, _, name = path.rpartition('/')
        for one in [path] if not name.isdigit() else self.below(folder):
            if one in self.things and (not name.isdigit() or self.things[one]['id'] == name):
                self.fill_quotas(one)
                return self.things[one]
        raise not_found(path)

    def below(self, folder):
        return [path for path in self.things if path.rpartition('/')[0] == folder]

    def listed(self, folder):
        """Pairs of name and thing."""
        for path in self.below(folder):
            self.fill_quotas(path)
        return [(path.rpartition('/')[2], self.things[path]) for path in self.below(folder)]

    def family(self, project, family):
        images = [thing for _, thing in self.listed(f'projects/{project}/global/images')
                  if thing['family'] == family and 'deprecated' not in thing]
        if not images:
            raise not_found(f'projects/{project}/global/images/family/{family}')
        return max(images, key=lambda image: image['creationTimestamp'])

    def resolve(self, field, value, kind):
        """The thing of the kind that a field of a call names, by one of the forms of an URL."""
        match = URL.fullmatch(value)
        if not match:
            raise invalid(field, value, 'The URL is malformed.')
        path = (match.group(1) or f'{OWN}/') + match.group(2)
        folder, _, name = path.rpartition('/')
        try:
            if kind == 'images' and folder.endswith('/global/images/family'):
                return self.family(path.split('/')[1], name)
            if folder.rpartition('/')[2] == kind:
                return self.get(path)
        except Refusal as refusal:
            raise invalid(field, value, str(refusal)) from None
        raise invalid(field, value, f'The URL is not of {kind}.')

    # --- quotas

    def fill_quotas(self, path):
        region = path.removeprefix(f'{OWN}/regions/')
        if path == OWN:
            self.things[path]['quotas'] = self.quotas(self.global_limits, None)
        elif region in self.limits:
            self.things[path]['quotas'] = self.quotas(self.limits[region], region)

    def quotas(self, limits, region):
        used = self.used(region)
        return [{'metric': metric, 'limit': limit, 'usage': float(used[metric])} for metric, limit in limits.items()]

    def used(self, region):
        """By quota; of all regions for None."""
        used = collections.Counter()
        for path, needs in self.usage.items():
            if region is None or path.split('/')[3].rpartition('-')[0] == region:
                used.update(needs)
        used['CPUS_ALL_REGIONS'] = sum(count for metric, count in used.items() if metric.endswith('CPUS'))
        return used

    def quota_error(self, region, needs):
        """The error of an operation if the region has not enough left."""
        for limits, where in ((self.limits[region], region), (self.global_limits, None)):
            used = self.used(where)
            needed = {**needs, 'CPUS_ALL_REGIONS': sum(n for metric, n in needs.items() if metric.endswith('CPUS'))}
            for metric, limit in limits.items():
                if used[metric] + needed.get(metric, 0) > limit and needed.get(metric):
                    return {'code': 'QUOTA_EXCEEDED', 'message': f"Quota '{metric}' exceeded.  Limit: {float(limit)} "
                            f'{f"in region {region}" if where else "globally"}.', 'errorDetails': [{'quotaInfo': {
                                'metricName': f'compute.googleapis.com/{metric.lower()}', 'limit': limit,
                                'limitName': f'{metric}-per-project-region' if where else f'{metric}-per-project',
                                'dimensions': {'region': where or 'global'}}}]}
        return None

    def stockout_error(self, zone, machine_type):
        code = self.stockouts.get(zone)
        if not code:
            return None
        error = {'code': code, 'message': f"The zone '{OWN}/zones/{zone}' does not have enough resources available to "
                 "fulfill the request.  '(resource type:compute)'."}
        if code.endswith('_WITH_DETAILS'):
            error['errorDetails'] = [{'errorInfo': {
                'reason': 'resource_availability', 'domain': 'compute.googleapis.com',
                'metadatas': {'attachment': '', 'vmType': machine_type, 'zone': zone, 'zonesAvailable': ''}}}]
        return error

    # --- operations

    def operation(self, kind, target, **more):
        """A new one for the target's path, which is in a zone."""
        zone = '/'.join(target.split('/')[:4])
        origin = 'operation' if kind in ('insert', 'delete') else 'systemevent'
        name = f'{origin}-{int(time.time() * 1000)}-{secrets.token_hex(13)}'
        self.things[f'{zone}/operations/{name}'] = operation = {
            'kind': 'compute#operation', 'id': str(next(catalog.numbers)), 'name': name, 'zone': WWW + zone,
            'operationType': kind, 'targetLink': WWW + target, 'status': 'PENDING', 'user': self.user, 'progress': 0,
            'insertTime': now(), 'selfLink': f'{WWW}{zone}/operations/{name}', **more}
        if target in self.things:
            operation['targetId'] = self.things[target]['id']
        return operation

    def begin(self, operation):
        operation.update(status='RUNNING', startTime=now())

    def finish(self, operation, error=None):
        operation.update(status='DONE', progress=100, endTime=now())
        operation.setdefault('startTime', operation['endTime'])
        if error:
            status, message = STATUS_OF.get(error['code'], (503, 'SERVICE UNAVAILABLE'))
            operation.update(error={'errors': [error]}, httpErrorStatusCode=status, httpErrorMessage=message)

    def once(self, method, request_id, what, perform):
        """The operation of perform(), or that of the same request before."""
        key = method, request_id
        if request_id and key in self.requests:
            earlier, operation = self.requests[key]
            if earlier != what:
                raise invalid('requestId', request_id, 'It was used for another request.')
            return operation
        operation = perform()
        if request_id:
            self.requests[key] = what, operation
        return operation

    # --- instances

    def insert(self, folder, body):
        """Begins to make an instance."""
        path, zone, own_zone = f'{folder}/{body["name"]}', folder.split('/')[3], folder.rpartition('/')[0]
        if path in self.things or path in self.coming:
            raise Refusal(409, 'alreadyExists', f"The resource '{path}' already exists")
        machine_type = self.resolve('resource.machineType', body['machineType'], 'machineTypes')
        if f'/zones/{zone}/' not in machine_type['selfLink']:
            raise invalid('resource.machineType', body['machineType'], 'It is in another zone.')
        disks = [self.plan_disk(own_zone, body['name'], at, disk) for at, disk in enumerate(body['disks'])]
        interfaces = [self.plan_interface(zone, at, one) for at, one in enumerate(body['networkInterfaces'])]
        scheduling = body.get('scheduling', {})
        is_preemptible = scheduling.get('preemptible') or scheduling.get('provisioningModel') == 'SPOT'
        needs = {catalog.cpu_metric(machine_type['name'], is_preemptible, self.limits[zone.rpartition('-')[0]]):
                 machine_type['guestCpus'], 'INSTANCES': 1,
                 'IN_USE_ADDRESSES': sum(len(interface.get('accessConfigs', [])) for interface in interfaces)}
        instance = catalog.thing('instance', path, **{
            **{name: value for name, value in body.items() if name != 'name'}, 'creationTimestamp': now(),
            'zone': WWW + own_zone, 'machineType': machine_type['selfLink'], 'status': 'PROVISIONING',
            'cpuPlatform': 'Unknown CPU Platform', 'fingerprint': fingerprint(), 'labelFingerprint': fingerprint(),
            'networkInterfaces': interfaces, 'disks': [disk for disk, _ in disks], 'startRestricted': False,
            'deletionProtection': body.get('deletionProtection', False),
            'metadata': {'kind': 'compute#metadata', 'fingerprint': fingerprint(), **body.get('metadata', {})},
            'tags': {'fingerprint': fingerprint(), **body.get('tags', {})},
            'scheduling': {'onHostMaintenance': 'TERMINATE' if is_preemptible else 'MIGRATE',
                           'automaticRestart': not is_preemptible, 'preemptible': bool(is_preemptible),
                           'provisioningModel': 'SPOT' if is_preemptible else 'STANDARD', **scheduling}})
        operation = self.operation('insert', path, targetId=instance['id'])
        self.coming.add(path)
        self.at('pending', lambda: self.provision(operation, path, instance, [new for _, new in disks if new], needs))
        return operation

    def plan_disk(self, zone, name, at, disk):
        """It as the instance shows it, and the new disk itself, if it is one, with its path and needs."""
        field, parameters = f'resource.disks[{at}]', disk.get('initializeParams')
        attached = {name: value for name, value in disk.items() if name != 'initializeParams'}
        attached = {'kind': 'compute#attachedDisk', 'type': 'PERSISTENT', 'mode': 'READ_WRITE', 'interface': 'SCSI',
                    'deviceName': f'persistent-disk-{at}', 'boot': False, 'autoDelete': False, 'index': at, **attached}
        if parameters is None:
            attached['source'] = self.resolve(f'{field}.source', disk.get('source', ''), 'disks')['selfLink']
            return attached, None
        image = self.resolve(f'{field}.initializeParams.sourceImage', parameters.get('sourceImage', ''), 'images')
        size = int(parameters.get('diskSizeGb', image['diskSizeGb']))
        if size < int(image['diskSizeGb']):
            raise invalid(f'{field}.initializeParams.diskSizeGb', size, 'Requested disk size cannot be smaller than '
                          f'the image size ({image["diskSizeGb"]} GB)')
        default = f'{zone}/diskTypes/pd-standard'
        disk_type = self.resolve(f'{field}.initializeParams.diskType', parameters.get('diskType', default), 'diskTypes')
        path = f'{zone}/disks/{parameters.get("diskName", name if at == 0 else f"{name}-{at}")}'
        if path in self.things:
            raise Refusal(409, 'alreadyExists', f"The resource '{path}' already exists")
        attached.update(source=WWW + path, diskSizeGb=str(size))
        new = catalog.thing('disk', path, zone=WWW + zone, sizeGb=str(size), status='READY', type=disk_type['selfLink'],
                            sourceImage=image['selfLink'], labelFingerprint=fingerprint(),
                            users=[f'{WWW}{zone}/instances/{name}'], labels=parameters.get('labels', {}))
        return attached, (path, new, {catalog.DISK_TYPES[disk_type['name']]: size})

    def plan_interface(self, zone, at, interface):
        field, region = f'resource.networkInterfaces[{at}]', zone.rpartition('-')[0]
        if 'subnetwork' in interface:
            part = self.resolve(f'{field}.subnetwork', interface['subnetwork'], 'subnetworks')
            if not part['region'].endswith(f'/{region}'):
                raise invalid(f'{field}.subnetwork', interface['subnetwork'], 'It is in another region.')
            network = self.resolve(f'{field}.network', interface.get('network', part['network']), 'networks')
            if network['selfLink'] != part['network']:
                raise invalid(f'{field}.network', interface['network'], 'It is not the one of the subnetwork.')
        else:
            network = self.resolve(f'{field}.network', interface.get('network', 'global/networks/default'), 'networks')
            if not network['autoCreateSubnetworks']:
                raise Refusal(400, 'badRequest', 'Invalid resource usage: \'Subnetwork should be specified for custom '
                              'subnetmode network\'.')
            part = self.get(f'{OWN}/regions/{region}/subnetworks/{network["name"]}')
        planned = {**interface, 'kind': 'compute#networkInterface', 'name': f'nic{at}', 'network': network['selfLink'],
                   'subnetwork': part['selfLink'], 'fingerprint': fingerprint(), 'stackType': 'IPV4_ONLY'}
        if 'accessConfigs' in interface:
            planned['accessConfigs'] = [
                {'type': 'ONE_TO_ONE_NAT', 'name': 'External NAT', 'networkTier': 'PREMIUM', **access,
                 'kind': 'compute#accessConfig'} for access in interface['accessConfigs']]
        return planned

    def provision(self, operation, path, instance, disks, needs):
        self.begin(operation)
        zone = path.split('/')[3]
        all_needs = collections.Counter(needs)
        for _, _, of_disk in disks:
            all_needs.update(of_disk)
        error = self.quota_error(zone.rpartition('-')[0], all_needs) or self.stockout_error(
            zone, instance['machineType'].rpartition('/')[2])
        self.things[path] = instance
        self.coming.add(path)
        if error:  # for a moment it can be seen nevertheless
            self.at('starting', lambda: self.fail(operation, path, error))
            return
        self.usage[path] = needs
        for disk_path, disk, of_disk in disks:
            self.things[disk_path], self.usage[disk_path] = disk, of_disk
        for interface in instance['networkInterfaces']:
            number = next(self.addresses)
            interface.setdefault('networkIP', f'10.128.{number // 250}.{number % 250 + 2}')
            for access in interface.get('accessConfigs', []):
                access['natIP'] = f'{self.settings["external_network"]}.{number // 250}.{number % 250 + 1}'
        self.at('starting', lambda: self.boot(operation, path, instance))

    def fail(self, operation, path, error):
        del self.things[path]
        self.coming.discard(path)
        self.finish(operation, error)

    def boot(self, operation, path, instance):
        instance.update(status='STAGING', cpuPlatform='Intel Haswell')

        def run():
            instance.update(status='RUNNING', lastStartTimestamp=now())
            self.consoles.setdefault(path, f'Booting {instance["name"]}\n')
            self.coming.discard(path)
            self.finish(operation)
        self.at('starting', run)

    def delete(self, path):
        """Begins to delete an instance or a disk."""
        thing = self.things.get(path)
        if thing is None and path not in self.coming:
            raise not_found(path)
        if thing and thing.get('deletionProtection'):
            raise Refusal(400, 'invalidResourceUsage', 'Invalid resource usage: \'Resource cannot be deleted if it\'s '
                          'protected against deletion.\'')
        if thing and thing['kind'] == 'compute#disk' and thing.get('users'):
            raise Refusal(400, 'resourceInUseByAnotherResource', f"The disk resource '{path}' is already being used by "
                          f"'{thing['users'][0].removeprefix(WWW)}'")
        operation = self.operation('delete', path)
        self.at('pending', lambda: self.begin_deletion(operation, path))
        return operation

    def begin_deletion(self, operation, path):
        if path in self.coming:  # after the creation
            self.at('pending', lambda: self.begin_deletion(operation, path))
            return
        self.begin(operation)
        if path in self.things and self.things[path]['kind'] == 'compute#instance':
            self.things[path]['status'] = 'STOPPING'
        self.at('stopping', lambda: self.end_deletion(operation, path))

    def end_deletion(self, operation, path):
        if path not in self.things:
            self.finish(operation, {'code': 'RESOURCE_NOT_FOUND', 'message': f"The resource '{path}' was not found"})
            return
        self.remove(path)
        self.finish(operation)

    def remove(self, path):
        thing = self.things.pop(path)
        self.usage.pop(path, None)
        self.consoles.pop(path, None)
        for disk in thing.get('disks', []):
            disk_path = disk['source'].removeprefix(WWW)
            if disk_path in self.things:
                self.things[disk_path].pop('users', None)
                if disk['autoDelete']:
                    self.remove(disk_path)

    def preempt(self, path):
        """Takes an instance away, as Google does with those that are preemptible."""
        instance = self.get(path)
        instance['status'] = 'STOPPING'
        operation = self.operation('compute.instances.preempted', path, user='system',
                                   statusMessage='Instance was preempted.')
        self.begin(operation)

        def end():
            self.finish(operation)
            if path in self.things and instance['scheduling'].get('instanceTerminationAction') == 'DELETE':
                self.remove(path)
            else:
                self.terminate(path)
        self.at('stopping', end)

    def terminate(self, path):
        if path in self.things:
            self.things[path].update(status='TERMINATED', lastStopTimestamp=now())
            self.usage[path] = {'INSTANCES': 1}

    def add_instances(self, folder, count, prefix, machine_type='n1-standard-1', **more):
        """Instances of somebody else, which run already."""
        zone = folder.rpartition('/')[0]
        found = self.get(f'{zone}/machineTypes/{machine_type}')
        for number in range(count):
            path = f'{folder}/{prefix}-{number:05}'
            self.things[path] = catalog.thing('instance', path, **{
                'zone': WWW + zone, 'machineType': found['selfLink'], 'status': 'RUNNING', 'networkInterfaces': [],
                'scheduling': {}, 'metadata': {'kind': 'compute#metadata', 'fingerprint': fingerprint()}, **more})
            metric = catalog.cpu_metric(machine_type, False, catalog.LIMITS)
            self.usage[path] = {metric: found['guestCpus'], 'INSTANCES': 1}
