#include "drivers/libvirt/api/descriptions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "driver/cloud_error.h"

namespace nodepool::drivers::libvirt {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(Descriptions, a_domain_of_nodepool_is_read) {
  const Domain domain = read_domain(R"(
<domain type='kvm' id='3'>
  <name>np0000000001-5f3a9c01</name>
  <metadata>
    <x:other xmlns:x='urn:other'><x:tag key='nodepool_node_id'>9</x:tag></x:other>
    <np:node xmlns:np='urn:nodepool:libvirt'>
      <np:tag key='nodepool_node_id'>0000000001</np:tag>
      <np:tag key='nodepool_provider_name'>r&amp;d</np:tag>
      <np:port>20003</np:port>
    </np:node>
  </metadata>
  <memory unit='KiB'>2097152</memory>
  <vcpu placement='static' current='2'>4</vcpu>
  <devices>
    <interface type='network'><mac address='52:54:00:01:02:03'/></interface>
    <interface type='bridge'><mac address='52:54:00:01:02:04'/></interface>
    <hostdev mode='subsystem' type='pci' managed='yes'>
      <source><address domain='0x0000' bus='0x0a' slot='0x10' function='0x1'/></source>
    </hostdev>
    <hostdev mode='subsystem' type='usb'><source/></hostdev>
    <channel type='unix'>
      <target type='virtio' name='org.qemu.guest_agent.0' state='connected'/>
    </channel>
  </devices>
</domain>)");
  EXPECT_EQ(domain.name, "np0000000001-5f3a9c01");
  EXPECT_THAT(domain.tags, ElementsAre(Pair("nodepool_node_id", "0000000001"),
                                       Pair("nodepool_provider_name", "r&d")));
  EXPECT_EQ(domain.port, 20003);
  EXPECT_EQ(domain.cpus, 4);
  EXPECT_EQ(domain.memory, 2048);
  EXPECT_THAT(domain.macs, ElementsAre("52:54:00:01:02:03", "52:54:00:01:02:04"));
  EXPECT_THAT(domain.host_devices, ElementsAre("pci_0000_0a_10_1"));
  EXPECT_TRUE(domain.has_agent);
}

TEST(Descriptions, a_domain_of_others_has_no_tags) {
  const Domain domain = read_domain(R"(
<domain><name>db</name><metadata><node xmlns='urn:nodepool:libvirt'/></metadata>
  <memory unit='GiB'>3</memory><vcpu>1</vcpu></domain>)");
  EXPECT_EQ(domain.name, "db");
  EXPECT_EQ(domain.memory, 3072);
  EXPECT_THAT(domain.tags, IsEmpty());
  EXPECT_FALSE(domain.has_agent);
}

TEST(Descriptions, what_is_no_xml_is_an_error) {
  EXPECT_THROW(read_domain("<domain"), driver::CloudError);
  EXPECT_THROW(read_volume("bad"), driver::CloudError);
}

TEST(Descriptions, volumes_pools_and_capabilities_are_read) {
  const VolumeDescription volume = read_volume(R"(
<volume type='file'><name>a.qcow2</name><capacity unit='bytes'>67108864</capacity>
  <target><path>/pool/a.qcow2</path><format type='qcow2'/></target></volume>)");
  EXPECT_EQ(volume.name, "a.qcow2");
  EXPECT_EQ(volume.path, "/pool/a.qcow2");
  EXPECT_EQ(volume.format, "qcow2");
  EXPECT_EQ(volume.capacity, 67108864U);
  EXPECT_EQ(read_pool_path("<pool type='dir'><target><path>/pool</path></target></pool>"), "/pool");
  EXPECT_TRUE(
      offers_kvm("<capabilities><guest><arch name='x86_64'><domain type='qemu'/>"
                 "<domain type='kvm'/></arch></guest></capabilities>"));
  EXPECT_FALSE(
      offers_kvm("<capabilities><guest><arch><domain type='qemu'/></arch></guest>"
                 "</capabilities>"));
}

}  // namespace
}  // namespace nodepool::drivers::libvirt
