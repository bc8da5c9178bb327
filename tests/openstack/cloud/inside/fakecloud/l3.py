"""neutron's own L3 plugin, with the status of floating IPs set here, which an L3 agent would report:
ACTIVE while it has a port, DOWN without."""
from neutron.services.l3_router import l3_router_plugin
from neutron_lib import constants


class AgentlessL3Plugin(l3_router_plugin.L3RouterPlugin):

    def create_floatingip(self, context, floatingip):
        return self.with_status(context, super().create_floatingip(context, floatingip))

    def update_floatingip(self, context, id, floatingip):
        return self.with_status(context, super().update_floatingip(context, id, floatingip))

    def disassociate_floatingips(self, context, port_id, do_notify=True):
        admin = context.elevated()
        floating = self.get_floatingips(admin, filters={'port_id': [port_id]}, fields=['id'])
        result = super().disassociate_floatingips(context, port_id, do_notify)
        for ip in floating:
            self.update_floatingip_status(admin, ip['id'], constants.FLOATINGIP_STATUS_DOWN)
        return result

    def with_status(self, context, ip):
        status = (constants.FLOATINGIP_STATUS_ACTIVE if ip.get('port_id')
                  else constants.FLOATINGIP_STATUS_DOWN)
        if ip.get('status') != status:
            self.update_floatingip_status(context.elevated(), ip['id'], status)
            ip['status'] = status
        return ip
