#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "tests/drivers/azure/stand_in/stand_in.h"
#include "tests/drivers/contract/contract.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::drivers::contract {

// How often a call is made until it has failed for the driver.
inline constexpr std::size_t kAttempts = 4;

// A resource group of the stand-in, with a provider that has no rate limit.
class AzureFixture : public CloudFixture {
 public:
  explicit AzureFixture(harness::Installation& installation)
      : runtime_{loop_.executor(), installation.clock, installation.random}, cloud_(runtime_) {}

  std::unique_ptr<driver::Provider> make_provider(driver::ProviderContext context) override;
  std::string machine_of(const model::Node& node) override;
  std::vector<Machine> machines() override;
  void provoke(Trouble trouble, std::size_t times) override;
  void set_boot_time(async::Duration time) override { cloud_.boot_time = time; }
  void set_capacity(std::size_t machines) override { cloud_.capacity = machines; }
  void add_machine(driver::Metadata metadata) override;
  void end_machine(const std::string& id) override;
  bool wait_for_wire() override;

  azure::StandIn& cloud() { return cloud_; }

  int rate = 0;  // calls a second; 0: no limit

 protected:
  // Names are used again, ids are not.
  virtual std::string id_of(const azure::StandIn::Resource& machine) const { return machine.id; }

 private:
  void provoke_busy(std::size_t times);

  async::EventLoop loop_;
  async::Runtime runtime_;
  azure::StandIn cloud_;
  test_support::TemporaryDirectory directory_;
  async::Executor launcher_;
  int others_ = 0;
};

// What Azure alone does.
class AzureContract : public DriverContract {
 protected:
  azure::StandIn& azure() { return static_cast<AzureFixture&>(*cloud_).cloud(); }

  async::Task<> read_available() { co_await provider().available(); }

  // Machines, interfaces, addresses and disks.
  std::size_t count_of_all();
};

}  // namespace nodepool::drivers::contract
