"""What a cloud's state directory is set up for. Databases and endpoints hold these values, so a
directory keeps them for its life."""
import dataclasses
import json
import pathlib
import random
import socket

ADDRESS = '127.0.0.1'
PASSWORD = 'secret'  # of every account
REGION = 'RegionOne'

USES_OF_PORTS = ('database', 'queue', 'erlang-names', 'erlang', 'keystone', 'placement', 'glance',
                 'neutron', 'nova', 'cinder')


def is_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((ADDRESS, port))
        except OSError:
            return False
        return True


def free_port_base():
    """The first of enough free ports in a row, below those that the kernel gives to clients."""
    while True:
        base = random.randrange(20000, 32000, 16)
        if all(is_free(base + offset) for offset in range(len(USES_OF_PORTS))):
            return base


@dataclasses.dataclass(frozen=True)
class Plan:
    state: pathlib.Path
    port_base: int
    guest_octet: int  # the third of the guests' addresses
    computes: int
    cinder: bool
    token_lifetime: int  # seconds

    @classmethod
    def of(cls, state, port_base=None, **settings):
        """The plan of a directory; a new directory gets one with these settings."""
        state = state.resolve()
        if not (state / 'plan.json').exists():
            state.mkdir(parents=True, exist_ok=True)
            content = {'port_base': port_base or free_port_base(),
                       'guest_octet': random.randrange(256), **settings}
            (state / 'plan.json').write_text(json.dumps(content))
        return cls.load(state)

    @classmethod
    def load(cls, state):
        state = state.resolve()
        return cls(state=state, **json.loads((state / 'plan.json').read_text()))

    def port(self, use):
        return self.port_base + USES_OF_PORTS.index(use)

    def url(self, use, path=''):
        return f'http://{ADDRESS}:{self.port(use)}{path}'

    def folder(self, *names):
        """A directory of the state; made if missing."""
        path = self.state.joinpath(*names)
        path.mkdir(parents=True, exist_ok=True)
        return path

    # Addresses for benchmarks (RFC 2544), which belong to nobody: a directory has two networks of 254.

    @property
    def guest_range(self):
        """The addresses of the network that needs no floating IP."""
        return f'198.18.{self.guest_octet}.0/24'

    @property
    def floating_range(self):
        """The floating IPs."""
        return f'198.19.{self.guest_octet}.0/24'
