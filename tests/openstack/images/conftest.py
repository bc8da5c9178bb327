import pytest

from control_plane.processes import tail
from image_installation import ImageInstallation


@pytest.fixture
def sky(guests):
    """Describes a provider with a label for each image: sky('tiny', {'name': 'big', 'meta': …}, name=…, cloud=…)."""
    def provider(*images, name='sky', cloud='fake', **more):
        images = [{'name': image} if isinstance(image, str) else image for image in images]
        return {
            'name': name, 'driver': 'openstack', 'cloud': cloud, 'rate': 0, 'boot-timeout': 30,
            'launch-timeout': 120,
            'diskimages': [{'connection-port': guests.port, **image} for image in images],
            'pools': [{'name': 'main', 'networks': ['provider'], 'auto-floating-ip': False, 'labels': [
                {'name': f'{name}-{image["name"]}', 'diskimage': image['name'], 'flavor-name': 'm1.small'}
                for image in images]}],
            **more}
    return provider


@pytest.fixture
def nodepool(cloud, tmp_path):
    """A launcher and a builder that are not started yet: nodepool([provider, …], [diskimage, …])."""
    installations = []

    def make(providers, diskimages):
        installation = ImageInstallation(tmp_path / f'nodepool{len(installations)}', cloud, providers, diskimages)
        installations.append(installation)
        return installation

    yield make
    for installation in installations:
        installation.close()
        for log in installation.logs():  # shown when the test fails
            print(f'--- {log}\n{tail(log, 100)}')
