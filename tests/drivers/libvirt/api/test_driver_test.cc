// The connection to a host, with the driver `test` of libvirt's own library, which needs no daemon.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "driver/cloud_error.h"
#include "drivers/libvirt/api/descriptions.h"
#include "drivers/libvirt/api/libvirt_host.h"

namespace nodepool::drivers::libvirt {
namespace {

using driver::CloudError;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kDomain = R"(
<domain type='test'>
  <name>np1</name><uuid>8d5f0a8e-0000-8000-8000-000000000001</uuid>
  <metadata><np:node xmlns:np='urn:nodepool:libvirt'>
    <np:tag key='nodepool_node_id'>1</np:tag></np:node></metadata>
  <memory unit='MiB'>64</memory><vcpu>2</vcpu><os><type>hvm</type></os>
</domain>)";

constexpr const char* kVolume = R"(
<volume><name>np1.qcow2</name><capacity unit='bytes'>1048576</capacity>
  <target><format type='qcow2'/></target></volume>)";

CloudError::Kind kind_of_failure(const std::function<void()>& call) {
  try {
    call();
  } catch (const CloudError& error) {
    return error.kind();
  }
  ADD_FAILURE() << "no error";
  return {};
}

class TestDriver : public testing::Test {
 protected:
  std::shared_ptr<Hypervisor> host_ = libvirt_host("test:///default", "default-pool")();
};

TEST_F(TestDriver, a_domain_is_defined_started_and_stopped) {
  host_->define_domain(kDomain);
  host_->define_domain(kDomain);
  auto domain = host_->find_domain("np1");
  ASSERT_TRUE(domain);
  EXPECT_EQ(domain->state, Domain::State::off);
  EXPECT_EQ(domain->memory, 64);
  EXPECT_EQ(domain->tags.at("nodepool_node_id"), "1");
  host_->start_domain("np1");
  host_->start_domain("np1");
  EXPECT_EQ(host_->find_domain("np1")->state, Domain::State::running);
  EXPECT_THAT(host_->state({}).domains, Contains(Field(&Domain::name, "np1")));
  host_->stop_domain("np1");
  host_->stop_domain("np1");
  EXPECT_THAT(host_->find_domain("np1")->reason, HasSubstr("shut off"));
  host_->stop_domain("none");
  host_->undefine_domain("none");  // with flags that this driver does not know
  EXPECT_FALSE(host_->find_domain("none"));
}

TEST_F(TestDriver, a_volume_is_created_listed_and_deleted) {
  host_->create_volume(kVolume);
  EXPECT_THAT(host_->state({}).volumes, Contains("np1.qcow2"));
  EXPECT_EQ(read_volume(*host_->volume_xml("np1.qcow2")).capacity, 1048576U);
  host_->delete_volume("np1.qcow2");
  host_->delete_volume("np1.qcow2");
  EXPECT_FALSE(host_->volume_xml("np1.qcow2"));
  host_->create_volume(kVolume);
  const auto with_other_pool = libvirt_host("test:///default", "none")();
  with_other_pool->delete_volume_in("default-pool", "np1.qcow2");
  EXPECT_FALSE(host_->volume_xml("np1.qcow2"));
}

TEST_F(TestDriver, the_host_is_described) {
  const HostState state = host_->state({.networks = {"default", "none"}, .host_devices = {"none"}});
  EXPECT_GT(state.cpus, 0);
  EXPECT_GT(state.memory, 0);
  EXPECT_FALSE(state.has_kvm);
  EXPECT_THAT(state.pool_path, Not(IsEmpty()));
  EXPECT_THAT(state.networks, testing::ElementsAre("default"));
  EXPECT_THAT(state.host_devices, IsEmpty());
  EXPECT_THAT(host_->addresses_by_arp("none"), IsEmpty());
}

TEST_F(TestDriver, errors_have_kinds) {
  const auto start_none = [&] { host_->start_domain("none"); };
  EXPECT_EQ(kind_of_failure(start_none), CloudError::Kind::failed);
  const auto define_bad = [&] { host_->define_domain("<domain"); };
  EXPECT_EQ(kind_of_failure(define_bad), CloudError::Kind::permanent);
  const auto no_pool = libvirt_host("test:///default", "none")();
  const auto ask = [&] { no_pool->state({}); };
  EXPECT_EQ(kind_of_failure(ask), CloudError::Kind::failed);
  const auto erase = [&] { no_pool->delete_volume("none"); };
  EXPECT_EQ(kind_of_failure(erase), CloudError::Kind::failed) << "the volume may exist";
}

TEST(Connection, an_unreachable_host_is_transient_and_named) {
  const auto host = libvirt_host("qemu+unix:///system?socket=/nonexistent/socket", "default")();
  try {
    host->state({});
    FAIL();
  } catch (const CloudError& error) {
    EXPECT_EQ(error.kind(), CloudError::Kind::transient);
    EXPECT_THAT(error.what(), HasSubstr("/nonexistent/socket"));
  }
}

}  // namespace
}  // namespace nodepool::drivers::libvirt
