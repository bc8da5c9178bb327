"""neutron: ML2 and L3 without agents (inside/fakecloud does what they would)."""
from control_plane import configuration
from control_plane.plan import ADDRESS
from control_plane.processes import Service

UNLIMITED = ('network', 'subnet', 'port', 'router', 'floatingip', 'security_group', 'security_group_rule')


def neutron(plan):
    file = configuration.write(plan, 'neutron.conf', {
        'DEFAULT': {'state_path': plan.folder('neutron'), 'bind_host': ADDRESS,
                    'bind_port': plan.port('neutron'), 'api_paste_config': configuration.paste('neutron'),
                    'auth_strategy': 'keystone', 'transport_url': configuration.queue_url(plan),
                    'core_plugin': 'ml2', 'service_plugins': 'fakecloud.l3.AgentlessL3Plugin',
                    'api_workers': 0, 'rpc_workers': 0, 'rpc_state_report_workers': 0,
                    'dhcp_agent_notification': 'false', 'notify_nova_on_port_status_changes': 'true',
                    'notify_nova_on_port_data_changes': 'true', 'send_events_interval': 0},
        'nova': configuration.service_account(plan),
        'database': configuration.database(plan, 'neutron'),
        'quotas': {f'quota_{what}': -1 for what in UNLIMITED},
        'ml2': {'type_drivers': 'flat,vlan,vxlan,local', 'tenant_network_types': 'vxlan',
                'mechanism_drivers': 'agentless', 'extension_drivers': 'port_security'},
        'ml2_type_flat': {'flat_networks': '*'},
        'ml2_type_vlan': {'network_vlan_ranges': 'physnet1:1:4000'},
        'ml2_type_vxlan': {'vni_ranges': '1:100000'},
        'agent': {'root_helper': ''},
        **configuration.common(plan),
    })
    return Service('neutron-server', configuration.service_command(
        'neutron-server', 'neutron.cmd.eventlet.server:main', file), port=plan.port('neutron'))


def set_up_neutron(plan, processes):
    command = configuration.service_command('neutron-db-manage', 'neutron.db.migration.cli:main',
                                            plan.folder('etc') / 'neutron.conf')
    processes.run('setup-neutron', [*command, 'upgrade', 'heads'])
