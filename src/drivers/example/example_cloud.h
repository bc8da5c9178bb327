#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// A simulated cloud in this process. It stands for the client library of a real cloud, with its own
// types, blocking calls and errors. Nothing in this file is part of a driver.
namespace nodepool::sample_cloud {

// A call that the cloud has refused.
class Refusal : public std::runtime_error {
 public:
  enum class Code { no_such_machine, no_such_type, no_such_image, quota_exceeded };

  Refusal(Code code, const std::string& message) : std::runtime_error(message), code_(code) {}

  Code code() const { return code_; }

 private:
  Code code_;
};

struct InstanceType {
  std::int64_t cores = 0;
  std::int64_t memory = 0;  // MiB
};

struct MachineSpec {
  std::string name = {};
  std::string image = {};
  std::string type = {};
  std::string ssh_key = {};  // for the image's first user
  std::map<std::string, std::string> tags = {};
};

struct Machine {
  // A machine is `starting` until it has been listed once.
  enum class Status { starting, running, broken };

  std::string id;
  MachineSpec spec;
  Status status = Status::starting;
  std::string public_address;  // once it runs
  std::string private_address;
};

struct Quota {
  std::int64_t machines = 10;
  std::int64_t cores = 40;
  std::int64_t memory = 81920;  // MiB
};

// One project in one region. Thread-safe.
class Project {
 public:
  explicit Project(Quota quota = {}) : quota_(quota) {}

  // Returns the machine's id. Throws Refusal. A machine with the image "broken" never runs.
  std::string create_machine(const MachineSpec& spec);

  // Throws Refusal.
  void delete_machine(const std::string& id);

  std::vector<Machine> list_machines();
  Quota quota() const { return quota_; }

  // Throws Refusal.
  static InstanceType instance_type(const std::string& name);
  static bool has_image(const std::string& name);

 private:
  void require_quota_for(const InstanceType& type) const;

  std::mutex mutex_;
  Quota quota_;
  std::int64_t last_id_ = 0;
  std::map<std::string, Machine> machines_;
};

// The whole cloud.
class Cloud {
 public:
  // `quota` of each project.
  explicit Cloud(Quota quota = {}) : quota_(quota) {}

  std::shared_ptr<Project> project(const std::string& region, const std::string& name);

 private:
  Quota quota_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<Project>> projects_;
};

}  // namespace nodepool::sample_cloud
