"""Resource groups, virtual networks, subnets, public IP addresses and network interfaces."""
import copy
import ipaddress
import uuid

from arm import Kind, Refused, not_found


def etag():
    return f'W/"{uuid.uuid4()}"'


class ResourceGroup(Kind):
    type = 'Microsoft.Resources/resourceGroups'
    form = 'group'
    delete_time = 'group'

    def put(self, arm, id, body, made, old):
        if old is None:
            return arm.add(id, self.type, {**made, 'properties': {'provisioningState': 'Succeeded'}}), None
        old.body.update(made)
        return old, None

    def removed(self, arm, group):
        for each in [each for each in arm.resources.values() if each.id.lower().startswith(group.id.lower() + '/')]:
            arm.remove(each)

    def conflict(self, group):
        return Refused(409, 'ResourceGroupBeingDeleted', f"The resource group '{group.body['name']}' is being deleted.")


class VirtualNetwork(Kind):
    type = 'Microsoft.Network/virtualNetworks'

    def put(self, arm, id, body, made, old):
        properties = body.get('properties', {})
        prefixes = properties.get('addressSpace', {}).get('addressPrefixes')
        if not prefixes:
            raise Refused(400, 'InvalidRequestFormat', 'A virtual network needs an address space.')
        network = old or arm.add(id, self.type, {'etag': etag(), 'properties': {
            'provisioningState': 'Updating', 'resourceGuid': str(uuid.uuid4()),
            'enableDdosProtection': False, 'virtualNetworkPeerings': []}})
        network.body.update(made)
        network.properties['addressSpace'] = {'addressPrefixes': prefixes}
        for subnet in properties.get('subnets', []):
            Subnet().put(arm, f'{id}/subnets/{subnet["name"]}', subnet, {}, None)
        return network, self.settle(arm, network, arm.settings['times']['network'])

    def shown(self, arm, network, body):
        body['properties']['subnets'] = [arm.shown(each) for each in self.subnets(arm, network)]
        return body

    def check_unused(self, arm, network):
        for subnet in self.subnets(arm, network):
            Subnet().check_unused(arm, subnet)

    def removed(self, arm, network):
        for subnet in self.subnets(arm, network):
            arm.remove(subnet)

    @staticmethod
    def subnets(arm, network):
        return [each for each in arm.of_type(Subnet.type) if each.id.lower().startswith(network.id.lower() + '/')]


class Subnet(Kind):
    type = 'Microsoft.Network/virtualNetworks/subnets'
    has_location = False

    def put(self, arm, id, body, made, old):
        network = arm.find(id.rsplit('/subnets/', 1)[0])
        if network is None:
            raise not_found(id.rsplit('/subnets/', 1)[0])
        given = body.get('properties', {})
        prefixes = given.get('addressPrefixes') or [given.get('addressPrefix')]
        space = [ipaddress.ip_network(each) for each in network.properties['addressSpace']['addressPrefixes']]
        for prefix in map(ipaddress.ip_network, prefixes):
            if not any(prefix.version == each.version and prefix.subnet_of(each) for each in space):
                raise Refused(400, 'NetcfgInvalidSubnet',
                              f"The subnet '{prefix}' is not in the network's address space.")
        shown = {'addressPrefixes': prefixes} if 'addressPrefixes' in given else {'addressPrefix': prefixes[0]}
        subnet = arm.add(id, self.type, {'etag': etag(), 'properties': {
            'provisioningState': 'Updating', **shown, 'delegations': [], 'privateEndpointNetworkPolicies': 'Disabled',
            'privateLinkServiceNetworkPolicies': 'Enabled'}})
        return subnet, self.settle(arm, subnet, arm.settings['times']['network'])

    def check_unused(self, arm, subnet):
        for interface in arm.of_type(NetworkInterface.type):
            for each in interface.properties['ipConfigurations']:
                if each['properties']['subnet']['id'].lower() == subnet.id.lower():
                    raise Refused(400, 'InUseSubnetCannotBeDeleted', f'The subnet {subnet.body["name"]} is in use by '
                                  f'{each["id"]} and cannot be deleted.')

    @staticmethod
    def free_address(arm, subnet, version):
        shown = subnet.properties
        prefixes = map(ipaddress.ip_network, shown.get('addressPrefixes') or [shown['addressPrefix']])
        prefix = next((each for each in prefixes if f'IPv{each.version}' == version), None)
        if prefix is None:
            raise Refused(400, 'InvalidIPConfiguration', f'The subnet {subnet.id} has no prefix of {version}.')
        used = {each['properties'].get('privateIPAddress') for interface in arm.of_type(NetworkInterface.type)
                for each in interface.properties['ipConfigurations']}
        return first_free(prefix, 4, used)  # Azure keeps the first four


