"""The whole cloud: what is started in which order."""
import concurrent.futures
import contextlib
import signal

from control_plane import backing, compute, identity, image, network, seed, volume
from control_plane.plan import PASSWORD, REGION
from control_plane.processes import Processes

# The user and project of each, and what else its entry says.
CLOUDS = {'fake': ('nodepool', {}), 'fake-raw': ('nodepool', {'image_format': 'raw'}),
          'fake-tiny': ('tiny', {}), 'fake-admin': ('admin', {})}


class Cloud:
    def __init__(self, plan):
        self.plan = plan
        self.processes = Processes(plan)
        self.clouds_yaml = plan.state / 'clouds.yaml'

    def start(self):
        """Returns when all answer. What runs already is left alone. Throws RuntimeError."""
        self.write_clouds_yaml()
        self.start_backing()
        chains = [self.start_keystone_and_placement, self.prepare_neutron_and_nova]
        with concurrent.futures.ThreadPoolExecutor(len(chains)) as pool:
            for chain in [pool.submit(chain) for chain in chains]:
                chain.result()
        self.start_services()
        self.set_up_resources()

    def stop(self):
        """Ends the processes that were started in this directory, the backing ones last."""
        names = self.processes.names()
        self.processes.end([name for name in names if name not in ('epmd', 'mariadb', 'rabbitmq')])
        self.processes.end([name for name in names if name in ('mariadb', 'rabbitmq')])
        self.processes.end([name for name in names if name == 'epmd'])

    @contextlib.contextmanager
    def killed(self, *names):
        """Services are dead in the meantime."""
        for name in names:
            self.processes.signal(name, signal.SIGKILL)
        yield
        self.start()

    @contextlib.contextmanager
    def paused(self, *names):
        """Services are there in the meantime, but do nothing."""
        for name in names:
            self.processes.signal(name, signal.SIGSTOP)
        try:
            yield
        finally:
            for name in names:
                self.processes.signal(name, signal.SIGCONT)

    def query(self, statement):
        """The database's answer as text: what an API that is away cannot tell."""
        return backing.query(self.plan, statement)

    def start_backing(self):
        self.processes.once('mariadb', lambda: backing.make_database_directory(self.plan, self.processes))
        services = [backing.database(self.plan), backing.erlang_names(self.plan), backing.queue(self.plan)]
        for service in services:
            self.processes.start(service)
        self.processes.await_answer(services[0])
        self.processes.once('databases', lambda: backing.make_databases(self.plan))

    def once(self, name, step):
        self.processes.once(name, lambda: step(self.plan, self.processes))

    def start_keystone_and_placement(self):
        # Other services ask for a token while they start, and end without one.
        keystone = identity.keystone(self.plan)
        self.once('keystone', identity.set_up_keystone)
        self.processes.start(keystone)
        placement = identity.placement(self.plan)
        self.once('placement', identity.set_up_placement)
        self.processes.start(placement)
        self.processes.await_answer(keystone)
        self.processes.once('accounts', lambda: seed.identity(self.plan))
        image.glance(self.plan)
        self.once('glance', image.set_up_glance)
        if self.plan.cinder:
            volume.cinder(self.plan)
            self.once('cinder', volume.set_up_cinder)
        self.processes.await_answer(placement)

    def prepare_neutron_and_nova(self):
        network.neutron(self.plan)
        self.once('neutron', network.set_up_neutron)
        compute.api_scheduler_conductor(self.plan)
        self.once('nova', lambda plan, processes: compute.manage(plan, processes, 'databases'))

    def services(self):
        """Those that need accounts and databases."""
        return [network.neutron(self.plan), *compute.api_scheduler_conductor(self.plan),
                image.glance(self.plan), *(volume.cinder(self.plan) if self.plan.cinder else []),
                *compute.hypervisors(self.plan)]

    def start_services(self):
        self.processes.await_answer(backing.queue(self.plan))
        services = self.services()
        for service in services:
            self.processes.start(service)
        for service in services:
            if service.port is not None:
                self.processes.await_answer(service)

    def set_up_resources(self):
        seed.await_hypervisors(self.plan)
        self.once('hosts', lambda plan, processes: compute.manage(plan, processes, 'discover-hosts'))
        steps = {'resources-compute': seed.compute, 'networks': seed.networks, 'image': seed.image}
        if self.plan.cinder:
            steps['resources-volume'] = seed.volume
        for name, step in steps.items():
            self.processes.once(name, lambda: step(self.plan))

    def write_clouds_yaml(self):
        text = 'clouds:\n'
        for name, (account, more) in CLOUDS.items():
            text += f'''\
  {name}:
    auth:
      auth_url: {self.plan.url('keystone', '/v3')}
      username: {account}
      password: {PASSWORD}
      project_name: {account}
      user_domain_name: Default
      project_domain_name: Default
    region_name: {REGION}
    identity_api_version: 3
    networks:
      - name: provider
        routes_externally: true
'''
            text += ''.join(f'    {key}: {value}\n' for key, value in more.items())
        self.clouds_yaml.write_text(text)
