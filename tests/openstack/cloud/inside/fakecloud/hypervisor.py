"""nova's own fake hypervisor, which fails and dawdles as the metadata of a server asks for.

  fake_spawn_delay    seconds of BUILD
  fake_spawn_error    "abort": ERROR at once; "fail": this host fails, so the scheduler tries the next one
  fake_destroy_delay  seconds of task state deleting
  fake_destroy_error  how many deletes fail, each of which leaves the server in ERROR. (A count, because
                      nobody can change the metadata of a server in ERROR.)
  fake_console        the console's text
"""
import eventlet
from nova import exception
from nova.virt import fake


class ObedientDriver(fake.FakeDriver):

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.failed_destroys = {}  # by server

    def spawn(self, context, instance, *args, **kwargs):
        wishes = instance.metadata or {}
        eventlet.sleep(float(wishes.get('fake_spawn_delay', 0)))
        error = wishes.get('fake_spawn_error')
        if error == 'abort':
            raise exception.BuildAbortException(instance_uuid=instance.uuid, reason='fake_spawn_error')
        if error:
            raise exception.ComputeResourcesUnavailable(reason='fake_spawn_error')
        return super().spawn(context, instance, *args, **kwargs)

    def destroy(self, context, instance, *args, **kwargs):
        wishes = instance.metadata or {}
        eventlet.sleep(float(wishes.get('fake_destroy_delay', 0)))
        failed = self.failed_destroys.pop(instance.uuid, 0)
        if failed < int(wishes.get('fake_destroy_error', 0)):
            self.failed_destroys[instance.uuid] = failed + 1
            raise exception.InstanceTerminationFailure(reason='fake_destroy_error')
        return super().destroy(context, instance, *args, **kwargs)

    def get_console_output(self, context, instance):
        text = (instance.metadata or {}).get('fake_console')
        return text.encode() if text else super().get_console_output(context, instance)
