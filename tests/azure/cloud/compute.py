"""Virtual machines, disks, images, and galleries."""
import base64
import binascii
import copy
import re
import urllib.request
import uuid

import azure_catalog as catalog
from arm import Answer, Kind, Refused, not_found, timestamp
from networking import NetworkInterface, PublicIPAddress

GIB = 1 << 30
SMALLEST_UPLOAD, FOOTER = 20972032, 512


def invalid(message, target=None, code='InvalidParameter', status=400):
    return Refused(status, code, message, target=target)


class ComputeKind(Kind):
    form = 'Microsoft.Compute'

    def conflict(self, resource):
        return Refused(409, 'Conflict', f'The request for {resource.id} conflicts with a concurrent request.')


class VirtualMachine(ComputeKind):
    type = 'Microsoft.Compute/virtualMachines'
    delete_time = 'vm_delete'
    shown_as_given = ('priority', 'evictionPolicy', 'billingProfile', 'diagnosticsProfile', 'securityProfile')

    def put(self, arm, id, body, made, old):
        if old:
            self.check_unchanged(old, body)
            old.body.update(made)
            if old.state != 'Failed':  # the same again, perhaps while it is made
                return old, old.operation
            old.state = 'Updating'
            return old, self.settle(arm, old, arm.settings['times']['vm'], lambda: self.allocate(arm, old))
        given = copy.deepcopy(body.get('properties') or {})
        name = id.rsplit('/', 1)[1]
        if not re.fullmatch(r'[A-Za-z0-9]([\w.-]{0,62}[A-Za-z0-9_])?', name):
            raise invalid(f"'{name}' is no valid name of a virtual machine.", 'vmName', 'InvalidResourceName')
        known = {'hardwareProfile', 'osProfile', 'storageProfile', 'networkProfile', 'userData', *self.shown_as_given}
        if unknown := set(given) - known or 'dataDisks' in given.get('storageProfile', {}):
            raise invalid(f'The stand-in has no machines with {unknown} or data disks.', code='NotSimulated')
        size = self.check_size(given, made['location'], body.get('zones', []), id)
        reference = (given.get('storageProfile') or {}).get('imageReference') or {}
        is_windows = reference.get('publisher', '').lower() == catalog.WINDOWS
        system = self.check_system(given.get('osProfile') or {}, is_windows)
        least = self.check_image(arm, given, made['location'], size)
        self.check_network(arm, given)
        self.check_quota(arm, size, given.get('priority') == 'Spot', made['location'])
        disk = given['storageProfile'].get('osDisk') or {}
        if disk.get('diskSizeGB', least) < least:
            raise invalid(f'The disk size {disk["diskSizeGB"]} GB is smaller than that of the image, {least} GB.',
                          'osDisk.diskSizeGB', 'ResizeDiskError')
        interfaces = [{'id': each['id'], 'properties': each.get('properties', {'primary': True})}
                      for each in given['networkProfile'].get('networkInterfaces', [])]
        zones = {'zones': body['zones']} if body.get('zones') else {}
        machine = arm.add(id, self.type, {**made, **zones, 'properties': {
            'vmId': str(uuid.uuid4()), 'hardwareProfile': given['hardwareProfile'],
            'storageProfile': {'imageReference': given['storageProfile']['imageReference'], 'dataDisks': [], 'osDisk': {
                'osType': 'Windows' if is_windows else 'Linux', 'name': f'{name}_OsDisk_1_{uuid.uuid4().hex}', 'caching': 'ReadWrite',
                'deleteOption': 'Detach', 'diskSizeGB': least, **disk,
                'managedDisk': {'storageAccountType': 'Standard_LRS', **disk.get('managedDisk', {})}}},
            'osProfile': system, 'networkProfile': {'networkInterfaces': interfaces} if interfaces
            else given['networkProfile'], 'provisioningState': 'Creating', 'timeCreated': timestamp(),
            **{key: given[key] for key in self.shown_as_given if key in given}}}, request=body)
        machine.private.update(size=size, power='running', password=given['osProfile'].get('adminPassword'))
        for each in interfaces:
            NetworkInterface().attach(arm, arm.find(each['id']), machine, each['properties'].get('primary', True))
        arm.later(arm.settings['times']['interface'], lambda: self.make_parts(arm, machine, given))
        return machine, self.settle(arm, machine, arm.settings['times']['vm'], lambda: self.allocate(arm, machine))

    @staticmethod
    def check_unchanged(old, body):
        before, now = old.request['properties'], body.get('properties', {})
        for key in sorted(set(before) | set(now)):
            if before.get(key) != now.get(key):
                raise invalid(f"Changing property '{key}' is not allowed.", key, 'PropertyChangeNotAllowed', 409)

    @staticmethod
    def check_size(given, location, zones, id):
        name = given.get('hardwareProfile', {}).get('vmSize', '')
        size = catalog.SIZES.get((name.lower(), location))
        if size is None:
            raise invalid(f'The value {name} provided for the VM size is not valid.', 'vmSize')
        if unknown := set(zones) - set(size['locationInfo'][0]['zones']):
            raise invalid(f'The zones {sorted(unknown)} are not supported for {name} in {location}.', 'zones',
                          'InvalidAvailabilityZone')
        if any(each['type'] == 'Location' for each in size['restrictions']):
            raise invalid(f"The requested size for resource '{id}' is currently not available in location '{location}' "
                          f"zones '{','.join(zones)}' for subscription '{catalog.SUBSCRIPTION}'.",
                          code='SkuNotAvailable', status=409)
        if given.get('priority') == 'Spot' and catalog.capability(size, 'LowPriorityCapable') != 'True':
            raise invalid(f'The size {name} is not available as Spot.', 'priority', 'OperationNotAllowed', 409)
        return size

    @staticmethod
    def check_system(given, is_windows):
        """What an answer shows of the operating system."""
        if is_windows:
            if 'linuxConfiguration' in given or not given.get('adminPassword') or len(given['computerName']) > 15:
                raise invalid('Windows needs a password and a name of at most 15 characters, and has no keys.', 'osProfile')
        user, linux = given.get('adminUsername'), given.get('linuxConfiguration') or {}
        keys, password = (linux.get('ssh') or {}).get('publicKeys', []), given.get('adminPassword')
        if not user or not given.get('computerName'):
            raise invalid('osProfile needs a computerName and an adminUsername.', 'osProfile')
        if user.lower() in ('root', 'admin', 'administrator', 'user', 'test', 'guest') or not user.islower():
            raise invalid(f"The admin user name '{user}' is not allowed.", 'adminUsername')
        if len(given['computerName']) > 64 or not re.fullmatch(r'[A-Za-z0-9][\w.-]*', given['computerName']):
            raise invalid('Linux host names have at most 64 characters.', 'computerName')
        if not password and not keys or not password and not linux.get('disablePasswordAuthentication', False):
            raise invalid("Login needs a key, with 'disablePasswordAuthentication', or a password.", 'osProfile')
        if password and (not 6 <= len(password) <= 72 or sum(
                bool(re.search(kind, password)) for kind in ('[a-z]', '[A-Z]', '[0-9]', r'[\W_]')) < 3):
            raise invalid('The password has not 6 to 72 characters of 3 kinds.', 'adminPassword')
        for key in keys:
            if key.get('path') != f'/home/{user}/.ssh/authorized_keys':
                raise invalid(
                    f'The path of an SSH key can only be /home/{user}/.ssh/authorized_keys.', 'ssh.publicKeys.path')
            words = key.get('keyData', '').split()
            if len(words) < 2 or words[0] not in ('ssh-rsa', 'ssh-ed25519') or not decodes(words[1], words[0]):
                raise invalid('An SSH key is not valid.', 'linuxConfiguration.ssh.publicKeys.keyData')
        if not decodes(given.get('customData', '')) or len(given.get('customData', '')) > 87380:
            raise invalid('Custom data must be in Base64 encoding, with at most 87380 characters.', 'customData')
        shown = {key: value for key, value in given.items() if key not in ('adminPassword', 'customData')}
        system = {'windowsConfiguration': {'provisionVMAgent': True, 'enableAutomaticUpdates': True}} if is_windows else {
            'linuxConfiguration': {**linux, 'provisionVMAgent': True}}
        return {**shown, **system, 'secrets': [],
                'allowExtensionOperations': True, 'requireGuestProvisionSignal': True}

    @staticmethod
    def check_image(arm, given, location, size):
        """The least size of a disk with it, in GB."""
        if not decodes(given.get('userData', '')):
            raise invalid('User data must be in Base64 encoding.', 'userData')
        reference = (given.get('storageProfile') or {}).get('imageReference') or {}
        if reference.get('publisher'):
            key = tuple(str(reference.get(name, '')).lower() for name in ('publisher', 'offer', 'sku'))
            if key not in catalog.PLATFORM_IMAGES or not reference.get('version'):
                raise invalid(f"The platform image '{':'.join(key)}' is not available.", 'imageReference',
                              'PlatformImageNotFound', 404)
            return 30
        galleries = {'communityGalleryImageId': catalog.COMMUNITY, 'sharedGalleryImageId': catalog.SHARED}
        for field, offered in galleries.items():
            if id := reference.get(field):
                words = id.strip('/').split('/')
                versions = offered.get(words[1], {}).get(words[3]) if len(words) in (4, 6) else None
                if words[0].lower() != field.removesuffix('GalleryImageId').lower() + 'galleries' or not versions or (
                        len(words) == 6 and words[5] != 'latest' and words[5] not in versions):
                    raise invalid(f'The gallery image {id} is not available in {location} region.', 'imageReference',
                                  'GalleryImageNotFound', 404)
                return 30
        image = arm.find(reference.get('id', ''))
        if image is None:
            raise not_found(reference['id']) if reference.get('id') else invalid('No image is given.', 'imageReference')
        if image.body['location'] != location:
            raise invalid(f'The image {image.id} is in another location than {location}.', 'imageReference')
        generation = image.properties.get('hyperVGeneration', 'V1')
        if generation not in catalog.capability(size, 'HyperVGenerations').split(','):
            raise invalid(f"The selected VM size '{size['name']}' cannot boot Hypervisor Generation '{generation[1]}'.",
                          code='BadRequest')
        if image.state != 'Succeeded' and image.body['type'] == Image.type:
            raise Refused(409, 'OperationNotAllowed', f'The image {image.id} is in the state {image.state}.')
        return image.properties.get('storageProfile', {}).get('osDisk', {}).get('diskSizeGB', 30)

    @staticmethod
    def check_network(arm, given):
        profile = given.get('networkProfile') or {}
        if bool(profile.get('networkInterfaces')) == bool(profile.get('networkInterfaceConfigurations')):
            raise invalid('networkProfile needs either interfaces or their configurations.', 'networkProfile')
        if profile.get('networkInterfaceConfigurations') and not profile.get('networkApiVersion'):
            raise invalid('networkApiVersion is needed for networkInterfaceConfigurations.', 'networkProfile')
        for each in profile.get('networkInterfaces', []):
            interface = arm.find(each['id'])
            if interface is None:
                raise not_found(each['id'])
            if user := interface.properties.get('virtualMachine'):
                raise invalid(f'The interface {each["id"]} is in use by {user["id"]}.', 'networkInterfaces', 'NicInUse')
        for each in profile.get('networkInterfaceConfigurations', []):
            for configuration in each['properties']['ipConfigurations']:
                subnet = configuration['properties'].get('subnet', {}).get('id', '')
                if arm.find(subnet) is None:
                    raise Refused(400, 'InvalidResourceReference',
                                  f'Resource {subnet} referenced by {each["name"]} was not found.')

    def check_quota(self, arm, size, is_spot, location):
        cores, used = int(catalog.capability(size, 'vCPUs')), usage(arm, location)
        needs = {'virtualMachines': 1, **({'lowPriorityCores': cores} if is_spot else {
            'cores': cores, size['family']: cores})}
        names = {'cores': 'Total Regional Cores', 'lowPriorityCores': 'LowPriorityCores',
                 'virtualMachines': 'Virtual Machines'}
        for quota, need in needs.items():
            limit = arm.settings['quotas'].get(quota, arm.settings['quotas']['family'])
            if used.get(quota, 0) + need > limit:
                raise Refused(409, 'OperationNotAllowed', 'Operation could not be completed as it results in exceeding '
                              f'approved {names.get(quota, quota + " Cores")} quota. Additional details - Deployment '
                              f'Model: Resource Manager, Location: {location}, Current Limit: {limit}, Current Usage: '
                              f'{used.get(quota, 0)}, Additional Required: {need}, (Minimum) New Limit Required: '
                              f'{used.get(quota, 0) + need}.')

    @staticmethod
    def rights_for_parts(body):
        """The permissions for what Azure makes with a machine, or attaches to it."""
        needed, given = set(), body.get('properties', {})
        for each in given.get('networkProfile', {}).get('networkInterfaceConfigurations', []):
            needed |= {f'{NetworkInterface.type}/{right}' for right in ('write', 'join/action')}
            for configuration in each['properties']['ipConfigurations']:
                needed.add('Microsoft.Network/virtualNetworks/subnets/join/action')
                if 'publicIPAddressConfiguration' in configuration['properties']:
                    needed |= {f'{PublicIPAddress.type}/{right}' for right in ('write', 'join/action')}
        if 'id' in given.get('storageProfile', {}).get('imageReference', {}):
            needed.add(f'{Image.type}/read')
        return needed

    def post_retrieveBootDiagnosticsData(self, arm, request, machine, body):
        if not machine.properties.get('diagnosticsProfile', {}).get('bootDiagnostics', {}).get('enabled'):
            raise Refused(409, 'BootDiagnosticsNotEnabled', f'Boot diagnostics are off for {machine.body["name"]}.')
        log = arm.blobs.create(f'console-{uuid.uuid4()}', 0)
        log.write_text(machine.private.get('console', ''))
        return Answer(200, {'consoleScreenshotBlobUri': arm.blobs.grant(request.base, log, 7200),
                            'serialConsoleLogBlobUri': arm.blobs.grant(request.base, log, 7200)})

    def with_status(self, machine, body):
        """As the subscription's list of states has it."""
        states = [f'ProvisioningState/{machine.state.lower()}', f'PowerState/{machine.private["power"]}']
        body['properties']['instanceView'] = {'statuses': [
            {'code': code, 'level': 'Info', 'displayStatus': code} for code in states]}
        return body

    def make_parts(self, arm, machine, given):
        """Interfaces, addresses and the disk, before the machine runs."""
        if arm.find(machine.id) is not machine or machine.state == 'Deleting':
            return
        try:
            for each in given['networkProfile'].get('networkInterfaceConfigurations', []):
                interface = NetworkInterface().make(arm, machine, each['name'], each['properties'])
                machine.properties['networkProfile'] = {'networkInterfaces': [
                    *machine.properties['networkProfile'].get('networkInterfaces', []), {
                        'id': interface.id, 'properties': {'primary': each['properties'].get('primary', True), **{
                            key: each['properties'][key] for key in ('deleteOption',) if key in each['properties']}}}]}
        except Refused as refused:
            machine.private['failure'] = refused
            return
        disk = machine.properties['storageProfile']['osDisk']
        id = machine.id.split('/providers/')[0] + f'/providers/{Disk.type}/{disk["name"]}'
        size = disk['diskSizeGB']
        arm.add(id, Disk.type, {'location': machine.body['location'], 'managedBy': machine.id, 'sku': {
            'name': disk['managedDisk']['storageAccountType'], 'tier': 'Standard'}, 'properties': {
                'osType': 'Linux', 'creationData': {'createOption': 'FromImage', 'imageReference': {
                    'id': machine.properties['storageProfile']['imageReference'].get('id', '/subscriptions/others')}},
                'diskSizeGB': size, 'diskSizeBytes': size * GIB, 'diskState': 'Attached', 'uniqueId': str(uuid.uuid4()),
                'timeCreated': timestamp(), 'provisioningState': 'Succeeded'}})
        disk['managedDisk']['id'] = id

    @staticmethod
    def allocate(arm, machine):
        if failure := machine.private.pop('failure', None):
            raise failure
        for each in arm.allocation_failures:
            if each.get('size') in (None, machine.properties['hardwareProfile']['vmSize']) and each['times'] > 0:
                each['times'] -= 1
                machine.private['unallocated'] = True
                raise Refused(409, each.get('code', 'AllocationFailed'),
                              'There is not sufficient capacity for the requested VM size in this region.')
        machine.private.pop('unallocated', None)

    def removed(self, arm, machine):
        later = arm.settings['times']['dependents']
        for each in machine.properties['networkProfile'].get('networkInterfaces', []):
            if interface := arm.find(each['id']):
                interface.properties.pop('virtualMachine', None)
                if each['properties'].get('deleteOption') == 'Delete':
                    arm.later(later, lambda interface=interface: (
                        NetworkInterface().removed(arm, interface), arm.remove(interface)))
        disk = machine.properties['storageProfile']['osDisk']
        if os_disk := arm.find(disk['managedDisk'].get('id', '')):
            os_disk.body.pop('managedBy')
            os_disk.properties['diskState'] = 'Unattached'
            if disk['deleteOption'] == 'Delete':
                arm.later(later, lambda: arm.remove(os_disk))


