#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "driver/images.h"

namespace nodepool::drivers::libvirt {

// A domain as a host lists it.
struct Domain {
  enum class State { off, starting, running, paused, stopping, crashed };

  std::string name;
  driver::Metadata tags;  // the owner tags; empty: it is not Nodepool's
  int port = 0;           // of the host, forwarded to it; 0: none
  std::int64_t cpus = 0;
  std::int64_t memory = 0;                // MiB
  std::vector<std::string> macs;          // of the network cards
  std::vector<std::string> host_devices;  // libvirt's names
  bool has_agent = false;                 // the guest agent is connected
  State state = State::off;
  std::string reason;             // of the state, in libvirt's words
  std::string storage_pool = {};  // of its disk; empty: none

  bool is_active() const { return state != State::off && state != State::crashed; }
};

// A host at one moment.
struct HostState {
  std::int64_t cpus = 0;
  std::int64_t memory = 0;  // MiB
  bool has_kvm = false;
  std::string pool_path;  // the directory of the storage pool
  std::vector<Domain> domains;
  std::map<std::string, std::string> leases;  // MAC address: IPv4 address
  std::set<std::string, std::less<>> volumes;
  std::set<std::string, std::less<>> host_devices;  // those of HostQuery that exist
  std::set<std::string, std::less<>> networks;      // those of HostQuery that exist
};

// What to look for besides domains and volumes.
struct HostQuery {
  std::set<std::string> networks;      // of libvirt
  std::set<std::string> host_devices;  // PCI devices, by libvirt's names
};

// A host with one storage pool: a narrow interface to libvirt. The functions block, maybe forever;
// see HostLine. They throw CloudError: `transient` if nothing has been done, `unknown_outcome` if
// the connection was lost during a change.
class Hypervisor {
 public:
  virtual ~Hypervisor() = default;

  virtual HostState state(const HostQuery& query) = 0;

  // A domain; nothing if there is none of that name.
  virtual std::optional<Domain> find_domain(const std::string& name) = 0;
  // Defines a domain, or replaces one with the same UUID.
  virtual void define_domain(const std::string& xml) = 0;
  // Succeeds if it runs already.
  virtual void start_domain(const std::string& name) = 0;
  // Ends the domain at once, and forgets it. Succeed if it does not run, or does not exist.
  virtual void stop_domain(const std::string& name) = 0;
  virtual void undefine_domain(const std::string& name) = 0;

  // The IPv4 addresses of a running domain. Return none if they are not known.
  virtual std::vector<std::string> addresses_by_agent(const std::string& domain) = 0;
  virtual std::vector<std::string> addresses_by_arp(const std::string& domain) = 0;

  // The description of a volume; nothing if there is none.
  virtual std::optional<std::string> volume_xml(const std::string& name) = 0;
  virtual void create_volume(const std::string& xml) = 0;
  // Replaces bytes of a volume's file, from `offset` on. Throws if not all have been stored.
  virtual void write_volume(const std::string& name, std::uint64_t offset, std::string bytes) = 0;
  // The end of a volume's file, at most `most` bytes.
  virtual std::string read_volume(const std::string& name, std::size_t most) = 0;
  // Succeeds if it does not exist.
  virtual void delete_volume(const std::string& name) = 0;
  // The same in another storage pool, which must exist.
  virtual void delete_volume_in(const std::string& storage_pool, const std::string& name) = 0;
};

// Gives a thread the object for a host. Does not throw.
using HostMaker = std::function<std::shared_ptr<Hypervisor>()>;

}  // namespace nodepool::drivers::libvirt
