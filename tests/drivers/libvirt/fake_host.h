#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/clock.h"
#include "driver/cloud_error.h"
#include "drivers/libvirt/api/host.h"

namespace nodepool::drivers::libvirt {

// What fails on a host. Each holds for the next calls it concerns.
enum class Fault {
  define_refused,     // CloudError::quota
  define_failed,      // CloudError::failed
  define_permanent,   // CloudError::permanent
  define_lost,        // carried out, without a response
  define_unanswered,  // not carried out, without a response
  start_full,         // CloudError::no_capacity
  start_broken,       // the domain ends at once
  stop_failed,
  state_away,    // CloudError::transient
  state_failed,  // CloudError::failed
  write_failed,
  write_lost,  // CloudError::unknown_outcome, and the host is away afterwards
};

// The faults to come, of several hosts.
class Faults {
 public:
  void set(Fault fault, std::size_t times) {
    const std::lock_guard lock(mutex_);
    times_[fault] = times;
  }

  // Whether the fault happens now.
  bool happens(Fault fault) {
    const std::lock_guard lock(mutex_);
    if (times_[fault] == 0) return false;
    --times_[fault];
    return true;
  }

 private:
  std::mutex mutex_;
  std::map<Fault, std::size_t> times_;
};

// A host in memory, with libvirt's rules: names and UUIDs are unique, active domains need their
// volumes.
class FakeHost final : public Hypervisor {
 public:
  explicit FakeHost(const async::VirtualClock& clock) : clock_(clock) {}

  struct FakeDomain {
    Domain description;
    std::string uuid;
    std::string id;  // unlike names, never used again
    std::optional<async::Clock::TimePoint> started;
  };
  struct FakeVolume {
    std::string xml;
    std::string bytes;
  };

  HostState state(const HostQuery& query) override;
  std::optional<Domain> find_domain(const std::string& name) override;
  void define_domain(const std::string& xml) override;
  void start_domain(const std::string& name) override;
  void stop_domain(const std::string& name) override;
  void undefine_domain(const std::string& name) override;
  std::vector<std::string> addresses_by_agent(const std::string& domain) override;
  std::vector<std::string> addresses_by_arp(const std::string& domain) override;
  std::optional<std::string> volume_xml(const std::string& name) override;
  void create_volume(const std::string& xml) override;
  void write_volume(const std::string& name, std::uint64_t offset, std::string bytes) override;
  std::string read_volume(const std::string& name, std::size_t most) override;
  void delete_volume(const std::string& name) override { delete_volume_in(storage_pool, name); }
  void delete_volume_in(const std::string& pool, const std::string& name) override;

  // Adds a running domain, as others do.
  void add(Domain domain);
  // Ends a domain by itself.
  void crash(const std::string& name);

  // Held by calls, which are made on threads, and by a test that reads or changes the rest while
  // there may be calls.
  std::mutex mutex;

  std::int64_t cpus = 1000;
  std::int64_t memory = 1'000'000;  // MiB
  std::set<std::string, std::less<>> networks = {"default"};
  std::set<std::string, std::less<>> devices;
  async::Duration boot_time{};
  bool has_leases = true;
  bool is_away = false;
  // Called on the threads of calls; may wait.
  std::function<void()> before_start;
  std::function<void()> before_stop;
  std::shared_ptr<Faults> faults = std::make_shared<Faults>();
  std::map<std::string, FakeDomain> domains;
  using Volumes = std::map<std::string, FakeVolume>;
  std::string storage_pool = "default";
  Volumes volumes;  // of this storage pool
  std::map<std::string, Volumes> other_pools;

 private:
  void fail_at(Fault fault, driver::CloudError::Kind kind);
  void require_up() const;

  const async::VirtualClock& clock_;
  std::size_t made_ = 0;
};

}  // namespace nodepool::drivers::libvirt
