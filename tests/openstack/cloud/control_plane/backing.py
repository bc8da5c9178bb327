"""The database and the message queue."""
import getpass
import subprocess

from control_plane.plan import ADDRESS, PASSWORD
from control_plane.processes import Service

DATABASES = ('keystone', 'placement', 'glance', 'neutron', 'nova_api', 'nova', 'nova_cell0', 'cinder')


def database(plan):
    # The socket is relative to the data directory: a longer path than 107 bytes is none. Nothing here
    # has to outlive a power failure, so nothing waits for the disk.
    return Service('mariadb', [
        '/usr/sbin/mariadbd', '--no-defaults', f'--user={getpass.getuser()}',
        f'--datadir={plan.state}/mysql', '--socket=my.sock', '--pid-file=my.pid', '--tmpdir=/tmp',
        f'--bind-address={ADDRESS}', f'--port={plan.port("database")}', '--skip-log-bin',
        '--skip-name-resolve', '--character-set-server=utf8mb3', '--max-connections=1000',
        '--performance-schema=0', '--innodb-buffer-pool-size=256M', '--innodb-log-file-size=64M',
        '--innodb-flush-log-at-trx-commit=0', '--innodb-doublewrite=0', '--sync-frm=0',
    ], port=plan.port('database'))


def make_database_directory(plan, processes):
    processes.run('setup-mariadb', [
        'mariadb-install-db', '--no-defaults', f'--user={getpass.getuser()}', '--skip-test-db',
        f'--datadir={plan.state}/mysql', '--auth-root-authentication-method=normal'])


def make_databases(plan):
    statements = [f'create database if not exists {name} character set utf8mb3' for name in DATABASES]
    statements += [f"create user if not exists cloud@'{ADDRESS}' identified by '{PASSWORD}'",
                   f"grant all on *.* to cloud@'{ADDRESS}'"]
    query(plan, ';\n'.join(statements))


def query(plan, statement):
    """What the database's program prints: a line for each row, without headings."""
    return subprocess.run(['mariadb', '--no-defaults', f'--host={ADDRESS}', f'--port={plan.port("database")}',
                           '--user=root', '--skip-column-names'], input=statement, text=True, check=True,
                          stdout=subprocess.PIPE).stdout


def erlang_names(plan):
    """Where Erlang's programs find each other: an own one, or a system's would be used or started."""
    return Service('epmd', ['/usr/bin/epmd', '-address', ADDRESS, '-port', str(plan.port('erlang-names'))],
                   {'ERL_EPMD_ADDRESS': ADDRESS}, port=plan.port('erlang-names'))


def queue(plan):
    home = plan.folder('rabbitmq')
    (home / 'rabbitmq.conf').write_text(f'''\
listeners.tcp.1 = {ADDRESS}:{plan.port("queue")}
loopback_users = none
log.console = true
log.console.level = warning
log.file = false
vm_memory_high_watermark.absolute = 512MB
disk_free_limit.absolute = 10MB
''')
    (home / 'enabled_plugins').write_text('[].\n')
    return Service('rabbitmq', ['/usr/lib/rabbitmq/bin/rabbitmq-server'], {
        'HOME': str(home), 'ERL_EPMD_ADDRESS': ADDRESS, 'ERL_EPMD_PORT': str(plan.port('erlang-names')),
        'RABBITMQ_NODENAME': f'cloud{plan.port_base}@localhost', 'RABBITMQ_NODE_IP_ADDRESS': ADDRESS,
        'RABBITMQ_NODE_PORT': str(plan.port('queue')), 'RABBITMQ_DIST_PORT': str(plan.port('erlang')),
        'RABBITMQ_CONF_ENV_FILE': '/dev/null', 'RABBITMQ_CONFIG_FILE': f'{home}/rabbitmq.conf',
        'RABBITMQ_ENABLED_PLUGINS_FILE': f'{home}/enabled_plugins',
        'RABBITMQ_MNESIA_BASE': f'{home}/mnesia', 'RABBITMQ_LOG_BASE': str(plan.folder('log')),
        'RABBITMQ_PID_FILE': f'{home}/pid',
        # One scheduler that sleeps when it has nothing to do.
        'RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS': '+S 1:1 +sbwt none +sbwtdcpu none +sbwtdio none '
                                               '-kernel inet_dist_use_interface {127,0,0,1}',
    }, port=plan.port('queue'))
