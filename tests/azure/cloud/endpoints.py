"""Finds what serves a call: resources of Azure Resource Manager, tokens, blobs."""
import fnmatch
import json
import re

import azure_catalog as catalog
import compute
import networking
from arm import Answer, Arm, Refused, not_found, parts
from blobs import Blobs
from identity import Identity

OPERATION = re.compile(r'/subscriptions/[^/]+(/providers/[^/]+/locations/[^/]+)?'
                       r'/(operations|DiskOperations|operationResults)/[^/]+', re.IGNORECASE)
KINDS = {kind.type.lower(): kind for kind in networking.KINDS + compute.KINDS}
NAMES = {name.lower(): name for name in (
    'Microsoft.Compute/skus', 'Microsoft.Compute/usages', 'Microsoft.Network/usages')}

NAMES_IN_ROLES = {'Microsoft.Resources/resourceGroups': 'Microsoft.Resources/subscriptions/resourceGroups',
                  'Microsoft.Compute/usages': 'Microsoft.Compute/locations/usages'}


class Target:
    """What a path of Azure Resource Manager names: a resource, a list, or an action on a resource."""

    def __init__(self, method, path):
        _, self.group, *rest = parts(path)
        namespace, chain = (rest[0], rest[1:]) if len(rest) > 1 else ('Microsoft.Resources', rest)
        self.location = None
        if chain and chain[0].lower() == 'locations' and len(chain) > 2:
            self.location, chain = chain[1].lower(), chain[2:]
        self.action = chain.pop() if method == 'POST' and len(chain) % 2 else None
        self.names = chain[1::2]
        if not chain:
            namespace, chain, self.names = 'Microsoft.Resources', ['resourceGroups'], [self.group][:bool(self.group)]
        self.is_list = len(chain) % 2 == 1 and not (chain == ['resourceGroups'] and self.group)
        type = '/'.join([namespace, *chain[::2]])
        self.kind = KINDS.get(type.lower())
        self.type = self.kind.type if self.kind else NAMES.get(type.lower(), type)
        self.namespace = self.type.split('/')[0]
        self.id = path[:-len(self.action) - 1] if self.action else path


