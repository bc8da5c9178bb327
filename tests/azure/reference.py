"""The Python Nodepool's own azure driver does what its launcher and builder have it do. Prints one line of JSON.

    reference.py CONFIG launch HOST=LABEL[=IMAGE]… | list | delete HOST… | limits LABEL
    reference.py CONFIG upload NAME FILE | delete-image NAME
"""
import json
import logging
import sys
import time

from nodepool import config
from nodepool.driver import Drivers
from nodepool.zk.zookeeper import NodeRequest

log = logging.getLogger('reference')


def metadata(**more):
    return {'nodepool_provider_name': provider.name, **more}


def run(machines):
    """Advances the state machines as the launcher does, one round a second."""
    results = {}
    while len(results) < len(machines):
        for name, machine in machines.items():
            if name not in results:
                result = machine.advance()
                if machine.complete:
                    results[name] = result
        time.sleep(0.2)
    return results


def shown(instance):
    return {key: value for key, value in vars(instance).items() if key not in ('metadata', 'sku')}


def launch(*nodes):
    """IMAGE is for a label with a diskimage."""
    request = NodeRequest('100-0000000001')
    request.node_types, request.tenant_name = ['small'], 'acme'
    machines = {}
    for node in nodes:
        host, label, *image = node.split('=')
        pool, found = next((pool, pool.labels[label]) for pool in provider.pools.values() if label in pool.labels)
        mark = metadata(nodepool_node_id=host.removeprefix('np'), nodepool_pool_name=pool.name)
        machines[host] = adapter.getCreateStateMachine(
            host, found, image[0] if image else None, mark, request, None, log)
    return {host: shown(instance) for host, instance in run(machines).items()}


def list_all():
    return {'instances': [{**shown(each), 'quota': each.getQuotaInformation().quota}
                          for each in adapter.listInstances()],
            'resources': [[each.type, each.name, each.metadata] for each in adapter.listResources()]}


def delete(*hosts):
    run({host: adapter.getDeleteStateMachine(host, log) for host in hosts})


def upload(name, file):
    mark = metadata(nodepool_build_id='1', nodepool_upload_id='2')
    return adapter.uploadImage(None, name, file, 'vhd', mark, None, None)


def limits(label):
    pool = next(pool for pool in provider.pools.values() if label in pool.labels)
    return {'limits': adapter.getQuotaLimits().quota, 'label': adapter.getQuotaForLabel(pool.labels[label]).quota}


if __name__ == '__main__':
    path, action, *arguments = sys.argv[1:]
    logging.basicConfig(level=logging.DEBUG)
    provider = next(iter(config.loadConfig(path).providers.values()))
    adapter = Drivers.get('azure').getAdapter(provider)
    actions = {'launch': launch, 'list': list_all, 'delete': delete, 'upload': upload, 'limits': limits,
               'delete-image': adapter.deleteImage}
    print(json.dumps(actions[action](*arguments)))
