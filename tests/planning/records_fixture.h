#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "async/event_loop.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"
#include "model/node_table.h"
#include "model/request_table.h"
#include "planning/resource_usage.h"

namespace nodepool::planning {

// Tables of records that a test fills, and their usage, without a store or time.
class RecordsFixture : public testing::Test {
 protected:
  RecordsFixture();

  // Returns the new node's id.
  std::string add_node(const model::Node& node);
  void write_node(const model::Node& node);
  void remove_node(const std::string& id);
  const model::Node& node(const std::string& id) const;
  // Adds a contender for the node's lock.
  void lock(const std::string& id);

  // A free ready node of provider `sky` with one instance.
  static model::Node idle_node(std::string pool, std::string label, double since = 0);

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{11};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  coordination::MemoryServer server_;
  coordination::MemoryStore store_{server_, runtime_};
  telemetry::Logger log_;
  model::NodeTable nodes_;
  std::map<std::string, Resources> needs_;  // by label
  ResourceUsage usage_;

 private:
  std::int64_t transactions_ = 0;
};

}  // namespace nodepool::planning
