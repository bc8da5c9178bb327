"""Zuul's own parsers of its configuration, as its scheduler applies them to a tenant's files."""
import configparser
import types

import yaml
from zuul import model
from zuul.configloader import (FlavorParser, ImageParser, LabelParser, ProviderParser,
                               SectionParser)
from zuul.driver.aws import AwsDriver
from zuul.driver.azure import AzureDriver
from zuul.driver.kubernetes import KubernetesDriver
from zuul.driver.openstack import OpenstackDriver
from zuul.driver.static import StaticDriver

PARSERS = {'image': ImageParser, 'flavor': FlavorParser, 'label': LabelParser,
           'section': SectionParser, 'provider': ProviderParser}
DRIVERS = {driver.name: driver for driver in (AwsDriver, AzureDriver, KubernetesDriver,
                                              OpenstackDriver, StaticDriver)}


class Layout:
    """The objects of a file, parsed and put together; what Zuul refuses is an exception."""

    def __init__(self, text):
        self.connections = {name: connection(name, settings)
                            for name, settings in connections_in(text).items()}
        self.objects = yaml.safe_load(text)
        self.layout = model.Layout(types.SimpleNamespace(name='tenant'))
        for entry in self.objects:
            (kind, conf), = entry.items()
            self.add(kind, dict(conf))
        for label in self.layout.labels.values():
            label.validateReferences(self.layout)
        self.providers = {name: self.provider(config)
                          for name, config in self.layout.provider_configs.items()}

    def add(self, kind, conf):
        source = model.SourceContext('example.org/project', 'project', 'example', 'main', 'zuul.yaml')
        place = types.SimpleNamespace(name='zuul.yaml', line=0, column=0, index=0)
        mark = model.ZuulMark(place, place, '')
        parsed = PARSERS[kind](None).fromYaml({**conf, '_source_context': source, '_start_mark': mark})
        add = {'image': self.layout.addImage, 'flavor': self.layout.addFlavor,
               'label': self.layout.addLabel, 'section': self.layout.addSection,
               'provider': self.layout.addProviderConfig}
        add[kind](parsed)

    def provider(self, config):
        flat = config.flattenConfig(self.layout, self.connections)
        link = self.connections[flat['connection']]
        return link.driver.getProvider(None, link, 'tenant', config.canonical_name, flat, 'system')


def connection(name, settings):
    driver = DRIVERS[settings['driver']]()
    if settings['driver'] == 'openstack':  # which would ask the cloud
        driver._getEndpoint = lambda *_: types.SimpleNamespace(getImageFormat=lambda: 'qcow2')
    return driver.getConnection(name, settings)


def connections_in(text):
    """The connections in the comments at the beginning."""
    lines = [line[4:] for line in text.splitlines() if line.startswith('#   ')]
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string('\n'.join(lines))
    return {section.removeprefix('connection '): dict(parser[section])
            for section in parser.sections()}
