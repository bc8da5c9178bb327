#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/statemachine/adapter.h"
#include "driver/statemachine/state_machine_config.h"

namespace nodepool::driver {

// How a call of the cloud goes wrong.
struct Fault {
  CloudError::Kind kind = CloudError::Kind::failed;
  bool is_done = false;    // it happens all the same
  bool is_answer = false;  // the error is one of the API itself
};

// A cloud as a test wants it, and what has been asked of it. A machine is a disk, then a server;
// both are called after the machine, and carry its metadata. It outlives its adapters.
struct ScriptedCloud {
  struct Thing {
    std::string id;
    std::string name;
    Metadata metadata;
    std::string image;
    async::Clock::TimePoint shows_at;  // in listings
  };
  std::vector<Thing> disks;
  std::vector<Thing> servers;
  std::vector<std::string> calls;  // begun: "make disk", "find server", "remove", …
  std::size_t made = 0;            // disks and servers, of all times

  std::map<std::string, std::deque<Fault>, std::less<>> faults;  // by call; the first is the next
  std::string hangs;                                             // a call that never ends
  async::Duration latency{};                                     // of each call
  async::Duration boot_time{};
  async::Duration hidden{};  // how long a new thing does not show in listings
  bool boots = true;         // otherwise a server does not come up
  std::string unlisted;  // why servers cannot be polled while one boots or goes; empty: they can
  Instance described;    // what a new server says of itself
  std::vector<Resource> others;  // in listings: as machines if they are instances
  std::vector<CloudImage> images;
  std::vector<Machine> other_machines;
  int empty_listings = 0;  // the next ones lack all servers
  bool has_complete_listings = true;
  Machine::State state = Machine::State::running;  // of all servers
  std::string explanation;                         // of that
  Limits limits;
  std::string label_problem;
  std::optional<Expectation> expected;  // of the machine that was made last
  bool was_known_private = false;       // the machine that was deleted last

  void fail(std::string_view call, Fault fault, std::size_t times = 1);
  std::size_t count(std::string_view call) const;
  std::vector<std::string> server_ids() const;
};

class ScriptedConfig final : public StateMachineConfig {
 public:
  // A provider "cloud" with a pool "main" that has a label "small" of a cloud image "jammy", and a
  // label "built" of the diskimage "trixie".
  ScriptedConfig();

  using StateMachineConfig::boot_timeout_;
  using StateMachineConfig::launch_retries_;
  using StateMachineConfig::launch_timeout_;
  using StateMachineConfig::machine_pools_;
  using StateMachineConfig::pools_;

  MachineLabel& label(const std::string& name) { return machine_pools_.at("main").labels.at(name); }
};

// The images of a ScriptedCloud. Nothing can be uploaded.
class ScriptedImages final : public ImageSupport {
 public:
  explicit ScriptedImages(std::shared_ptr<ScriptedCloud> cloud) : cloud_(std::move(cloud)) {}

  Task<std::string> upload(ProviderImage image, std::string name, ImageFile file, Metadata metadata,
                           Progress progress) override;
  Task<> remove(std::string name, std::string external_id) override;
  Task<std::vector<CloudImage>> list() override;

 private:
  void call(const std::string& name);

  std::shared_ptr<ScriptedCloud> cloud_;
};

class ScriptedAdapter final : public Adapter {
 public:
  ScriptedAdapter(const async::Runtime& runtime, std::shared_ptr<ScriptedCloud> cloud)
      : runtime_(runtime), cloud_(std::move(cloud)), images_(cloud_) {}

  Task<Instance> create(CreateSpec spec, LaunchSteps& steps) override;
  Task<> remove(model::Json external_id, LaunchSteps& steps) override;
  Task<MachineList> list() override;
  Task<std::vector<Resource>> other_resources() override;
  Task<> remove_resource(Resource resource) override;
  Task<CloudDescription> describe(CloudDescription::Purpose purpose) override;
  Task<std::optional<std::string>> diagnose(model::Json external_id, bool wants_console) override;
  CloudTraits traits() override { return {.images = &images_}; }

 private:
  Task<LabelDescription> describe_label(std::string label);

  using Things = std::vector<ScriptedCloud::Thing>;

  Task<> call(std::string name, std::function<void()> act);
  Task<> poll();
  Task<std::string> make(std::string kind, Things& things, CreateSpec spec);
  Task<std::optional<std::string>> find(std::string kind, Things& things, std::string name);
  Task<std::string> step(LaunchSteps& steps, std::string kind, Things& things, CreateSpec spec);
  bool shows(const ScriptedCloud::Thing& thing) const;

  async::Runtime runtime_;
  std::shared_ptr<ScriptedCloud> cloud_;
  ScriptedImages images_;
};

}  // namespace nodepool::driver
