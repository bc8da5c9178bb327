"""What the simulated Compute Engine has before anybody makes something, by path as in the API."""
import itertools

PROJECT = 'suite-project'
IMAGE_PROJECT = 'debian-cloud'
WWW = 'https://www.googleapis.com/compute/v1/'  # of links in answers; nobody can call it here
BEGIN = '2024-01-02T03:04:05.678-07:00'
REGIONS = {'us-central1': 'abcf', 'europe-west1': 'bcd'}
MACHINE_TYPES = {  # processors, MiB
    'n1-standard-1': (1, 3840), 'n1-standard-2': (2, 7680), 'n1-standard-4': (4, 15360), 'e2-medium': (2, 4096),
    'n2-standard-2': (2, 8192), 'n2-standard-8': (8, 32768), 'c2-standard-4': (4, 16384)}
LACKING = {('europe-west1-d', 'c2-standard-4')}  # zone, machine type
DISK_TYPES = {'pd-standard': 'DISKS_TOTAL_GB', 'pd-balanced': 'SSD_TOTAL_GB', 'pd-ssd': 'SSD_TOTAL_GB'}  # their quotas
LIMITS = {'CPUS': 24.0, 'N2_CPUS': 24.0, 'C2_CPUS': 8.0, 'PREEMPTIBLE_CPUS': 0.0, 'INSTANCES': 48.0,
          'IN_USE_ADDRESSES': 48.0, 'DISKS_TOTAL_GB': 4096.0, 'SSD_TOTAL_GB': 500.0}  # of each region
GLOBAL_LIMITS = {'CPUS_ALL_REGIONS': 64.0, 'NETWORKS': 5.0}
IMAGES = [  # project, name, family, GB, deprecated
    (IMAGE_PROJECT, 'debian-12-bookworm-v20240110', 'debian-12', 10, True),
    (IMAGE_PROJECT, 'debian-12-bookworm-v20240213', 'debian-12', 10, False),
    (IMAGE_PROJECT, 'debian-11-bullseye-v20240110', 'debian-11', 10, True),
    (PROJECT, 'ci-1', 'ci', 20, False), (PROJECT, 'ci-2', 'ci', 20, False), (PROJECT, 'ci-3', 'ci', 20, True)]

numbers = itertools.count(4611686018427387904)


def thing(kind, path, **more):
    return {'kind': f'compute#{kind}', 'id': str(next(numbers)), 'creationTimestamp': BEGIN, 'selfLink': WWW + path,
            'name': path.rpartition('/')[2], **more}


def cpu_metric(machine_type, is_preemptible, limits):
    """The quota for the processors. Those of preemptible ones have their own only if it has been granted."""
    if is_preemptible and limits.get('PREEMPTIBLE_CPUS'):
        return 'PREEMPTIBLE_CPUS'
    family = machine_type.partition('-')[0].upper()
    return f'{family}_CPUS' if f'{family}_CPUS' in limits else 'CPUS'


def seeds():
    """All things by path."""
    own, found = f'projects/{PROJECT}', {}

    def add(kind, path, **more):
        found[path] = thing(kind, path, **more)

    add('project', own, defaultServiceAccount='1-compute@developer.gserviceaccount.com')
    found[f'projects/{IMAGE_PROJECT}'] = thing('project', f'projects/{IMAGE_PROJECT}')
    subnetworks = {'default': [], 'ci': []}
    for place, (region, letters) in enumerate(REGIONS.items()):
        add('region', f'{own}/regions/{region}', status='UP', description=region,
            zones=[f'{WWW}{own}/zones/{region}-{letter}' for letter in letters])
        for at, network in enumerate(subnetworks):
            path, start = f'{own}/regions/{region}/subnetworks/{network}', f'10.{128 + place * 16 + at}.0'
            subnetworks[network].append(WWW + path)
            add('subnetwork', path, network=f'{WWW}{own}/global/networks/{network}',
                region=f'{WWW}{own}/regions/{region}', ipCidrRange=f'{start}.0/20', gatewayAddress=f'{start}.1',
                privateIpGoogleAccess=False, stackType='IPV4_ONLY', purpose='PRIVATE')
        for letter in letters:
            add_zone(add, own, region, f'{region}-{letter}')
    for network, parts in subnetworks.items():  # `ci` has no subnetworks of its own accord: each use has to name one
        add('network', f'{own}/global/networks/{network}', autoCreateSubnetworks=network == 'default',
            subnetworks=parts, routingConfig={'routingMode': 'REGIONAL'})
    for at, (project, name, family, size, is_deprecated) in enumerate(IMAGES):
        add('image', f'projects/{project}/global/images/{name}', family=family, diskSizeGb=str(size), status='READY',
            sourceType='RAW', architecture='X86_64', archiveSizeBytes='1048576', storageLocations=['us'])
        found[f'projects/{project}/global/images/{name}']['creationTimestamp'] = BEGIN.replace('-02T', f'-{at + 2:02}T')
        if is_deprecated:
            found[f'projects/{project}/global/images/{name}']['deprecated'] = {'state': 'DEPRECATED'}
    return found


def add_zone(add, own, region, zone):
    add('zone', f'{own}/zones/{zone}', status='UP', region=f'{WWW}{own}/regions/{region}', description=zone)
    for name, (processors, memory) in MACHINE_TYPES.items():
        if (zone, name) not in LACKING:
            add('machineType', f'{own}/zones/{zone}/machineTypes/{name}', guestCpus=processors, memoryMb=memory,
                zone=zone, isSharedCpu=name == 'e2-medium', maximumPersistentDisks=128,
                maximumPersistentDisksSizeGb='263168', description=f'{processors} vCPUs', architecture='X86_64')
    for name in DISK_TYPES:
        add('diskType', f'{own}/zones/{zone}/diskTypes/{name}', zone=f'{WWW}{own}/zones/{zone}',
            defaultDiskSizeGb='100', validDiskSize='10GB-65536GB', description=name)
