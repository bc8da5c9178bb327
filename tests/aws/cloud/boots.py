"""Instances that are `pending` as long as a test wants it: moto's own run at once."""
import threading

from moto.ec2.models.instances import Instance, InstanceState


class Boots:
    """Of instances that are made while they are held."""

    def __init__(self):
        self.lock = threading.Lock()
        self.held = False
        self.pending = []

    def hold(self, held):
        with self.lock:
            self.held = held
            if held:
                return
            for instance in self.pending:
                if instance.state == 'pending':  # not terminated meanwhile
                    instance._state = InstanceState('running', 16)
            self.pending = []

    def begin(self, instance):
        with self.lock:
            if self.held:
                instance._state = InstanceState('pending', 0)
                self.pending.append(instance)


boots = Boots()
moto_init = Instance.__init__


def init(self, *arguments, **named):
    moto_init(self, *arguments, **named)
    boots.begin(self)


def install():
    Instance.__init__ = init
