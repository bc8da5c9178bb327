#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/statemachine/adapter.h"
#include "drivers/libvirt/config/libvirt_config.h"
#include "drivers/libvirt/domain_xml.h"
#include "drivers/libvirt/host_line.h"
#include "telemetry/log.h"

namespace nodepool::drivers::libvirt {

// The hosts of a provider, by name.
using HostLines = std::map<std::string, std::unique_ptr<HostLine>, std::less<>>;

// The states of all hosts, at most `max_age` old, asked for at the same time. nullptr: the host
// does not respond. `lines` outlive it.
using HostStates = std::map<std::string, HostLine::States::Pointer, std::less<>>;
async::Task<HostStates> states_of(async::Runtime runtime, const HostLines& lines,
                                  async::Duration max_age);

// Throws CloudError(transient), with the reasons of all hosts, if none has a state.
void require_any(const HostStates& states, const HostLines& lines);

// The external id of a machine: "HOST/DOMAIN".
struct MachineId {
  std::string host;
  std::string domain;
};
std::string text_of(const MachineId& id);
// Throws CloudError(failed) for another text.
MachineId parse_machine_id(const std::string& text);

// The host of a machine. Throws CloudError(failed) if the configuration does not have it.
HostLine& line_of(const HostLines& lines, const std::string& host);

// The domain of that name in the list; nullptr if there is none.
const Domain* domain_in(const HostState& host, const std::string& name);

// The dependencies of launches. All of them outlive these.
struct LaunchContext {
  async::Runtime runtime;
  const LibvirtConfig& config;
  const HostLines& lines;
  telemetry::Logger log;
};

// Makes one machine; see driver::Adapter::create().
class DomainLaunch {
 public:
  // `steps` outlives it.
  DomainLaunch(LaunchContext context, driver::CreateSpec spec, driver::LaunchSteps& steps);
  ~DomainLaunch();
  DomainLaunch(const DomainLaunch&) = delete;
  DomainLaunch& operator=(const DomainLaunch&) = delete;

  // Throws CloudError.
  async::Task<driver::Instance> run();

 private:
  async::Task<std::string> choose_host();
  // Why the machine cannot be on this host, even if that is empty; nothing if it can.
  std::optional<std::string> objection(const HostState& host) const;
  bool has_domain_of_earlier_attempt(const HostState& host) const;
  void reserve(HostLine& line);
  async::Task<driver::Instance> make_machine();
  async::Task<std::string> define();
  async::Task<std::optional<std::string>> find();
  async::Task<std::optional<Domain>> look_up();
  async::Task<> start();
  async::Task<driver::Instance> wait_for_address();
  async::Task<std::string> address_of(const HostState& host, const Domain& domain);

  LaunchContext context_;
  driver::CreateSpec spec_;
  driver::LaunchSteps& steps_;
  const LibvirtLabel& label_;
  std::string volume_;                                 // of the image
  std::string name_;                                   // of the domain
  HostLine* line_ = nullptr;                           // once it is chosen
  std::shared_ptr<PendingMachines> pending_machines_;  // of this host; with an entry for the domain
};

}  // namespace nodepool::drivers::libvirt
