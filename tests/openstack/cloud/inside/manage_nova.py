"""manage_nova.py CONFIGURATION databases|discover-hosts: steps of nova-manage in one process."""
import sys

from nova import config, context, objects
from nova.cmd import manage
from oslo_log import log

configuration, step = sys.argv[1:]
config.parse_args(['nova-manage', '--config-file', configuration])
log.setup(manage.CONF, 'nova')
objects.register_all()
cells = manage.CellV2Commands()


def check(status):
    if status not in (0, None):
        sys.exit(f'{step}: status {status}')


if step == 'databases':
    check(manage.ApiDbCommands().sync())
    check(cells.map_cell0())
    check(manage.DbCommands().sync())
    if 'cell1' not in [cell.name for cell in objects.CellMappingList.get_all(context.get_admin_context())]:
        check(cells.create_cell(name='cell1'))
else:
    check(cells.discover_hosts(verbose=True))
