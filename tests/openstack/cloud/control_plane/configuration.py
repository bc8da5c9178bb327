"""What the configuration files of the services have in common."""
import pathlib
import sys

from control_plane.plan import ADDRESS, PASSWORD, REGION

CLOUD_DIRECTORY = pathlib.Path(__file__).resolve().parent.parent
PYTHON = '/usr/bin/python3'  # Debian's: the one that has the services


def write(plan, name, sections):
    """Writes a configuration file, {section: {key: value}}, and returns where it is."""
    path = plan.folder('etc') / name
    text = ''
    for section, values in sections.items():
        text += f'[{section}]\n' + ''.join(f'{key} = {value}\n' for key, value in values.items())
    path.write_text(text)
    return path


def paste(name):
    """The file that says of which parts an API is put together."""
    return CLOUD_DIRECTORY / 'paste' / f'{name}.ini'


def service_command(name, function, *configurations):
    """Runs a service from its module: its package with a start script brings more than that."""
    files = [part for file in configurations for part in ('--config-file', str(file))]
    return [PYTHON, str(CLOUD_DIRECTORY / 'inside' / 'run_service.py'), name, function, *files]


def database(plan, name):
    return {'connection': f'mysql+pymysql://cloud:{PASSWORD}@{ADDRESS}:{plan.port("database")}/{name}?charset=utf8',
            'max_pool_size': 10, 'max_overflow': 40}


def queue_url(plan):
    return f'rabbit://guest:guest@{ADDRESS}:{plan.port("queue")}/'


def service_account(plan):
    """How one service proves to another who it is."""
    return {'www_authenticate_uri': plan.url('keystone', '/v3'), 'auth_url': plan.url('keystone', '/v3'),
            'auth_type': 'password', 'username': 'service', 'password': PASSWORD,
            'project_name': 'service', 'user_domain_name': 'Default', 'project_domain_name': 'Default',
            'region_name': REGION}


def common(plan):
    """The sections that are the same for glance, neutron, nova and cinder."""
    return {
        'oslo_concurrency': {'lock_path': plan.folder('lock')},
        'oslo_messaging_notifications': {'driver': 'noop'},
        'keystone_authtoken': {**service_account(plan), 'service_token_roles': 'service',
                               'service_token_roles_required': 'true',
                               # A revoked token is refused at once.
                               'token_cache_time': -1},
    }
