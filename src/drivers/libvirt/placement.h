#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/random.h"
#include "driver/resources.h"
#include "drivers/libvirt/api/host.h"
#include "drivers/libvirt/config/libvirt_config.h"

// On which host a machine fits, and what is free there: functions of the hosts' states.
namespace nodepool::drivers::libvirt {

// What a host may give to all domains.
struct Capacity {
  double cpus = 0;
  double memory = 0;  // MiB
};
Capacity capacity_of(const HostState& host, const LibvirtConfig& config);

// A machine that is being launched: it counts from its placement until the host lists its domain.
struct PendingMachine {
  std::int64_t cpus = 0;
  std::int64_t memory = 0;  // MiB
  std::vector<std::string> host_devices;
  int port = 0;
};
using PendingMachines = std::map<std::string, PendingMachine, std::less<>>;  // by domain

// What is taken of a host by domains that run or are Nodepool's, and by pending machines.
struct Occupancy {
  double cpus = 0;
  double memory = 0;
  std::set<std::string, std::less<>> host_devices;
  std::set<int> ports;
};
Occupancy occupancy_of(const HostState& host, const PendingMachines& pending_machines);

// Whether the domain takes resources of its host.
bool takes_resources(const Domain& domain);

// Why the host cannot have a machine with this label and image, even if it is empty. Returns
// nothing if it can. `volume`: of the image; empty: not checked.
std::optional<std::string> misfit(const HostState& host, const LibvirtLabel& label,
                                  const std::string& volume, const LibvirtConfig& config);

// The free memory of the host after another machine with this label; nothing if it does not fit.
std::optional<double> memory_left(const HostState& host, const Occupancy& occupied,
                                  const LibvirtLabel& label, const LibvirtConfig& config);

// A port of the range that is free as far as libvirt knows: the first one from `start` on, cyclic.
// 0: all are taken.
int free_port(const NetworkCard& card, const Occupancy& occupied, std::size_t start);

// MAC addresses that no domain of the host has. They are random: a job that could predict them
// could get the DHCP lease, and thus the address, of another machine.
std::vector<std::string> free_macs(const HostState& host, std::size_t count, async::Random& random);

// Whether domains of the provider use KVM on this host.
bool uses_kvm(const HostState& host, const LibvirtConfig& config);

// The resources of a machine: "instances", "cores", "ram", and each host device by its name.
driver::Resources resources_of(std::int64_t cpus, std::int64_t memory,
                               const std::vector<std::string>& host_devices);

}  // namespace nodepool::drivers::libvirt
