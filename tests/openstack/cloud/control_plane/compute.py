"""nova. Its hypervisor is inside/fakecloud/hypervisor.py."""
from control_plane import configuration
from control_plane.plan import ADDRESS, REGION
from control_plane.processes import Service


def api_scheduler_conductor(plan):
    account = configuration.service_account(plan)
    file = configuration.write(plan, 'nova.conf', {
        'DEFAULT': {'my_ip': ADDRESS, 'state_path': plan.folder('nova'),
                    'transport_url': configuration.queue_url(plan), 'enabled_apis': 'osapi_compute',
                    'osapi_compute_listen': ADDRESS, 'osapi_compute_listen_port': plan.port('nova'),
                    'osapi_compute_workers': 1, 'osapi_max_limit': 1000, 'report_interval': 20,
                    'service_down_time': 120, 'graceful_shutdown_timeout': 2, 'rpc_response_timeout': 60},
        'api': {'auth_strategy': 'keystone'},
        'wsgi': {'api_paste_config': configuration.paste('nova')},
        'api_database': configuration.database(plan, 'nova_api'),
        'database': configuration.database(plan, 'nova'),
        'conductor': {'workers': 1},
        'scheduler': {'workers': 1},
        'quota': {'instances': 2000, 'cores': -1, 'ram': -1, 'key_pairs': -1, 'server_groups': -1},
        'glance': {'api_servers': plan.url('glance')},
        'placement': account,
        'neutron': {**account, 'service_metadata_proxy': 'false'},
        'cinder': {**account, 'os_region_name': REGION},
        'service_user': {**account, 'send_service_user_token': 'true'},
        'vnc': {'enabled': 'false'},
        'spice': {'enabled': 'false'},
        'key_manager': {'backend': 'nova.keymgr.conf_key_mgr.ConfKeyManager', 'fixed_key': '0' * 64},
        **configuration.common(plan),
    })

    def service(name, function, **more):
        return Service(name, configuration.service_command(name, function, file), **more)

    return [service('nova-conductor', 'nova.cmd.conductor:main'),
            service('nova-scheduler', 'nova.cmd.scheduler:main'),
            service('nova-api', 'nova.cmd.api_os_compute:main', port=plan.port('nova'))]


def hypervisor(plan, number):
    """nova-compute of the host fake<number>."""
    name = f'nova-compute{number}'
    file = configuration.write(plan, f'{name}.conf', {
        'DEFAULT': {'host': f'fake{number}', 'state_path': plan.folder('nova', f'fake{number}'),
                    'compute_driver': 'hypervisor.ObedientDriver', 'cpu_allocation_ratio': 64,
                    'ram_allocation_ratio': 64, 'disk_allocation_ratio': 64, 'max_concurrent_builds': 50,
                    'vif_plugging_is_fatal': 'false', 'vif_plugging_timeout': 0,
                    'sync_power_state_interval': -1, 'heal_instance_info_cache_interval': -1},
    })
    return Service(name, configuration.service_command(
        name, 'nova.cmd.compute:main', plan.folder('etc') / 'nova.conf', file))


def hypervisors(plan):
    return [hypervisor(plan, number + 1) for number in range(plan.computes)]


def manage(plan, processes, step):
    """`step` is "databases" or "discover-hosts"."""
    processes.run('setup-nova', [
        configuration.PYTHON, str(configuration.CLOUD_DIRECTORY / 'inside' / 'manage_nova.py'),
        str(plan.folder('etc') / 'nova.conf'), step])
