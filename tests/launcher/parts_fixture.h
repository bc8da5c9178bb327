#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <string>

#include "async/event_loop.h"
#include "async/task_scope.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"
#include "launcher/context.h"

namespace nodepool::launcher {

// The context of the parts of a launcher, to test a part alone: virtual time, an in-process store
// and tables that follow it.
class PartsFixture : public testing::Test {
 protected:
  PartsFixture();
  ~PartsFixture() override;

  // Runs everything that can run without time passing.
  void settle();
  // Lets time pass, step by step from one timer to the next.
  void pass(async::Duration duration);

  // From now on no events of other processes arrive.
  void fall_behind();

  // Writes a record like another process. Returns its id when the tables have it.
  std::string add_node(const model::Node& node);
  void write_node(const model::Node& node);
  void remove_node(const std::string& id);
  // The record in the table.
  model::Node node(const std::string& id) const;

  // A free ready node.
  static model::Node idle_node(std::string pool, std::string label);

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{11};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  coordination::MemoryServer server_;
  coordination::MemoryStore store_{server_, runtime_};
  coordination::MemoryStore others_{server_, runtime_};
  telemetry::Logger log_;
  model::Records records_;
  model::NodeTable& nodes_{records_.nodes};
  model::RequestTable& requests_{records_.requests};
  model::ComponentTable& components_{records_.components};
  model::ImageTable& images_{records_.images};
  async::ThreadPool threads_{1, "blocking calls"};
  HistoryRecorder history_;
  std::map<std::string, Resources> needs_;  // by label
  ResourceUsage usage_;
  planning::Deletions deletions_;
  planning::TenantLimits tenant_limits_;
  DepartedPools departed_pools_;
  HandledRequests handled_requests_;
  planning::StarvedRequests starved_;
  std::set<std::string> own_pools_;
  ServingContext context_;
  async::TaskScope scope_;
};

}  // namespace nodepool::launcher
