"""Does with the ibmvpc driver of the Python Nodepool, unmodified, what its launcher does with a node.

    reference.py CONFIGURATION LABEL NAME [IMAGE]

Only the addresses of the APIs are others, see redirect/. With IMAGE, a file, it first uploads the image and
makes the node of it. Prints the results as JSON.
"""
import json
import logging
import math
import sys
import time

import nodepool.config
from nodepool.driver.ibmvpc.adapter import IBMVPCAdapter

CONFIGURATION, LABEL, NAME, *IMAGE = sys.argv[1:]
MACHINE = ('external_id', 'cloud', 'region', 'az', 'private_ipv4', 'public_ipv4', 'interface_ip', 'metadata')


def numbers(quota):
    return {name: None if value == math.inf else value for name, value in quota.quota['compute'].items()}


def advance(adapter, machine):
    while not machine.complete:
        for listing in (adapter._listInstances, adapter._listFloatingIPs, adapter._listImages):
            listing.cache_clear()  # they are kept for 10 s
        state = machine.advance()
        time.sleep(0 if machine.complete else 0.1)
    return state


def main():
    configuration = nodepool.config.loadConfig(CONFIGURATION)
    provider = configuration.providers['ibm']
    (pool,) = provider.pools.values()
    adapter, label = IBMVPCAdapter(provider), pool.labels[LABEL]
    adapter.IMAGE_UPLOAD_SLEEP = 0.2
    log = logging.getLogger('reference')
    found = {'limits': numbers(adapter.getQuotaLimits()), 'need': numbers(adapter.getQuotaForLabel(label))}
    upload = None
    if IMAGE:
        image = provider.diskimages[label.diskimage.name]
        upload = adapter.uploadImage(image, 'npimage0000000003', IMAGE[0], 'qcow2', {}, None, None)
    metadata = {'nodepool_node_id': NAME.removeprefix('np'), 'nodepool_pool_name': pool.name,
                'nodepool_provider_name': provider.name}
    machine = advance(adapter, adapter.getCreateStateMachine(NAME, label, upload, metadata, None, None, log))
    found['machine'] = {name: getattr(machine, name) for name in MACHINE}
    found['resources'] = numbers(machine.getQuotaInformation())
    found['listed'] = [[one.external_id, one.public_ipv4] for one in adapter.listInstances()]
    found['leaks'] = [[one.type, one.name, one.metadata] for one in adapter.listResources()]
    advance(adapter, adapter.getDeleteStateMachine(NAME, log))
    if upload:
        adapter.deleteImage(upload)
    found['after'] = [one.external_id for one in adapter.listInstances()]
    print(json.dumps(found))


main()
