#pragma once

#include <map>
#include <string>

#include "async/runtime.h"

namespace nodepool::drivers::aws {

// The dedicated hosts of an account, for the stand-in for EC2.
class DedicatedHosts {
 public:
  using Parameters = std::map<std::string, std::string>;
  using Tags = std::map<std::string, std::string>;

  struct Host {
    std::string type;
    std::string zone;
    Tags tags;
    std::string instance;  // that runs on it; empty: none
    async::Clock::TimePoint made{};
  };

  explicit DedicatedHosts(const async::Runtime& runtime) : runtime_(runtime) {}

  // The bodies of answers.
  std::string allocate(const Parameters& query, Tags tags);
  std::string describe() const;
  std::string release(const std::string& id);

  // An instance of this type is put on a host, or (an empty id) would be; why it cannot, as an
  // error's code; empty: it can.
  std::string place(const std::string& id, const std::string& type, const std::string& instance);
  // An instance has ended.
  void release_slot(const std::string& instance);

  // --- the cloud
  std::map<std::string, Host> hosts;  // by id; those that are not released
  async::Duration allocation_time{};  // of a host

 private:
  async::Runtime runtime_;
  std::map<std::string, std::string> tokens_;  // ClientToken: the host
  int next_id_ = 0;
};

}  // namespace nodepool::drivers::aws
