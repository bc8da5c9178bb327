"""Who may use a host, by the rules of docs/drivers/libvirt.md."""
import contextlib
import os
import pathlib
import re
import subprocess

import pytest

from host import HERE, Host

MANUAL = pathlib.Path('docs/drivers/libvirt.md')
USER = 'nodepool', 990
GROUP = 'libvirt', 991


class PolkitHost(Host):
    """A host whose libvirtd asks polkit, as with Debian's package. `rule`: of the site."""

    def __init__(self, folder, number, rule):
        super().__init__(folder, number)
        self.rules = folder / 'rules'
        self.rules.mkdir()
        (self.rules / '50-nodepool.rules').write_text(rule)
        config = folder / 'etc/libvirtd.conf'
        config.write_text(config.read_text()
                          .replace('auth_unix_rw = "none"', 'auth_unix_rw = "polkit"')
                          .replace('unix_sock_rw_perms = "0700"', 'unix_sock_rw_perms = "0777"'))
        name, number = USER
        with (folder / 'passwd').open('a') as users:
            users.write(f'{name}:x:{number}:{number}::/:/bin/sh\n')
        self.groups = folder / 'group'
        self.groups.write_text(f'{self.groups.read_text()}{name}:x:{number}:\n{GROUP[0]}:x:{GROUP[1]}:\n')

    def open_namespaces(self):
        super().open_namespaces()
        subprocess.run([*self.inside('--mount', '--pid'), HERE / 'polkit', os.environ['LIBVIRT_PACKAGE'], self.rules],
                       check=True)

    def add_to_group(self):
        # The file is mounted: it must remain the same one.
        self.groups.write_text(re.sub(f'(?m)^{GROUP[0]}:.*', rf'\g<0>{USER[0]}', self.groups.read_text()))

    def as_user(self):
        """What the user sees of the host's domains."""
        number = str(USER[1])
        return subprocess.run(
            [*self.inside('--mount', '--pid'), 'setpriv', '--reuid', number, '--regid', number, '--clear-groups',
             'virsh', '-c', 'qemu:///system', 'list', '--all', '--name'],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={'HOME': '/', 'PATH': '/usr/bin:/bin'})


@contextlib.contextmanager
def polkit_host(folder, rule=''):
    host = PolkitHost(folder, 3, rule)
    try:
        host.start()
        yield host
    finally:
        host.stop()


@pytest.fixture
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp('polkit')


@pytest.fixture
def rule():
    """The rule of the manual."""
    (text,) = re.findall('```js\n(.*?)```', MANUAL.read_text(), re.DOTALL)
    return text


def test_a_user_is_refused_until_it_is_in_the_group(folder):
    with polkit_host(folder) as host:
        refused = host.as_user()
        assert refused.returncode == 1 and 'org.libvirt.unix.manage' in refused.stderr
        host.add_to_group()
        assert host.as_user().returncode == 0


def test_the_rule_is_for_one_user(folder, rule):
    with polkit_host(folder, rule) as host:
        assert host.as_user().returncode == 0


def test_the_rule_is_for_no_other_user(folder, rule):
    assert '"nodepool"' in rule
    with polkit_host(folder, rule.replace('"nodepool"', '"another"')) as host:
        assert host.as_user().returncode == 1
