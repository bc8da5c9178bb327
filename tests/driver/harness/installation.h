#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "async/event_loop.h"
#include "async/runtime.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"
#include "driver/launch_trace.h"
#include "model/image_upload.h"
#include "model/installation.h"
#include "model/node.h"

// An installation as providers see it, for tests: records in a store, and launchers that die and
// are started again (launcher_process.h), in virtual time.
namespace nodepool::driver::harness {

inline constexpr const char* kInstallationId = "this-installation";

// What outlives every launcher: the store, and time.
class Installation {
 public:
  // With the same seed, everything happens in the same order.
  explicit Installation(std::uint64_t seed = 1);

  // Makes the record of a node as a launcher does before it launches it: `building`. Returns its
  // id.
  std::string add_node(std::string_view provider, std::string_view pool, std::string_view label);
  model::Node node(const std::string& id);
  std::vector<std::string> nodes();
  // Writes the record whatever has been written meanwhile.
  void write(const model::Node& node);
  void remove_node(const std::string& id);

  // Writes what is there already.
  void write_data(const std::string& path, const std::string& data);

  // Makes the records of an upload; its id, if it has none, is set.
  void add_upload(model::ImageUpload& upload);
  void remove_upload(const std::string& image, const std::string& build_id,
                     const std::string& provider, const std::string& id);

  // The installation in the owner tags of its machines.
  model::Installation identity{.id = kInstallationId, .first_node = 0};
  // Has the store say so.
  void write_identity();

  async::VirtualClock clock;
  async::Random random;
  coordination::MemoryServer server;
  std::vector<LaunchTrace> accounts;  // of the attempts that have ended
  bool others_may_serve = false;      // the requests: a pool of another provider
  std::vector<std::string> log;       // of all launchers, with the level in front

 private:
  void make_parents(const std::string& path);

  struct KnownNode {
    coordination::Entry entry;
    model::Node node;
  };

  async::EventLoop loop_;
  std::map<std::string, KnownNode> nodes_;  // as last read
  async::Runtime runtime_;
  coordination::MemoryStore store_;
};

}  // namespace nodepool::driver::harness
