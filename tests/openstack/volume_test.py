"""The cloud's block storage; only with CLOUD_CINDER=1 in the environment."""
import pytest

from launcher import wait_until


@pytest.mark.parametrize('wishes, status', [({}, 'available'), ({'fake_create_error': '1'}, 'error')])
def test_a_volume_is_made_or_fails(project, wishes, status):
    project.create_volume(wishes)
    wait_until(f'the volume is {status}', lambda: [volume['status'] for volume in project.volumes()] == [status])


def test_a_server_boots_from_a_volume_which_goes_with_it(project):
    made = project.create_server('from volume', imageRef='', block_device_mapping_v2=[{
        'boot_index': '0', 'source_type': 'image', 'destination_type': 'volume', 'volume_size': '1',
        'uuid': project.image('tiny-image'), 'delete_on_termination': True}])
    server = project.await_status(made, 'ACTIVE', 'ERROR')
    assert server['status'] == 'ACTIVE'
    (volume,) = project.volumes()
    assert server['os-extended-volumes:volumes_attached'] == [{'id': volume['id']}]
    project.delete_server(made)
    wait_until('the volume is gone', lambda: project.volumes() == [])