class PublicIPAddress(Kind):
    type = 'Microsoft.Network/publicIPAddresses'

    def put(self, arm, id, body, made, old):
        given = copy.deepcopy(body.get('properties', {}))
        sku = body.get('sku', {}).get('name', 'Basic')
        if sku == 'Basic':
            raise Refused(400, 'BasicSkuPublicIPCannotBeCreated', 'Azure has withdrawn the SKU Basic.')
        if given.get('publicIPAllocationMethod', 'Dynamic') != 'Static':
            raise Refused(400, 'StandardSkuPublicIPMustBeStatic',
                          f'{id}: an address of the SKU Standard must be Static.')
        if old:
            old.body.update(made)
            return old, self.settle(arm, old, 0)
        quota, there = arm.settings['quotas'], arm.of_type(self.type)
        limit = min(quota['PublicIPAddresses'], quota['StandardSkuPublicIpAddresses'])
        if len(there) >= limit:
            raise Refused(400, 'PublicIPCountLimitReached',
                          f'Cannot create more than {limit} public IP addresses in this region.')
        address = arm.add(id, self.type, {**made, 'etag': etag(), 'sku': {'name': sku, 'tier': 'Regional'},
                                          'properties': {
            'provisioningState': 'Updating', 'resourceGuid': str(uuid.uuid4()), 'publicIPAddressVersion': 'IPv4',
            'idleTimeoutInMinutes': 4, 'ipTags': [], **given}})
        if 'zones' in body:
            address.body['zones'] = body['zones']

        def assign():
            version = address.properties['publicIPAddressVersion'][-1]
            prefix = next(each for each in map(ipaddress.ip_network, arm.settings['public_addresses'])
                          if str(each.version) == version)
            address.properties['ipAddress'] = first_free(
                prefix, 10, {each.properties.get('ipAddress') for each in arm.of_type(self.type)})
        arm.later(arm.settings['times']['network'] + arm.settings['times']['address'], assign)
        return address, self.settle(arm, address, arm.settings['times']['network'])

    def check_unused(self, arm, address):
        if user := address.properties.get('ipConfiguration'):
            raise Refused(400, 'PublicIPAddressCannotBeDeleted',
                          f'{address.id} can not be deleted since it is still allocated to {user["id"]}.')


