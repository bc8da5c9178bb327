"""cinder. Its back end is inside/fakecloud/volume.py."""
import json

from control_plane import configuration
from control_plane.plan import ADDRESS
from control_plane.processes import Service


def cinder(plan):
    account = configuration.service_account(plan)
    filters = plan.folder('etc') / 'cinder-filters.json'
    filters.write_text(json.dumps({'volume': ['name', 'status', 'metadata', 'bootable'],
                                   'snapshot': ['name', 'status', 'volume_id'],
                                   'attachment': ['volume_id', 'status', 'instance_id']}))
    file = configuration.write(plan, 'cinder.conf', {
        'DEFAULT': {'my_ip': ADDRESS, 'host': 'fake', 'state_path': plan.folder('cinder'),
                    'osapi_volume_listen': ADDRESS, 'osapi_volume_listen_port': plan.port('cinder'),
                    'osapi_volume_workers': 1, 'api_paste_config': configuration.paste('cinder'),
                    'resource_query_filters_file': filters, 'auth_strategy': 'keystone',
                    'transport_url': configuration.queue_url(plan), 'enabled_backends': 'fake',
                    'default_volume_type': 'fake', 'glance_api_servers': plan.url('glance'),
                    'quota_volumes': -1, 'quota_gigabytes': -1, 'quota_snapshots': -1,
                    'graceful_shutdown_timeout': 2},
        'fake': {'volume_driver': 'fakecloud.volume.ObedientVolumeDriver', 'volume_backend_name': 'fake'},
        'nova': account,
        'service_user': {**account, 'send_service_user_token': 'true'},
        'database': configuration.database(plan, 'cinder'),
        'key_manager': {'backend': 'cinder.keymgr.conf_key_mgr.ConfKeyManager', 'fixed_key': '0' * 64},
        **configuration.common(plan),
    })

    def service(part, **more):
        name = f'cinder-{part}'
        return Service(name, configuration.service_command(name, f'cinder.cmd.{part}:main', file), **more)

    return [service('api', port=plan.port('cinder')), service('scheduler'), service('volume')]


def set_up_cinder(plan, processes):
    command = configuration.service_command('cinder-manage', 'cinder.cmd.manage:main',
                                            plan.folder('etc') / 'cinder.conf')
    processes.run('setup-cinder', [*command, 'db', 'sync'])
