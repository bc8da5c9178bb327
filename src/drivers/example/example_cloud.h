#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// A tiny cloud inside this process: its machines do not exist. It stands for the client library
// that an author finds for a real cloud, with words of its own, calls that block, and errors of its
// own. Nothing of this file is part of a driver.
namespace nodepool::sample_cloud {

// What the cloud refuses.
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
  // A machine starts until somebody has looked at it once.
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

// What one project has in one region. May be used by several threads.
class Project {
 public:
  explicit Project(Quota quota = {}) : quota_(quota) {}

  // Returns the id. Throws Refusal. A machine with the image "broken" never runs.
  std::string create_machine(const MachineSpec& spec);

  // Throws Refusal.
  void delete_machine(const std::string& id);

  std::vector<Machine> list_machines();
  Quota quota() const { return quota_; }

  // Throws Refusal.
  static InstanceType instance_type(const std::string& name);
  static bool has_image(const std::string& name);

 private:
  void require_room_for(const InstanceType& type) const;

  std::mutex mutex_;
  Quota quota_;
  std::int64_t last_id_ = 0;
  std::map<std::string, Machine> machines_;
};

// The cloud as a whole.
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
