"""What the simulated Azure offers: api-versions, locations, sizes of machines, images of others."""

SUBSCRIPTION = '5ab5c21f-9e4b-4f0c-8c1e-7a2f6d0b0001'
TENANT = '5ab5c21f-9e4b-4f0c-8c1e-7a2f6d0b0002'
CLIENT = '5ab5c21f-9e4b-4f0c-8c1e-7a2f6d0b0003'
SECRET = 'of~the~suite'

LOCATIONS = ('westeurope', 'northeurope')

# Those that the Python Nodepool sends, and some that Azure serves today. A type without an entry has its provider's.
VERSIONS = {
    'microsoft.compute': {'2020-12-01', '2022-11-01', '2023-03-01', '2023-09-01', '2024-03-01', '2024-07-01',
                          '2024-11-01', '2025-04-01'},
    'microsoft.compute/disks': {'2020-06-30', '2023-04-02', '2023-10-02', '2024-03-02', '2025-01-02'},
    'microsoft.compute/skus': {'2019-04-01', '2021-07-01'},
    'microsoft.network': {'2020-07-01', '2020-11-01', '2022-11-01', '2023-09-01', '2024-05-01'},
    'microsoft.resources': {'2020-06-01', '2021-04-01', '2022-09-01', '2024-03-01'},
}


def versions(kind):
    """The api-versions of a type, named in lower case."""
    return VERSIONS.get(kind) or VERSIONS[kind.split('/')[0]]


def sku(name, family, cores, memory, generations='V1,V2', spot='True', zones=('1', '2', '3'), restrictions=(),
        location='westeurope'):
    capabilities = {'vCPUs': cores, 'MemoryGB': memory, 'HyperVGenerations': generations, 'LowPriorityCapable': spot,
                    'CpuArchitectureType': 'Arm64' if 'p' in name else 'x64', 'vCPUsAvailable': cores}
    return {'resourceType': 'virtualMachines', 'name': name, 'tier': 'Standard', 'size': name.removeprefix('Standard_'),
            'family': family, 'locations': [location],
            'locationInfo': [{'location': location, 'zones': list(zones), 'zoneDetails': []}],
            'capabilities': [{'name': key, 'value': str(value)} for key, value in capabilities.items()],
            'restrictions': list(restrictions)}


def restriction(what, location, zones=()):
    return {'type': what, 'values': [location], 'reasonCode': 'NotAvailableForSubscription',
            'restrictionInfo': {'locations': [location], **({'zones': list(zones)} if zones else {})}}


def offered():
    """The answer to the question for SKUs. Some are no machines, and one name is listed for each location."""
    found = [
        {'resourceType': 'availabilitySets', 'name': 'Classic', 'locations': ['westeurope'], 'locationInfo': [
            {'location': 'westeurope', 'zones': [], 'zoneDetails': []}],
         'capabilities': [{'name': 'MaximumPlatformFaultDomainCount', 'value': '3'}], 'restrictions': []},
        {'resourceType': 'snapshots', 'name': 'Standard_LRS', 'tier': 'Standard', 'locations': ['westeurope'],
         'locationInfo': [{'location': 'westeurope', 'zones': [], 'zoneDetails': []}], 'restrictions': []}]
    for location in LOCATIONS:
        # The sizes of tests: small, large, another family, only of the first generation, and not for this subscription.
        found += [sku('Standard_D2s_v3', 'standardDSv3Family', 2, 8, location=location),
                  sku('Standard_D4s_v3', 'standardDSv3Family', 4, 16, location=location),
                  sku('Standard_B1s', 'standardBSFamily', 1, 1, spot='False', location=location),
                  sku('Standard_D2ps_v5', 'standardDPSv5Family', 2, 8, 'V2', location=location, zones=('1', '3')),
                  sku('Standard_A2_v2', 'standardAv2Family', 2, 4, 'V1', 'False', (), location=location),
                  sku('Standard_NV6s_v2', 'standardNVSv2Family', 6, 112, zones=('1',), location=location, restrictions=[
                      restriction('Location', location), restriction('Zone', location, ['1'])])]
    found[2]['locationInfo'][0]['zoneDetails'] = [
        {'Name': ['2', '3'], 'capabilities': [{'name': 'UltraSSDAvailable', 'value': 'True'}]}]
    return found


SIZES = {(each['name'].lower(), each['locations'][0]): each for each in offered()
         if each['resourceType'] == 'virtualMachines'}


def capability(size, name):
    return next(each['value'] for each in size['capabilities'] if each['name'] == name)


# Compute's limits; those of families are `family` where no other is given.
QUOTAS = {'cores': 100, 'virtualMachines': 25000, 'lowPriorityCores': 100, 'family': 100, 'PublicIPAddresses': 1000,
          'StandardSkuPublicIpAddresses': 1000, 'NetworkInterfaces': 65536, 'StandardDiskCount': 50000}

WINDOWS = 'microsoftwindowsserver'  # publisher of the images with Windows
PLATFORM_IMAGES = {('canonical', 'ubuntu-24_04-lts', 'server'), ('debian', 'debian-12', '12-gen2'),
                   (WINDOWS, 'windowsserver', '2022-datacenter-g2')}

# Gallery and images with their versions, as others share them.
COMMUNITY = {'ci-7e1d': {'debian': ['1.0.0', '1.1.0']}}
SHARED = {f'{SUBSCRIPTION}-ci': {'debian': ['1.0.0']}}
