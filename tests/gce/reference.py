"""Does with the gce driver of the Python Nodepool, unmodified, what its launcher does with a node.

    reference.py CONFIGURATION LABEL NAME

Prints what has come of it, as JSON.
"""
import json
import logging
import math
import sys
import time

import nodepool.config
from nodepool.driver.gce.adapter import GceAdapter

CONFIGURATION, LABEL, NAME = sys.argv[1:]
MACHINE = ('external_id', 'cloud', 'region', 'az', 'private_ipv4', 'public_ipv4', 'interface_ip', 'metadata')


def numbers(quota):
    return {name: None if value == math.inf else value for name, value in quota.quota['compute'].items()}


def advance(machine):
    while not machine.complete:
        state = machine.advance()
        time.sleep(0 if machine.complete else 0.5)
    return state


def main():
    provider = nodepool.config.loadConfig(CONFIGURATION).providers['gce']
    (pool,) = provider.pools.values()
    adapter, label = GceAdapter(provider), pool.labels[LABEL]
    log = logging.getLogger('reference')
    found = {'limits': numbers(adapter.getQuotaLimits()), 'need': numbers(adapter.getQuotaForLabel(label))}
    metadata = {'nodepool_node_id': '0000000007', 'nodepool_pool_name': pool.name,
                'nodepool_provider_name': provider.name}
    machine = advance(adapter.getCreateStateMachine(NAME, label, None, metadata, None, None, log))
    found['machine'] = {name: getattr(machine, name) for name in MACHINE}
    found['resources'] = numbers(machine.getQuotaInformation())
    found['listed'] = [instance.external_id for instance in adapter.listInstances()]
    found['leaks'] = [[one.type, one.id, one.metadata] for one in adapter.listResources()]
    advance(adapter.getDeleteStateMachine(NAME, log))
    found['after'] = [instance.external_id for instance in adapter.listInstances()]
    print(json.dumps(found))


main()
