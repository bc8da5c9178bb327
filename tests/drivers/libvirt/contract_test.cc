// The contract of all drivers that make machines, on hosts in memory.

#include "tests/drivers/contract/contract.h"

#include <algorithm>

#include "driver/ownership.h"
#include "drivers/libvirt/domain_xml.h"
#include "drivers/libvirt/libvirt_driver.h"
#include "nodescan/imaginary_hosts.h"
#include "tests/drivers/libvirt/fake_host.h"

namespace nodepool::drivers::contract {
namespace {

using libvirt::Domain;
using libvirt::FakeHost;
using libvirt::Fault;
using model::Node;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kImage = "image.qcow2";
constexpr std::int64_t kMemory = 2048;
constexpr std::int64_t kCpus = 2;

std::string configuration(const std::string& hosts) {
  return R"(
labels: [{name: small}, {name: built}, {name: gpu}, {name: forwarded}]
diskimages: [{name: trixie}]
providers:
  - name: fake-contract
    driver: libvirt
    launch-timeout: 900
    memory-reserve: 0
    image-format: raw
    hosts: )" +
         hosts + R"(
    keys: [ssh-ed25519 AAAA ci]
    diskimages: [{name: trixie}]
    cloud-images: [{name: debian, volume: image.qcow2, username: ci}]
    pools:
      - name: main
        host-key-checking: false
        labels:
          - {name: small, cloud-image: debian}
          - {name: built, diskimage: trixie}
)";
}

class LibvirtFixture : public CloudFixture {
 public:
  explicit LibvirtFixture(harness::Installation& installation)
      : LibvirtFixture(installation, {"one"}) {}

  std::unique_ptr<driver::Provider> make_provider(driver::ProviderContext context) override {
    const auto connect = [hosts = hosts_](const std::string& uri, const std::string& /*pool*/) {
      return [host = hosts.at(uri)] { return host; };
    };
    const libvirt::LibvirtDriver driver(connect);
    std::string list;
    for (const auto& [uri, host] : hosts_) list += "{name: " + uri + ", uri: " + uri + "}, ";
    return driver.provider(read_provider(driver, configuration("[" + list + "]") + labels),
                           std::move(context));
  }

  std::vector<Machine> machines() override {
    std::vector<Machine> all;
    for (const auto& [uri, host] : hosts_) {
      const std::lock_guard lock(host->mutex);
      for (const auto& [name, domain] : host->domains) {
        all.push_back({uri + domain.id, domain.description.tags});
      }
    }
    return all;
  }

  std::string machine_of(const Node& node) override {
    const std::string id = node.external_id_text();
    const std::size_t slash = id.find('/');
    if (slash == std::string::npos) return {};
    FakeHost& on = host(id.substr(0, slash));
    const std::lock_guard lock(on.mutex);
    const auto found = on.domains.find(id.substr(slash + 1));
    return found == on.domains.end() ? "" : id.substr(0, slash) + found->second.id;
  }

  void provoke(Trouble trouble, std::size_t times) override {
    const auto fault = fault_of(trouble);
    if (fault) faults_->set(*fault, times);
  }

  void set_boot_time(async::Duration time) override {
    for (const auto& [uri, host] : hosts_) host->boot_time = time;
  }

  void set_capacity(std::size_t machines) override {
    for (const auto& [uri, host] : hosts_) host->memory = 0;
    auto& first = *hosts_.begin()->second;
    first.memory = static_cast<std::int64_t>(machines) * kMemory;
    first.cpus = static_cast<std::int64_t>(machines) * kCpus;
  }

  // A machine of this installation has the name of its node's.
  void add_machine(driver::Metadata metadata) override {
    const std::string node = driver::value_of(metadata, driver::kNodeIdKey);
    const bool is_ours = driver::value_of(metadata, driver::kProviderNameKey) == kProvider;
    Domain domain;
    domain.name = is_ours ? libvirt::domain_name("np" + node, metadata)
                          : "other-" + std::to_string(++others_);
    domain.tags = std::move(metadata);
    domain.cpus = kCpus;
    domain.memory = kMemory;
    domain.macs = {"52:54:00:00:00:01"};
    hosts_.begin()->second->add(std::move(domain));
  }

  void end_machine(const std::string& id) override {
    for (const auto& [uri, host] : hosts_) {
      for (const auto& [name, domain] : std::map(host->domains)) {
        if (uri + domain.id == id) host->crash(name);
      }
    }
  }

  FakeHost& host(const std::string& name) { return *hosts_.at(name); }

  std::string labels;  // more of the pool, as YAML

 protected:
  LibvirtFixture(harness::Installation& installation, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      const auto host = std::make_shared<FakeHost>(installation.clock);
      host->create_volume(libvirt::volume_xml(kImage, "qcow2", 1U << 30U));
      host->faults = faults_;
      hosts_.emplace(name, host);
    }
  }

 private:
  static std::optional<Fault> fault_of(Trouble trouble) {
    switch (trouble) {
      case Trouble::quota:
        return Fault::define_refused;
      case Trouble::no_capacity:
        return Fault::start_full;
      case Trouble::creation_error:
        return Fault::define_failed;
      case Trouble::broken_machine:
        return Fault::start_broken;
      case Trouble::response_lost:
        return Fault::define_lost;
      case Trouble::request_lost:
        return Fault::define_unanswered;
      case Trouble::deletion_error:
        return Fault::stop_failed;
      case Trouble::listing_error:
      case Trouble::limits_error:
        return Fault::state_away;
      case Trouble::listing_failed:
        return Fault::state_failed;
      case Trouble::image_error:
        return Fault::write_failed;
      default:
        return std::nullopt;
    }
  }

  std::map<std::string, std::shared_ptr<FakeHost>> hosts_;
  std::shared_ptr<libvirt::Faults> faults_ = std::make_shared<libvirt::Faults>();
  int others_ = 0;
};

class TwoHostsFixture final : public LibvirtFixture {
 public:
  explicit TwoHostsFixture(harness::Installation& installation)
      : LibvirtFixture(installation, {"one", "two"}) {
    host("two").memory /= 2;  // so that the first one is preferred
  }
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(libvirt, DriverContract, testing::Values(backend<LibvirtFixture>()));
INSTANTIATE_TEST_SUITE_P(libvirt, DeathContract, testing::Values(backend<LibvirtFixture>()));
INSTANTIATE_TEST_SUITE_P(libvirt, QuotaContract, testing::Values(backend<LibvirtFixture>()));
INSTANTIATE_TEST_SUITE_P(libvirt, EndContract, testing::Values(backend<LibvirtFixture>()));
INSTANTIATE_TEST_SUITE_P(libvirt, ImageContract, testing::Values(backend<LibvirtFixture>()));
INSTANTIATE_TEST_SUITE_P(two_hosts, DriverContract, testing::Values(backend<TwoHostsFixture>()));
INSTANTIATE_TEST_SUITE_P(two_hosts, DeathContract, testing::Values(backend<TwoHostsFixture>()));

}  // namespace nodepool::drivers::contract