class NetworkInterface(Kind):
    type = 'Microsoft.Network/networkInterfaces'

    def put(self, arm, id, body, made, old):
        given = body.get('properties', {})
        if old:
            if old.request.get('properties') != given:
                raise Refused(400, 'NotSimulated', 'The stand-in does not change network interfaces.')
            old.body.update(made)
            return old, self.settle(arm, old, 0)
        if not given.get('ipConfigurations'):
            raise Refused(400, 'NetworkInterfaceMustHaveIpConfiguration', f'{id} has no IP configuration.')
        interface = arm.add(id, self.type, {**made, 'kind': 'Regular', 'etag': etag(), 'properties': {
            'provisioningState': 'Succeeded', 'resourceGuid': str(uuid.uuid4()), 'ipConfigurations': [],
            'dnsSettings': {'dnsServers': [], 'appliedDnsServers': []}, 'enableAcceleratedNetworking': False,
            'enableIPForwarding': False, 'hostedWorkloads': [], 'tapConfigurations': [], 'nicType': 'Standard',
            'allowPort25Out': True}}, request=body)  # Azure sends `kind` and `allowPort25Out`, which its model lacks
        try:
            self.configure(arm, interface, given['ipConfigurations'])
        except Refused:
            arm.remove(interface)
            raise
        return interface, self.settle(arm, interface, arm.settings['times']['network'])

    def configure(self, arm, interface, configurations):
        for index, each in enumerate(copy.deepcopy(configurations)):
            given = each['properties']
            subnet_id = given.get('subnet', {}).get('id', '')
            subnet = arm.find(subnet_id)
            public = arm.find(given['publicIPAddress']['id']) if 'publicIPAddress' in given else None
            if subnet is None or 'publicIPAddress' in given and public is None:
                missing = subnet_id if subnet is None else given['publicIPAddress']['id']
                raise Refused(400, 'InvalidResourceReference',
                              f'Resource {missing} referenced by resource {interface.id} was not found.')
            id = f'{interface.id}/ipConfigurations/{each["name"]}'
            if public:
                if user := public.properties.get('ipConfiguration'):
                    raise Refused(400, 'PublicIPAddressInUse', f'{id}: {public.id} is already in use by {user["id"]}.')
                public.properties['ipConfiguration'] = {'id': id}
            version = given.get('privateIPAddressVersion', 'IPv4')
            interface.properties['ipConfigurations'].append({
                'name': each['name'], 'id': id, 'etag': interface.body['etag'],
                'type': 'Microsoft.Network/networkInterfaces/ipConfigurations', 'properties': {
                    'provisioningState': 'Succeeded', 'privateIPAllocationMethod': 'Dynamic',
                    'privateIPAddress': Subnet.free_address(arm, subnet, version), 'privateIPAddressVersion': version,
                    'subnet': {'id': subnet.id}, 'primary': given.get('primary', index == 0),
                    **({'publicIPAddress': {'id': public.id}} if public else {})}})

    def attach(self, arm, interface, machine, is_primary=True):
        interface.properties.update(virtualMachine={'id': machine.id}, primary=is_primary)

    def check_unused(self, arm, interface):
        if user := interface.properties.get('virtualMachine'):
            raise Refused(400, 'NicInUse',
                          f'Network Interface {interface.id} is used by existing resource {user["id"]}.')

    def removed(self, arm, interface):
        for address in self.addresses(arm, interface):
            address.properties.pop('ipConfiguration', None)
            if address.properties.get('deleteOption') == 'Delete':
                address.state = 'Deleting'
                arm.later(arm.settings['times']['dependents'], lambda address=address: arm.remove(address))

    @staticmethod
    def addresses(arm, interface):
        ids = [each['properties'].get('publicIPAddress', {}).get('id', '')
               for each in interface.properties['ipConfigurations']]
        return [address for id in ids if (address := arm.find(id))]

    # --- of a machine's configuration

    def make(self, arm, machine, name, given):
        """An interface as a machine's networkInterfaceConfigurations describe it. Names end in something random."""
        place = machine.id.split('/providers/')[0] + '/providers/'
        location = {'location': machine.body['location']}
        configurations = []
        for each in copy.deepcopy(given['ipConfigurations']):
            if public := each['properties'].pop('publicIPAddressConfiguration', None):
                version = each['properties'].get('privateIPAddressVersion', 'IPv4')
                properties = {'publicIPAddressVersion': version, **public.get('properties', {})}
                id = f'{place}{PublicIPAddress.type}/{public["name"]}-{uuid.uuid4().hex[:8]}'
                body = {'sku': public.get('sku', {}), 'properties': properties}
                PublicIPAddress().put(arm, id, body, {**location, **tags_of(public)}, None)
                each['properties']['publicIPAddress'] = {'id': id}
            configurations.append(each)
        id = f'{place}{self.type}/{name}-{uuid.uuid4().hex[:8]}'
        interface, _ = self.put(arm, id, {'properties': {'ipConfigurations': configurations}},
                                {**location, **tags_of(given)}, None)
        for each in interface.properties['ipConfigurations']:
            if public := each['properties'].get('publicIPAddress'):
                interface.private[public['id']] = True
        self.attach(arm, interface, machine, given.get('primary', True))
        return interface

    def shown(self, arm, interface, body):
        """Public addresses that were made for a machine are shown with their properties, others by their ids."""
        for each in body['properties']['ipConfigurations']:
            public = each['properties'].get('publicIPAddress')
            address = public and arm.find(public['id'])
            if address and public['id'] in interface.private and arm.settings['public_ip_in_interface'] == 'whole':
                fields = ('provisioningState', 'publicIPAddressVersion', 'publicIPAllocationMethod', 'deleteOption')
                public.update({name: address.body[name] for name in ('name', 'type', 'sku')}, properties={
                    name: address.properties[name] for name in fields if name in address.properties})
        return body


def tags_of(given):
    return {'tags': given['tags']} if 'tags' in given else {}


def first_free(prefix, first, used):
    for index in range(first, min(prefix.num_addresses, 1 << 16)):
        if (address := str(prefix[index])) not in used:
            return address
    raise Refused(400, 'SubnetIsFull', f'{prefix} has no free address.')


def usages(arm):
    counted = {'VirtualNetworks': (VirtualNetwork.type, 'Virtual Networks', 1000),
               'NetworkInterfaces': (NetworkInterface.type, 'Network Interfaces', None),
               'PublicIPAddresses': (PublicIPAddress.type, 'Public IP Addresses', None),
               'StandardSkuPublicIpAddresses': (PublicIPAddress.type, 'Public IP Addresses - Standard', None)}
    return [{'unit': 'Count', 'currentValue': len(arm.of_type(type)), 'limit': limit or arm.settings['quotas'][name],
             'name': {'value': name, 'localizedValue': text}} for name, (type, text, limit) in counted.items()]


KINDS = [ResourceGroup(), VirtualNetwork(), Subnet(), PublicIPAddress(), NetworkInterface()]
