#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>

#include "async/event_loop.h"
#include "coordination/forwarding_store.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"
#include "model/node_table.h"
#include "telemetry/log.h"
#include "tests/requestor/launcher_double.h"

namespace nodepool::requestor {

// A store that is unreachable after the first successful transaction.
class StoreLostAfterCommit final : public coordination::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Task<std::vector<coordination::OperationResult>> commit(
      coordination::Transaction transaction) override {
    require_reachable();
    Task<std::vector<coordination::OperationResult>> committing =
        ForwardingStore::commit(std::move(transaction));
    std::vector<coordination::OperationResult> results = co_await std::move(committing);
    is_lost_ = true;
    co_return results;
  }
  Task<coordination::Entry> get(std::string path) override {
    require_reachable();
    return ForwardingStore::get(std::move(path));
  }

 private:
  void require_reachable() const {
    using Kind = coordination::StoreError::Kind;
    if (is_lost_) throw coordination::store_error(Kind::disconnected, "/");
  }

  bool is_lost_ = false;
};

// An installation in memory with a launcher, and the session of a requestor on it.
class RequestorTest : public testing::Test {
 protected:
  RequestorTest() : launcher_store_(server_, runtime_), launcher_(runtime_, launcher_store_) {
    store_ = std::make_unique<coordination::MemoryStore>(server_, runtime_);
    launcher_.start();
  }
  ~RequestorTest() override {
    scope_.cancel();
    loop_.run(launcher_.stop());
    loop_.run(scope_.stop());
  }

  template <typename T>
  T run(async::Task<T> task) {
    return loop_.run(std::move(task));
  }
  void run(async::Task<> task) { loop_.run(std::move(task)); }

  // The kind of the error with which the task fails.
  template <typename T>
  std::optional<coordination::StoreError::Kind> store_failure(async::Task<T> task) {
    try {
      run(std::move(task));
    } catch (const coordination::StoreError& error) {
      return error.kind();
    }
    return std::nullopt;
  }

  // Lets everything run that can without time passing.
  void settle() {
    while (loop_.poll()) {
    }
  }

  // The requestor's next write that concerns `path` happens, but its answer is lost; the store may
  // be out of reach from then on.
  void lose_answer_about(std::string path, bool is_back_at_once = true) {
    const auto listener = [this, path, is_back_at_once, lost = false](
                              const std::vector<coordination::WatchEvent>& events) mutable {
      for (const coordination::WatchEvent& event : events) {
        if (event.path != path || std::exchange(lost, true)) continue;
        boost::asio::post(runtime_.executor, [this, is_back_at_once] {
          store_->suspend_for_tests();
          if (is_back_at_once) store_->resume_for_tests();
        });
      }
    };
    server_.open_session(listener);
  }

  // A table of all nodes, complete.
  model::NodeTable& node_table() {
    if (!nodes_) {
      nodes_.emplace(runtime_, *store_,
                     telemetry::Logger(telemetry::Log::to_consumer([](auto&&...) {}), "test"));
      scope_.spawn("nodes", nodes_->run());
    }
    settle();
    EXPECT_TRUE(nodes_->ready());
    return *nodes_;
  }

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  coordination::MemoryServer server_;
  coordination::MemoryStore launcher_store_;
  LauncherDouble launcher_;
  std::unique_ptr<coordination::MemoryStore> store_;
  std::optional<model::NodeTable> nodes_;
  async::TaskScope scope_{runtime_, [](const std::string& name, const std::string& error) {
                            ADD_FAILURE() << name << ": " << error;
                          }};
};

}  // namespace nodepool::requestor