class Azure:
    def __init__(self, directory):
        self.directory = directory
        self.arm = Arm()
        self.arm.kinds = KINDS
        self.arm.blobs = Blobs(directory)
        self.identity = Identity(directory, lambda: self.arm.settings)
        (directory / 'auth.json').write_text(json.dumps({
            'clientId': catalog.CLIENT, 'clientSecret': catalog.SECRET, 'subscriptionId': catalog.SUBSCRIPTION,
            'tenantId': catalog.TENANT}))
        self.seed()

    def reset(self):
        self.arm.reset()
        self.identity.tokens.clear()
        self.identity.federate()
        self.seed()

    def seed(self):
        """A group `nodepool` with a network that has a subnet `default`."""
        group = f'/subscriptions/{catalog.SUBSCRIPTION}/resourceGroups/nodepool'
        where = {'location': catalog.LOCATIONS[0]}
        networking.ResourceGroup().put(self.arm, group, {}, where, None)
        networking.VirtualNetwork().put(
            self.arm, f'{group}/providers/{networking.VirtualNetwork.type}/network', {'properties': {
                'addressSpace': {'addressPrefixes': ['127.30.0.0/16', 'fd00:30::/48']}, 'subnets': [
                    {'name': 'default', 'properties': {'addressPrefixes': ['127.30.0.0/20', 'fd00:30::/64']}}]}},
            where, None)
        for each in self.arm.resources.values():
            each.state = 'Succeeded'

    @staticmethod
    def name(request):
        """What kind of call it is: `list Microsoft.Compute/disks`, `POST token`, …"""
        path = request.path.lower()
        if path.startswith('/blob/'):
            return f'{request.method} blob'
        if not path.startswith('/subscriptions/'):
            return f'{request.method} {"metadata" if path.startswith("/metadata/") else "token"}'
        if OPERATION.fullmatch(request.path):
            return f'{request.method} operation'
        target = Target(request.method, request.path)
        verb = 'list' if request.method == 'GET' and target.is_list else request.method
        return f'{verb} {target.type}' + (f'/{target.action}' if target.action else '')

    def handle(self, request):
        """The answer."""
        path = request.path.lower()
        if path.startswith('/blob/'):
            return self.arm.blobs.handle(request)
        if path == '/metadata/identity/oauth2/token':
            return self.identity.metadata(request)
        if path.endswith(('/oauth2/token', '/oauth2/v2.0/token')):
            return self.identity.login(request)
        try:
            return self.manage(request)
        except Refused as refused:
            return Answer(refused.status, refused.body, refused.headers)

    def manage(self, request):
        self.identity.authorize(request)
        words = request.path.split('/')
        if len(words) < 3 or words[1].lower() != 'subscriptions' or words[2].lower() != catalog.SUBSCRIPTION:
            raise Refused(404, 'SubscriptionNotFound', f"The subscription '{''.join(words[2:3])}' could not be found.")
        name = self.name(request)
        if OPERATION.fullmatch(request.path):
            rates = self.arm.spend(request, name, 'operation')
            answer = self.arm.get_operation(request)
        else:
            target = Target(request.method, request.path)
            self.check_version(request, target)
            self.check_permission(name, request)
            rates = self.arm.spend(request, name, target.type)
            answer = self.call(request, target)
        answer.headers.update(rates)
        return answer

    @staticmethod
    def check_version(request, target):
        served = catalog.versions(target.type.lower())
        if request.version not in served:
            raise Refused(400, 'InvalidResourceType' if '/' not in target.type else 'NoRegisteredProviderFound',
                          f"No registered resource provider found for API version '{request.version}' for type "
                          f"'{target.type.split('/', 1)[1]}'. Supported api-versions: '{', '.join(sorted(served))}'.")

    def check_permission(self, name, request):
        verb, _, type = name.partition(' ')
        right = {'GET': 'read', 'list': 'read', 'DELETE': 'delete', 'POST': 'action'}.get(verb, 'write')
        needed = {f'{NAMES_IN_ROLES.get(type, type)}/{right}'}
        if name == f'PUT {compute.VirtualMachine.type}':
            needed |= compute.VirtualMachine.rights_for_parts(json.loads(request.body))
        if not request.headers.get('user-agent', '').startswith('Python-urllib'):  # the suite itself
            self.arm.actions |= needed
        for action in needed:
            if any(fnmatch.fnmatch(action.lower(), pattern.lower()) for pattern in self.arm.settings['denied']):
                raise Refused(403, 'AuthorizationFailed', f"The client '{catalog.CLIENT}' does not have authorization to "
                              f"perform action '{action}' over scope '{request.path}' or the scope is invalid.")

    def call(self, request, target):
        arm = self.arm
        if target.is_list and target.kind is None:
            return self.list_special(request, target)
        if target.kind is None:
            raise Refused(404, 'NotSimulated', f'The stand-in has no {target.type}.')
        group = f'/subscriptions/{catalog.SUBSCRIPTION}/resourceGroups/{target.group}' if target.group else None
        is_group = target.type == networking.ResourceGroup.type
        found = arm.find(group) if group else None
        if group and not is_group and found is None:
            raise Refused(404, 'ResourceGroupNotFound', f"Resource group '{target.group}' could not be found.")
        if target.is_list:
            parent = target.id.rsplit('/', 1)[0] if target.names else group or f'/subscriptions/{catalog.SUBSCRIPTION}'
            return arm.listed(request, target.kind.type, parent)
        resource = arm.find(target.id)
        if request.method == 'PUT':
            if not is_group and found.state == 'Deleting':
                raise target.kind.conflict(found)
            return arm.modify(request, target.kind, target.id, json.loads(request.body))
        if request.method == 'DELETE' and (resource or not is_group):
            return arm.delete(request, target.kind, target.id)
        if resource is None and is_group:
            raise Refused(404, 'ResourceGroupNotFound', f"Resource group '{target.group}' could not be found.")
        if resource is None:
            raise not_found(target.id)
        if request.method == 'GET' and '$expand' not in request.query:
            return Answer(200, arm.shown(resource))
        action = getattr(target.kind, f'post_{target.action}', None)
        if request.method != 'POST' or action is None:
            raise Refused(404, 'NotSimulated',
                          f'The stand-in has no {request.method} of {target.type} {request.target}.')
        operation = action(self.arm, request, resource, json.loads(request.body or b'{}'))
        if isinstance(operation, Answer):
            return operation
        return Answer(202, None, self.arm.links(request, operation, resource.body['location']))

    def list_special(self, request, target):
        if target.type == 'Microsoft.Compute/skus':
            wanted = re.fullmatch(r"location eq '(\w+)'", request.query.get('$filter', ''))
            return self.arm.page(request, [each for each in catalog.offered()
                                           if not wanted or wanted[1] in each['locations']])
        if target.type == 'Microsoft.Compute/usages':
            return self.arm.page(request, compute.usages(self.arm, target.location))
        if target.type == 'Microsoft.Network/usages':
            return self.arm.page(request, networking.usages(self.arm))
        raise Refused(404, 'NotSimulated', f'The stand-in has no list of {target.type}.')
