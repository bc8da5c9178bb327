#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/event_loop.h"
#include "async/runtime.h"
#include "coordination/store.h"

// The contract of coordination::Store as tests for all backends. A backend derives from
// StoreFixture, links nodepool_store_conformance, and writes, in this namespace,
//
//   INSTANTIATE_TEST_SUITE_P(sqlite, StoreConformance, testing::Values(backend<SqliteFixture>()));
namespace nodepool::coordination::conformance {

// One installation of a store, initially empty, and its sessions. Created for each test.
class StoreFixture {
 public:
  StoreFixture() = default;
  virtual ~StoreFixture() = default;
  StoreFixture(const StoreFixture&) = delete;
  StoreFixture& operator=(const StoreFixture&) = delete;

  // Opens a new, connected session of the installation on runtime(). Called
  // outside of the loop, so it may run the loop. The suite destroys all stores, closed or not,
  // before the fixture.
  virtual std::unique_ptr<Store> open() = 0;

  // Ends a session like the death of its process: without close(), and its tasks never run again.
  // Its ephemeral nodes must vanish within the suite's time limit.
  virtual void kill(std::unique_ptr<Store> store) = 0;

  // Makes the installation end a session whose process lives, like after a long disconnection.
  // Returns false if sessions of this store cannot expire.
  virtual bool expire(Store& /*store*/) { return false; }

  // The loop and runtime of all sessions. They outlive what derived classes own.
  async::EventLoop& loop() { return loop_; }
  const async::Runtime& runtime() const { return runtime_; }

  // Runs the loop until `condition` holds. Returns false after half a minute.
  bool run_until(const std::function<bool()>& condition);

 private:
  async::EventLoop loop_;
  async::SystemClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
};

// A backend under test.
struct Backend {
  std::function<std::unique_ptr<StoreFixture>()> make_fixture;

  // Keeps addresses out of the test names.
  friend void PrintTo(const Backend& /*backend*/, std::ostream* out) { *out << "backend"; }
};

template <typename Fixture>
Backend backend() {
  return {[] { return std::make_unique<Fixture>(); }};
}

// Records the events of a watch.
class WatchLog {
 public:
  WatchLog(StoreFixture& fixture, Store& store, std::string root);

  // "created /a", "changed /a", "removed /a", "resync", in order.
  const std::vector<std::string>& lines() const { return *lines_; }

  // Runs the loop until the last line is `line`.
  bool run_until_last_is(std::string_view line);

  // Runs the loop until there are `count` lines.
  bool run_until_size_is(std::size_t count);

  void clear() { lines_->clear(); }
  void unsubscribe() { subscription_.reset(); }

 private:
  StoreFixture& fixture_;
  std::shared_ptr<std::vector<std::string>> lines_ = std::make_shared<std::vector<std::string>>();
  Subscription subscription_;
};

class StoreConformance : public testing::TestWithParam<Backend> {
 protected:
  StoreConformance() : fixture_(GetParam().make_fixture()), store_(fixture_->open()) {}

  // Runs the loop until the task has ended.
  template <typename T>
  T run(Task<T> task) {
    return fixture_->loop().run(std::move(task));
  }
  void run(Task<> task) { fixture_->loop().run(std::move(task)); }

  void create(const std::string& path, const std::string& data = "") {
    run(store_->create(path, data, CreateMode::persistent));
  }

  // Expects that `task` fails with this kind of error and `path` in the message.
  template <typename T>
  void expect_refused(StoreError::Kind kind, const std::string& path, Task<T> task) {
    try {
      run(std::move(task));
      ADD_FAILURE() << "not rejected: " << path;
    } catch (const StoreError& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      EXPECT_NE(std::string_view(error.what()).find(path), std::string_view::npos) << error.what();
    }
  }

  // Expects that the operation at `index` is rejected with this kind and its path in the message.
  void expect_refused_at(std::size_t index, StoreError::Kind kind, const Transaction& transaction);

  std::unique_ptr<StoreFixture> fixture_;
  std::unique_ptr<Store> store_;  // the first session; tests may open more
};

}  // namespace nodepool::coordination::conformance
