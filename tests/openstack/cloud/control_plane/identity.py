"""keystone, and placement, which is run in the same way."""
import getpass
import grp
import os

from control_plane import configuration
from control_plane.plan import ADDRESS, PASSWORD, REGION
from control_plane.processes import Service


def wsgi_service(plan, name, program, environment):
    return Service(name, [
        '/usr/bin/uwsgi-core', '--plugins', 'python3', '--http11-socket', f'{ADDRESS}:{plan.port(name)}',
        '--wsgi-file', program, '--processes', '1', '--threads', '8', '--enable-threads', '--lazy-apps',
        '--die-on-term', '--need-app', '--buffer-size', '65535', '--disable-logging', '--so-keepalive',
    ], environment, port=plan.port(name))


def keystone(plan):
    keys = plan.folder('keystone')
    configuration.write(plan, 'keystone.conf', {
        'DEFAULT': {'log_file': f'{plan.folder("log")}/keystone.log'},
        'database': configuration.database(plan, 'keystone'),
        'token': {'provider': 'fernet', 'expiration': plan.token_lifetime},
        'fernet_tokens': {'key_repository': keys / 'fernet'},
        'credential': {'key_repository': keys / 'credential'},
        'identity': {'password_hash_rounds': 4},  # the least: these passwords are no secrets
        'cache': {'enabled': 'true', 'backend': 'dogpile.cache.memory'},
    })
    return wsgi_service(plan, 'keystone', '/usr/bin/keystone-wsgi-public',
                        {'OS_KEYSTONE_CONFIG_DIR': str(plan.folder('etc'))})


def set_up_keystone(plan, processes):
    for repository in 'fernet', 'credential':
        plan.folder('keystone', repository).chmod(0o700)
    manage = ['/usr/bin/keystone-manage', '--config-file', f'{plan.folder("etc")}/keystone.conf']
    url = plan.url('keystone', '/v3')
    for command in (['fernet_setup', '--keystone-user', getpass.getuser(),
                     '--keystone-group', grp.getgrgid(os.getgid()).gr_name],
                    ['db_sync'],
                    # The services look for the internal endpoint.
                    ['bootstrap', '--bootstrap-password', PASSWORD, '--bootstrap-region-id', REGION,
                     '--bootstrap-public-url', url, '--bootstrap-internal-url', url,
                     '--bootstrap-admin-url', url]):
        processes.run('setup-keystone', manage + command)


def placement(plan):
    configuration.write(plan, 'placement.conf', {
        'placement_database': configuration.database(plan, 'placement'),
        'api': {'auth_strategy': 'keystone'},
        'keystone_authtoken': configuration.service_account(plan),
    })
    return wsgi_service(plan, 'placement', '/usr/bin/placement-api',
                        {'OS_PLACEMENT_CONFIG_DIR': str(plan.folder('etc'))})


def set_up_placement(plan, processes):
    etc = plan.folder('etc')
    processes.run('setup-placement', ['/usr/bin/placement-manage', '--config-file', f'{etc}/placement.conf',
                                      'db', 'sync'], {'OS_PLACEMENT_CONFIG_DIR': str(etc)})
