"""glance."""
from control_plane import configuration
from control_plane.plan import ADDRESS
from control_plane.processes import Service


def glance(plan):
    file = configuration.write(plan, 'glance-api.conf', {
        'DEFAULT': {'bind_host': ADDRESS, 'bind_port': plan.port('glance'), 'workers': 0,
                    'enabled_backends': 'file:file',
                    'enabled_import_methods': '[glance-direct,web-download]',
                    'node_staging_uri': f'file://{plan.folder("glance", "staging")}'},
        'glance_store': {'default_backend': 'file'},
        'file': {'filesystem_store_datadir': plan.folder('glance', 'images')},
        'os_glance_staging_store': {'filesystem_store_datadir': plan.folder('glance', 'staging')},
        'os_glance_tasks_store': {'filesystem_store_datadir': plan.folder('glance', 'tasks')},
        'database': configuration.database(plan, 'glance'),
        'paste_deploy': {'flavor': 'keystone', 'config_file': configuration.paste('glance')},
        **configuration.common(plan),
    })
    return Service('glance-api', configuration.service_command('glance-api', 'glance.cmd.api:main', file),
                   port=plan.port('glance'))


def set_up_glance(plan, processes):
    command = configuration.service_command('glance-manage', 'glance.cmd.manage:main',
                                            plan.folder('etc') / 'glance-api.conf')
    processes.run('setup-glance', [*command, 'db_sync'])