class Disk(ComputeKind):
    type = 'Microsoft.Compute/disks'
    form = 'disk'
    created = 202
    delete_time = 'disk'

    def put(self, arm, id, body, made, old):
        given = body.get('properties', {})
        creation = given.get('creationData', {})
        size = creation.get('uploadSizeBytes', given.get('diskSizeGB', 0) * GIB)
        if old:
            if old.request['properties'] != given:
                raise invalid("Changing property 'creationData' is not allowed.",
                              'creationData', 'PropertyChangeNotAllowed', 409)
            old.body.update(made)
            return old, self.settle(arm, old, 0)
        if creation.get('createOption') == 'Upload' and (size < SMALLEST_UPLOAD or size % 512):
            raise invalid(
                f'uploadSizeBytes must be at least {SMALLEST_UPLOAD}, and a multiple of 512.', 'uploadSizeBytes')
        if creation.get('createOption') not in ('Upload', 'Empty') or not size:
            raise invalid('The stand-in has no disks but uploaded and empty ones, which have a size.', 'createOption')
        disk = arm.add(id, self.type, {**made, 'sku': body.get('sku', {'name': 'Standard_LRS'}), 'properties': {
            'creationData': creation, 'provisioningState': 'Updating',
            **{key: given[key] for key in ('hyperVGeneration', 'osType', 'diskSizeGB') if key in given}}}, request=body)

        def finish():
            is_upload = creation['createOption'] == 'Upload'
            if is_upload:
                disk.private['file'] = arm.blobs.create(f'disk-{uuid.uuid4()}', size)
            disk.properties.update(diskState='ReadyToUpload' if is_upload else 'Unattached', uniqueId=str(uuid.uuid4()),
                                   timeCreated=timestamp(), diskSizeBytes=size - FOOTER * is_upload,
                                   diskSizeGB=-(-(size - FOOTER * is_upload) // GIB))
        return disk, self.settle(arm, disk, arm.settings['times']['disk'], finish)

    def check_unused(self, arm, disk):
        if user := disk.body.get('managedBy'):
            raise Refused(409, 'OperationNotAllowed', f'Disk {disk.body["name"]} is attached to VM {user}.')
        if arm.blobs.is_granted(disk.private.get('file')):
            raise Refused(409, 'OperationNotAllowed',
                          f'Disk {disk.body["name"]} has an active shared access signature.')

    def post_beginGetAccess(self, arm, request, disk, body):
        state = disk.properties.get('diskState')
        if state not in ('ReadyToUpload', 'ActiveUpload') or body.get('access') != 'Write':
            raise Refused(409, 'OperationNotAllowed', f'Disk {disk.body["name"]} is in the state {state}.')

        def grant():
            disk.properties['diskState'] = 'ActiveUpload'
            own = arm.blobs.grant(request.base, disk.private['file'], body['durationInSeconds'])
            return {'accessSAS': arm.settings['upload'] or own}
        return arm.operation(arm.settings['times']['disk'], 'disk', grant)

    def post_endGetAccess(self, arm, request, disk, body):
        def revoke():
            arm.blobs.revoke(disk.private.get('file'))
            if disk.properties['diskState'] == 'ActiveUpload':
                if url := arm.settings['upload']:
                    urllib.request.urlretrieve(url, disk.private['file'])
                check_vhd(disk.private['file'])
                disk.properties['diskState'] = 'Unattached'
        return arm.operation(arm.settings['times']['disk'], 'disk', revoke)

    def removed(self, arm, disk):
        if file := disk.private.get('file'):
            arm.blobs.revoke(file)
            file.unlink()


class Image(ComputeKind):
    type = 'Microsoft.Compute/images'
    delete_time = 'image'

    def put(self, arm, id, body, made, old):
        given = copy.deepcopy(body.get('properties', {}))
        if old and old.state != 'Failed':
            if old.request['properties'] != given:
                raise invalid("Changing property 'storageProfile' is not allowed.",
                              None, 'PropertyChangeNotAllowed', 409)
            old.body.update(made)
            return old, self.settle(arm, old, 0)
        os_disk = given.get('storageProfile', {}).get('osDisk', {})
        disk = arm.find(os_disk.get('managedDisk', {}).get('id', ''))
        if disk is None:
            raise not_found(os_disk['managedDisk']['id']) if 'managedDisk' in os_disk else invalid('No disk is given.')
        if not os_disk.get('osType') or os_disk.get('osState') != 'Generalized':
            raise invalid('osDisk needs an osType, and the osState Generalized.', 'osDisk')
        if disk.properties.get('diskState') != 'Unattached':
            raise Refused(409, 'OperationNotAllowed',
                          f'Disk {disk.id} is in the state {disk.properties.get("diskState")}.')
        image = arm.add(id, self.type, {**made, 'properties': {
            'hyperVGeneration': 'V1', **given, 'provisioningState': 'Creating', 'storageProfile': {
                'dataDisks': [], **given['storageProfile'], 'osDisk': {
                    'caching': 'None', 'storageAccountType': 'Standard_LRS', **os_disk}}}}, request=body)

        def finish():
            image.properties['storageProfile']['osDisk']['diskSizeGB'] = disk.properties['diskSizeGB']
        return image, self.settle(arm, image, arm.settings['times']['image'], finish)


def check_vhd(path):
    """Raises Refused if the file is no fixed VHD, of whole MiB and a footer."""
    size = path.stat().st_size - FOOTER
    with path.open('rb') as file:
        file.seek(size)
        footer = file.read()
    if footer[:8] != b'conectix' or int.from_bytes(footer[60:64], 'big') != 2:
        raise Refused(409, 'InvalidVhd', 'The blob has not the footer of a fixed VHD.')
    if size % (1 << 20) or int.from_bytes(footer[48:56], 'big') != size:
        raise Refused(409, 'InvalidVhd', f'The {size} bytes of a VHD are not whole MiB, or not those of its footer.')


def decodes(text, contained=''):
    """Whether it is base64, of something that contains the text."""
    try:
        return contained.encode() in base64.b64decode(text, validate=True)
    except binascii.Error:
        return False


def usage(arm, location):
    found = {'virtualMachines': 0, 'cores': 0, 'lowPriorityCores': 0}
    for machine in arm.of_type(VirtualMachine.type):
        if machine.body['location'] == location and 'unallocated' not in machine.private:
            size = machine.private['size']
            found['virtualMachines'] += 1
            is_spot = machine.properties.get('priority') == 'Spot'
            for name in ('lowPriorityCores',) if is_spot else ('cores', size['family']):
                found[name] = found.get(name, 0) + int(catalog.capability(size, 'vCPUs'))
    return found


def usages(arm, location):
    quotas, used = arm.settings['quotas'], usage(arm, location)
    families = sorted({size['family'] for size in catalog.SIZES.values()})
    names = ['cores', 'virtualMachines', 'lowPriorityCores', *families]
    rows = [(name, used.get(name, 0), quotas.get(name, quotas['family'])) for name in names]
    rows.append(('StandardDiskCount', len(arm.of_type(Disk.type)), quotas['StandardDiskCount']))
    return [{'unit': 'Count', 'currentValue': count, 'limit': limit, 'name': {'value': name, 'localizedValue': name}}
            for name, count, limit in rows]


KINDS = [VirtualMachine(), Disk(), Image()]
