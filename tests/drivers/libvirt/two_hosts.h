#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/post.hpp>

#include "drivers/libvirt/domain_xml.h"
#include "drivers/libvirt/libvirt_driver.h"
#include "tests/driver/harness/installation.h"
#include "tests/driver/harness/launcher_process.h"
#include "tests/drivers/contract/contract.h"
#include "tests/drivers/libvirt/fake_host.h"

namespace nodepool::drivers::libvirt {

inline constexpr const char* kTwoHosts = R"(
labels: [{name: small}, {name: gpu}, {name: forwarded}, {name: bridged}, {name: wide}]
providers:
  - name: rack
    driver: libvirt
    launch-timeout: 900
    memory-reserve: 1000
    cpu-overcommit: 2
    hosts: [{name: one, uri: one}, {name: two, uri: two, address: 192.0.2.200}]
    keys: [ssh-ed25519 AAAA ci]
    cloud-images: [{name: debian, volume: image.qcow2, username: ci}]
    pools:
      - name: main
        host-key-checking: false
        labels:
          - {name: small, cloud-image: debian, cpus: 2, memory: 1000, disk: 20}
          - {name: gpu, cloud-image: debian, memory: 1000, host-devices: [pci_0000_01_00_0]}
          - name: forwarded
            cloud-image: debian
            memory: 1000
            networks: [{user: {ports: 20000-20001}}]
          - {name: bridged, cloud-image: debian, memory: 1000, networks: [{bridge: br0}]}
          - {name: wide, cloud-image: debian, cpus: 64}
)";

// A provider with two hosts, and a launcher.
class HostsTest : public testing::Test {
 protected:
  HostsTest() {
    for (const char* name : {"one", "two"}) {
      auto host = std::make_shared<FakeHost>(installation_.clock);
      host->cpus = 8;
      host->memory = 5000;
      host->create_volume(volume_xml("image.qcow2", "qcow2", 1U << 30U));
      hosts_.emplace(name, std::move(host));
    }
    start();
  }

  // Starts a launcher; an earlier one dies.
  void start() {
    process_.reset();
    const auto connect = [hosts = hosts_](const std::string& uri, const std::string& /*pool*/) {
      return [host = hosts.at(uri)] { return host; };
    };
    process_ = std::make_unique<driver::harness::LauncherProcess>(
        installation_, [this, connect](driver::ProviderContext context) {
          loop_ = context.runtime.executor;
          const LibvirtDriver driver(connect);
          return driver.provider(contract::read_provider(driver, configuration_),
                                 std::move(context));
        });
  }

  // Starts a launcher without this part of the configuration.
  void start_without(std::string_view part) {
    configuration_.erase(configuration_.find(part), part.size());
    start();
  }

  // Starts a launcher with another storage pool, which has the image.
  void change_storage_pool(const std::string& name) {
    for (const auto& [uri, host] : hosts_) {
      host->other_pools[std::exchange(host->storage_pool, name)] = std::exchange(host->volumes, {});
      host->create_volume(volume_xml("image.qcow2", "qcow2", 1U << 30U));
    }
    configuration_.insert(configuration_.find("    hosts:"), "    storage-pool: " + name + "\n");
    start();
  }

  FakeHost& one() { return *hosts_.at("one"); }
  FakeHost& two() { return *hosts_.at("two"); }
  driver::Provider& provider() { return process_->provider(); }

  std::string add_node(std::string_view label = "small") {
    return installation_.add_node("rack", "main", label);
  }

  // Lets time pass during a call, on whose thread it is called.
  void pass_during_call(async::Duration duration) {
    std::promise<void> passed;
    boost::asio::post(loop_, [&] {
      installation_.clock.advance_by(duration);
      passed.set_value();
    });
    passed.get_future().wait();
  }

  std::shared_ptr<driver::harness::Job> launch(const std::string& id) {
    auto job = process_->launch(id);
    process_->run_until_ended(*job);
    return job;
  }

  model::Node launch_new(std::string_view label = "small") {
    const std::string id = add_node(label);
    EXPECT_EQ(launch(id)->failure(), "");
    return installation_.node(id);
  }

  std::string problem_of(std::string_view label) {
    process_->run(provider().available());
    return provider().offer()->label("main", label).problem;
  }

  // Two searches: a leak is deleted when it is seen again.
  void remove_leaks() {
    for (int i = 0; i < 2; ++i) {
      process_->pass(std::chrono::minutes(1));
      process_->run(provider().launching()->remove_leaks());
    }
  }

  static std::string host_of(const model::Node& node) { return node.host_id.value_or(""); }

  // The only domain of a host.
  static const Domain& domain_of(FakeHost& host) {
    EXPECT_THAT(host.domains, testing::SizeIs(1));
    return host.domains.begin()->second.description;
  }

  std::string configuration_ = kTwoHosts;
  driver::harness::Installation installation_;
  std::map<std::string, std::shared_ptr<FakeHost>> hosts_;
  std::unique_ptr<driver::harness::LauncherProcess> process_;
  async::Executor loop_;  // of the process
};

}  // namespace nodepool::drivers::libvirt
