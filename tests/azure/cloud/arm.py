"""What all resources of Azure Resource Manager share: ids, lists, tags, long-running operations, errors, rates."""
import collections
import copy
import dataclasses
import datetime
import heapq
import itertools
import json
import math
import re
import secrets
import time
import urllib.parse
import uuid

from azure_catalog import LOCATIONS, QUOTAS, SUBSCRIPTION

TIMES = {'vm': 0.3, 'interface': 0.1, 'address': 0, 'vm_delete': 0.3, 'dependents': 0.1, 'network': 0.1, 'disk': 0.1,
         'image': 0.2, 'group': 0.3, 'listing': 0}
# In a window of 3 or 30 minutes where the name says so, otherwise of one; of a resource or of the subscription.
LIMITS = {'PutVMSubscriptionMaximum': 1500, 'PutVMResource': 12, 'DeleteVMSubscriptionMaximum': 1500,
          'DeleteVMResource': 12, 'LowCostGetSubscriptionMaximum': 24000, 'LowCostGetResource': 36,
          'HighCostGetSubscriptionMaximum': 900, 'GetOperationResource': 45, 'GetOperationSubscriptionMaximum': 15000,
          'CreateUpdateDisks3Min': 3000, 'CreateUpdateDisks30Min': 25000, 'DeleteDisks3Min': 3000,
          'DeleteDisks30Min': 24000, 'HighCostDiskHydrate3Min': 1000, 'HighCostDiskHydrate30Min': 8000,
          'HighCostGet3Min': 240, 'HighCostGet30Min': 1920, 'CreateImagesSubscriptionMaximum': 60,
          'DeleteImagesSubscriptionMaximum': 60, 'HighCostGetImagesSubscriptionMaximum': 90,
          'GetSubscriptionInfoSubscriptionMaximum': 360,
          'reads': 12000, 'writes': 1200, 'deletes': 15000}


class Refused(Exception):
    """An error of Azure. `bare`: without the object `error` around it."""

    def __init__(self, status, code, message, headers=(), details=(), bare=False, target=None):
        super().__init__(message)
        self.status, self.headers = status, dict(headers)
        self.error = {'code': code, 'message': message, **({'details': list(details)} if details else {}),
                      **({'target': target} if target else {})}
        self.body = self.error if bare else {'error': self.error}


@dataclasses.dataclass
class Answer:
    status: int
    body: object = None  # an object for JSON, bytes, or None
    headers: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Request:
    method: str
    target: str  # path and query as they were sent
    headers: dict  # by names in lower case
    body: bytes = b''

    def __post_init__(self):
        url = urllib.parse.urlsplit(self.target)
        self.path = urllib.parse.unquote(url.path).rstrip('/')
        self.query = {key.lower(): value for key, value in urllib.parse.parse_qsl(url.query, keep_blank_values=True)}
        host = self.headers.get('host', '')
        self.base = f'{"http" if ":" in host else "https"}://{host}'  # of links to other answers

    @property
    def version(self):
        return self.query.get('api-version', '')


@dataclasses.dataclass
class Resource:
    body: dict
    made: float
    request: dict = dataclasses.field(default_factory=dict)  # by which it was created
    operation: object = None  # under way
    private: dict = dataclasses.field(default_factory=dict)  # what answers do not show

    @property
    def id(self):
        return self.body['id']

    @property
    def properties(self):
        return self.body['properties']

    @property
    def state(self):
        return self.properties.get('provisioningState')

    @state.setter
    def state(self, value):
        self.properties['provisioningState'] = value


@dataclasses.dataclass
class Operation:
    """`form`: which fields the status has. `result`: what it answers when it has succeeded."""
    form: str
    status: str = 'InProgress'
    error: dict | None = None
    result: object = None
    name: str = dataclasses.field(default_factory=lambda: str(uuid.uuid4()))
    began: str = dataclasses.field(default_factory=lambda: timestamp())
    ended: str | None = None

    def body(self):
        error = {'error': self.error} if self.error else {}
        if self.form == 'Microsoft.Network':
            return {'status': self.status, **error}
        output = {'properties': {'output': self.result}} if self.result and self.form == 'disk' else {}
        return {'startTime': self.began, **({'endTime': self.ended} if self.ended else {}), 'status': self.status,
                **output, **error, 'name': self.name}


def timestamp():
    return datetime.datetime.now(datetime.UTC).strftime('%Y-%m-%dT%H:%M:%S.%f+00:00')


