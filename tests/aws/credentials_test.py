"""Where the keys come from: the programs, end to end, against moto's STS, files and programs."""
import pytest

from aws_cloud import KEYS, tags

ROLE = 'arn:aws:iam::123456789012:role/nodepool'
PROFILE_KEYS = (f"aws_access_key_id = {KEYS['AWS_ACCESS_KEY_ID']}\n"
                f"aws_secret_access_key = {KEYS['AWS_SECRET_ACCESS_KEY']}\n")


def serve_a_node(launcher, cloud):
    lease = launcher.ask('small').lease()
    (node,) = lease['nodes']
    (instance,) = cloud.instances()
    assert tags(instance)['nodepool_node_id'] == node['id']
    launcher.release(lease)
    launcher.await_no_nodes()


def since(cloud, before, action):
    return cloud.calls().get(action, 0) - before.get(action, 0)


@pytest.mark.smoke
def test_a_role_is_assumed_with_the_keys_of_a_profile(nodepool, sky, cloud, tmp_path):
    config = tmp_path / 'config'
    config.write_text(f'[profile ci]\nrole_arn = {ROLE}\nsource_profile = base\n[profile base]\n{PROFILE_KEYS}')
    before = cloud.calls()
    launcher = nodepool(sky(**{'profile-name': 'ci'}), environment={'AWS_CONFIG_FILE': str(config)})
    serve_a_node(launcher, cloud)
    assert since(cloud, before, 'AssumeRole') == 1, 'its keys are good for all calls'


def test_a_web_identity_gets_keys_of_its_role(nodepool, sky, cloud, tmp_path):
    token = tmp_path / 'token'
    token.write_text('eyJhbGciOiJub25lIn0.eyJzdWIiOiJub2RlcG9vbCJ9.\n')
    before = cloud.calls()
    launcher = nodepool(sky(), environment={'AWS_WEB_IDENTITY_TOKEN_FILE': str(token), 'AWS_ROLE_ARN': ROLE})
    serve_a_node(launcher, cloud)
    assert since(cloud, before, 'AssumeRoleWithWebIdentity') == 1
    assert 'eyJhbGci' not in launcher.log.read_text()


def test_a_program_hands_out_the_keys(nodepool, sky, cloud, tmp_path):
    keys = tmp_path / 'keys'
    keys.write_text('#!/bin/sh\n[ "$1" = "of the ci" ] || exit 1\n'
                    f"echo '{{\"Version\": 1, \"AccessKeyId\": \"{KEYS['AWS_ACCESS_KEY_ID']}\","
                    f" \"SecretAccessKey\": \"{KEYS['AWS_SECRET_ACCESS_KEY']}\"}}'\n")
    keys.chmod(0o700)
    config = tmp_path / 'config'
    config.write_text(f'[profile ci]\ncredential_process = {keys} "of the ci"\n')
    launcher = nodepool(sky(), environment={'AWS_CONFIG_FILE': str(config), 'AWS_PROFILE': 'ci'})
    serve_a_node(launcher, cloud)
