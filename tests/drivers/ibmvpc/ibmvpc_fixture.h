#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "tests/drivers/contract/contract.h"
#include "tests/drivers/ibmvpc/stand_in/stand_in.h"

namespace nodepool::drivers::contract {

// How often a call is made until it has failed for the driver.
inline constexpr std::size_t kAttempts = 4;

// A region of the stand-in, with a provider that has no rate limit.
class IbmVpcFixture : public CloudFixture {
 public:
  explicit IbmVpcFixture(harness::Installation& installation)
      : runtime_{loop_.executor(), installation.clock, installation.random}, cloud_(runtime_) {}

  std::unique_ptr<driver::Provider> make_provider(driver::ProviderContext context) override;
  std::string machine_of(const model::Node& node) override;
  std::string image_name(const std::string& name, const driver::Metadata& metadata) override;
  std::vector<Machine> machines() override;
  void provoke(Trouble trouble, std::size_t times) override;
  void set_boot_time(async::Duration time) override { cloud_.boot_time = time; }
  void set_capacity(std::size_t machines) override { cloud_.capacity = machines; }
  void add_machine(driver::Metadata metadata) override;
  void end_machine(const std::string& id) override { cloud_.instances.at(id).status = "stopped"; }
  bool wait_for_wire() override;

  ibmvpc::StandIn& cloud() { return cloud_; }

  bool has_floating_ips = false;
  int rate = 0;  // calls a second; 0: no limit

 private:
  void provoke_busy(std::size_t times);

  async::EventLoop loop_;
  async::Runtime runtime_;
  ibmvpc::StandIn cloud_;
  async::Executor launcher_;
  int others_ = 0;
};

// What IBM Cloud alone does.
class IbmVpcContract : public DriverContract {
 protected:
  IbmVpcFixture& fixture() { return static_cast<IbmVpcFixture&>(*cloud_); }
  ibmvpc::StandIn& ibm() { return fixture().cloud(); }
};

}  // namespace nodepool::drivers::contract
