"""Uploads that are tried out before nodes are made from them: `validate:`, on a real cloud with a real sshd."""
import shlex

import pytest

from launcher import wait_until


class Validation:
    """An installation whose uploads are fit if the file `fit` is there."""

    def __init__(self, nodepool, sky, environment, directory):
        self.fit = directory / 'fit'
        self.tried = directory / 'tried'
        tried, fit = (shlex.quote(str(path)) for path in (self.tried, self.fit))
        image = {'name': 'tiny', 'validate': {
            'label': 'sky-tiny', 'command': f'echo "$SSH_CONNECTION" >> {tried}; test -e {fit} || ! echo unfit'}}
        self.installation = nodepool([sky(image)], {'tiny': {'username': 'root'}})
        self.installation.builder.environment = {**self.installation.builder.environment, **environment}

    def failed_uploads(self):
        return [upload for upload in self.installation.uploads('tiny') if upload['state'] == 'failed']

    def nodes_on_trial(self):
        return [node for node in self.installation.nodes() if 'validates upload' in (node['comment'] or '')]


@pytest.fixture
def validation(nodepool, sky, guests, tmp_path):
    with guests.agent() as environment:
        yield Validation(nodepool, sky, environment, tmp_path)


def test_an_upload_is_used_after_a_node_of_it_has_run_the_command(validation, project, guests):
    validation.fit.touch()
    installation = validation.installation
    installation.builder.start()
    installation.start()
    upload = installation.await_upload('tiny')
    (connection,) = validation.tried.read_text().splitlines()
    assert connection.split()[3] == str(guests.port)
    wait_until('the node of the trial is gone', lambda: not installation.nodes() and not project.servers())
    node = installation.launch('sky-tiny')
    assert project.server(node['external_id'])['image']['id'] == upload['external_id']


def test_an_unfit_upload_is_not_used_and_goes(validation, project):
    validation.fit.touch()
    installation = validation.installation
    installation.builder.start()
    installation.start()
    good = installation.await_upload('tiny')
    validation.fit.unlink()
    installation.run('image-build', 'tiny')
    (failed, *_) = wait_until('the new upload has failed', validation.failed_uploads)
    assert failed['id'] != good['id']
    wait_until('its image is gone', lambda: [image['id'] for image in project.own_images()] == [
        good['external_id']])
    node = installation.launch('sky-tiny')
    assert project.server(node['external_id'])['image']['id'] == good['external_id']
    log = (installation.build_logs / 'validations' / f'tiny-{failed["id"]}.log').read_text()
    assert 'unfit' in log

    validation.fit.touch()
    better = installation.await_upload('tiny', besides=[good])
    assert better['id'] == failed['id']


def test_the_validation_node_of_a_killed_builder_is_reclaimed(validation, project):
    installation = validation.installation
    installation.start()
    installation.builder.start()
    wait_until('a node is tried', validation.nodes_on_trial)
    installation.builder.kill()
    wait_until('the node is gone', lambda: not installation.nodes() and not project.servers())
    validation.fit.touch()
    installation.builder.start()
    upload = installation.await_upload('tiny')
    assert project.server(installation.launch('sky-tiny')['external_id'])['image']['id'] == upload['external_id']