def not_found(id):
    _, group, *rest = parts(id)
    return Refused(404, 'ResourceNotFound', f"The resource '{'/'.join(rest)}' is not in the resource group '{group}'.")


def parts(id):
    """Subscription, resource group ('' if none), provider, and then types and names in turn."""
    found = id.strip('/').split('/')
    subscription, rest = found[1], found[2:]
    group = ''
    if rest and rest[0].lower() == 'resourcegroups':
        group, rest = rest[1] if len(rest) > 1 else '', rest[2:]
    if rest and rest[0].lower() == 'providers':
        rest = rest[1:]
    return [subscription, group, *rest]


class Arm:
    """One subscription. `kinds`: how to make and remove resources, by type in lower case."""

    def __init__(self):
        self.kinds = {}
        self.reset()

    def reset(self):
        self.settings = {'times': dict(TIMES), 'limits': dict(LIMITS), 'quotas': dict(QUOTAS), 'page': 1000,
                         'retry_after': None, 'latency': 0, 'held': False, 'token_lifetime': 3600, 'denied': [],
                         'list_case': 'same', 'public_ip_in_interface': 'whole', 'upload': None,
                         'public_addresses': ['127.20.0.0/16', '2001:db8:20::/64']}
        self.now = time.monotonic()
        self.resources = {}
        self.operations = {}  # by the target of its URL: operation, whether the answer is its result
        self.agenda = []
        self.allocation_failures = []
        self.counts = collections.Counter()
        self.actions = set()  # permissions that calls have needed
        self.order = itertools.count()

    # --- time

    def later(self, seconds, action):
        heapq.heappush(self.agenda, (self.now + seconds, next(self.order), action))

    def advance(self):
        """Does what is due, as if it were done at its time."""
        while self.agenda and self.agenda[0][0] <= time.monotonic() and not self.settings['held']:
            self.now, _, action = heapq.heappop(self.agenda)
            action()
        self.now = time.monotonic()

    def operation(self, seconds, form, action):
        """An operation at whose end action() returns its result, or raises Refused."""
        operation = Operation(form)

        def finish():
            if operation.status != 'InProgress':
                return
            operation.ended = timestamp()
            try:
                operation.result = action()
                operation.status = 'Succeeded'
            except Refused as refused:
                operation.status, operation.error = 'Failed', refused.error
        self.later(seconds, finish)
        return operation

    def links(self, request, operation, location, namespace='Microsoft.Compute'):
        """The headers that tell where the operation is: URLs of 3 kB, which must come back as they are."""
        family = 'DiskOperations' if operation.form == 'disk' else 'operations'
        result = 'operationResults' if operation.form == 'Microsoft.Network' else family
        more = {'Retry-After': str(self.settings['retry_after'])} if self.settings['retry_after'] is not None else {}
        place = f'/subscriptions/{SUBSCRIPTION}/providers/{namespace}/locations/{location}'

        def link(path, is_result, monitor=''):
            signed = f't={time.time_ns() // 100}&c={secrets.token_urlsafe(2100)}&s={secrets.token_urlsafe(256)}'
            target = (f'{path}/{operation.name}?p={uuid.uuid4()}{monitor}&api-version={request.version}&{signed}'
                      f'&h={secrets.token_urlsafe(32)}')
            self.operations[target] = operation, is_result
            return request.base + target
        if operation.form == 'group':
            return {'Location': link(f'/subscriptions/{SUBSCRIPTION}/operationresults', True), **more}
        return {'Azure-AsyncOperation': link(f'{place}/{family}', False),
                'Location': link(f'{place}/{result}', True, '&monitor=true' if result == family else ''), **more}

    def get_operation(self, request):
        if request.target not in self.operations:
            raise Refused(403, 'InvalidSignature', 'The URL of the operation is not one that was given out.')
        operation, is_result = self.operations[request.target]
        if not is_result:
            return Answer(200, operation.body())
        if operation.status == 'InProgress':
            return Answer(202, None, {'Location': request.base + request.target})
        if operation.error:
            return Answer(409, {'error': operation.error})
        return Answer(200, operation.result) if operation.result else Answer(204 if operation.form != 'group' else 200)

    # --- rates

    def spend(self, request, kind, namespace):
        """Counts a call. Returns the headers about what is left; raises Refused if nothing is."""
        method = {'GET': 'reads', 'HEAD': 'reads', 'DELETE': 'deletes'}.get(request.method, 'writes')
        left = self.take(request, method, method)
        headers = {f'x-ms-ratelimit-remaining-subscription-{method}': str(max(left[0], 0))}
        if left[0] < 0:
            what = f'{request.method}/{namespace}'.upper()
            raise Refused(429, 'SubscriptionRequestsThrottled', f"Too many requests '{what}' of the subscription "
                          f"'{SUBSCRIPTION}'. Please try again after '{left[1]}' seconds.",
                          {'Retry-After': str(left[1])})
        buckets = [name for name in bucket_names(kind) if name in self.settings['limits']]
        lefts = {name: self.take(request, name, name + (request.path.lower() if name.endswith('Resource') else ''))
                 for name in buckets}
        if buckets:
            headers['x-ms-ratelimit-remaining-resource'] = ','.join(
                f'Microsoft.Compute/{name};{max(left, 0)}' for name, (left, _) in lefts.items())
        for name, (left, seconds) in lefts.items():
            if left < 0:
                raise Refused(429, 'OperationNotAllowed', 'Too many requests of this subscription.',
                              {**headers, 'Retry-After': str(seconds)}, bare=True, details=[{
                                  'code': 'TooManyRequests', 'target': name, 'message': json.dumps(
                                      {'operationGroup': name, 'allowedRequestCount': self.settings['limits'][name]})}])
        return headers

    def take(self, request, name, bucket):
        """What is left of a bucket after one call, and the seconds until it is full."""
        window = 1800 if name.endswith('30Min') else 180 if name.endswith('3Min') else 60
        self.counts[bucket, number := int(time.monotonic() // window)] += 1
        return (self.settings['limits'][name] - self.counts[bucket, number],
                math.ceil((number + 1) * window - time.monotonic()))

    # --- resources

    def find(self, id):
        """The resource with the id, or None."""
        return self.resources.get(id.lower())

    def of_type(self, kind):
        return [each for each in self.resources.values() if each.body['type'].lower() == kind.lower()]

    def add(self, id, type, body, **more):
        """Creates a resource. `body`: location, tags and properties."""
        resource = Resource({'name': id.rsplit('/', 1)[1], 'id': id, 'type': type, **body}, self.now, **more)
        self.resources[id.lower()] = resource
        return resource

    def remove(self, resource):
        self.resources.pop(resource.id.lower(), None)

    def shown(self, resource, is_listed=False):
        body = copy.deepcopy(resource.body)
        if is_listed and self.settings['list_case'] == 'upper':  # as lists of machines often have it
            body['id'] = re.sub('(?<=/resourceGroups/)[^/]+', lambda group: group[0].upper(), body['id'])
        return self.kinds[body['type'].lower()].shown(self, resource, body)

    def page(self, request, found):
        """A page of a list, with a link to the next one."""
        start, size = int(request.query.get('$skiptoken', 0)), self.settings['page']
        rest = {}
        if start + size < len(found):
            url = urllib.parse.urlsplit(request.target)
            query = [(key, value) for key, value in urllib.parse.parse_qsl(url.query) if key != '$skiptoken']
            rest['nextLink'] = (f'{request.base}{url.path}?{urllib.parse.urlencode(query)}&%24skiptoken={start + size}')
        return Answer(200, {'value': found[start:start + size], **rest})

    def listed(self, request, kind, parent):
        """The resources of a type below the parent, a group or a resource."""
        young = time.monotonic() - self.settings['times']['listing']
        found = [each for each in self.of_type(kind)
                 if each.made <= young and each.id.lower().startswith(parent.lower() + '/')]
        bodies = [self.shown(each, True) for each in found]
        if request.query.get('statusonly') == 'true':
            bodies = [self.kinds[kind.lower()].with_status(each, body) for each, body in zip(found, bodies)]
        return self.page(request, bodies)

    def location(self, body, old=None):
        """The location of a request, as Azure writes it."""
        location = body.get('location', '').replace(' ', '').lower()
        if not location:
            raise Refused(400, 'LocationRequired', 'The location property is required for this definition.')
        if location not in LOCATIONS:
            raise Refused(400, 'LocationNotAvailableForResourceType',
                          f"The location '{location}' is not one of '{','.join(LOCATIONS)}'.")
        if old and old.body['location'] != location:
            raise Refused(409, 'InvalidResourceLocation',
                          f"The resource '{old.body['name']}' already exists in location '{old.body['location']}'.")
        return location

    def modify(self, request, kind, id, body):
        """PUT: returns the status, the resource and the operation."""
        old = self.find(id)
        if old and old.state == 'Deleting':
            raise kind.conflict(old)
        check_tags(body.get('tags') or {})
        location = self.location(body, old) if kind.has_location else None
        made = {**({'location': location} if location else {}), **({'tags': body['tags']} if 'tags' in body else {})}
        resource, operation = kind.put(self, id, body, made, old)
        headers = self.links(request, operation, location or LOCATIONS[0], kind.type.split('/')[0]) if operation else {}
        status = 200 if old else kind.created
        if status != 202:
            headers.pop('Location', None)
        return Answer(status, self.shown(resource), headers)

    def delete(self, request, kind, id):
        resource = self.find(id)
        if resource is None:
            return Answer(204)
        kind.check_unused(self, resource)
        if resource.operation and resource.operation.status == 'InProgress' and resource.state != 'Deleting':
            resource.operation.status, resource.operation.ended = 'Canceled', timestamp()
            resource.operation.error = {
                'code': 'OperationPreempted', 'message': 'A more recent operation preempted this.'}
        resource.state = 'Deleting'

        def finish():
            if self.find(id) is resource:
                kind.removed(self, resource)
                self.remove(resource)
        resource.operation = self.operation(self.settings['times'][kind.delete_time], kind.form, finish)
        location = resource.body.get('location', LOCATIONS[0])
        return Answer(202, None, self.links(request, resource.operation, location, kind.type.split('/')[0]))


class Kind:
    """A type of resources."""
    type = ''
    form = 'Microsoft.Network'  # of the status of its operations
    created = 201
    has_location = True
    delete_time = 'network'

    def put(self, arm, id, body, made, old):
        """Creates or changes the resource; `made` is what of it is checked. Returns it and an operation, or None."""
        raise NotImplementedError

    def shown(self, arm, resource, body):
        """What answers show of the resource, of whose body `body` is a copy."""
        return body

    def check_unused(self, arm, resource):
        """Raises Refused if it cannot be deleted."""

    def removed(self, arm, resource):
        """What goes with it."""

    def conflict(self, resource):
        return Refused(409, 'AnotherOperationInProgress',
                       f'Another operation on {resource.id} or what it depends on is in progress.')

    def settle(self, arm, resource, seconds, finish=lambda: None):
        """An operation at whose end the resource has succeeded, if finish() does not refuse."""
        def done():
            try:
                finish()
            except Refused:
                resource.state = 'Failed'
                raise
            resource.state = 'Succeeded'
            return arm.shown(resource)
        resource.operation = arm.operation(seconds, self.form, done)
        return resource.operation


def check_tags(tags):
    if len(tags) > 50:
        raise Refused(400, 'InvalidTags', 'A resource has at most 50 tags.')
    for name, value in tags.items():
        if set(name) & set('<>%&\\?/'):
            raise Refused(400, 'InvalidTagNameCharacters', f"The tag name '{name}' has one of the characters <>%&\\?/.")
        if len(name) > 512 or len(value) > 256:
            raise Refused(400, 'InvalidTagLength',
                          f"The tag '{name}' is longer than 512, or its value than 256 characters.")


def bucket_names(kind):
    """The limits that a call counts for: kind is like 'list Microsoft.Compute/disks'."""
    verb, _, type = kind.partition(' ')
    if type == 'operation':
        return ['GetOperationSubscriptionMaximum', 'GetOperationResource']
    if type == 'Microsoft.Compute/usages':
        return ['GetSubscriptionInfoSubscriptionMaximum']
    stem = {
        'Microsoft.Compute/virtualMachines': {'PUT': 'PutVM', 'DELETE': 'DeleteVM', 'GET': 'LowCostGet',
                                              'list': 'HighCostGet'},
        'Microsoft.Compute/images': {'PUT': 'CreateImages', 'DELETE': 'DeleteImages', 'list': 'HighCostGetImages'},
        'Microsoft.Compute/disks': {'PUT': 'CreateUpdateDisks', 'DELETE': 'DeleteDisks', 'list': 'HighCostGet'},
    }.get(type, {}).get(verb) or ('HighCostDiskHydrate' if type.startswith('Microsoft.Compute/disks/') else None)
    if stem is None:
        return []
    return [stem + end for end in (('3Min', '30Min') if 'disks' in type else ('SubscriptionMaximum', 'Resource'))]
