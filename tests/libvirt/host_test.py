"""The hosts themselves: what the other tests rely on."""


def test_a_host_keeps_what_it_has_when_libvirtd_is_killed(hosts):
    for host in hosts:
        assert (host.domains(), host.volumes()) == (set(), {'base.qcow2'})
        host.kill_daemon()
        host.start_daemon()
        assert host.volumes() == {'base.qcow2'}
        assert 'default' in host.virsh('net-list', '--name')
