// Operations in flight together, of one session and of several.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "async/event.h"
#include "async/task_scope.h"
#include "tests/coordination/conformance.h"

namespace nodepool::coordination::conformance {
namespace {

void report_failure(const std::string& name, const std::string& error) {
  ADD_FAILURE() << name << ": " << error;
}

Task<> keep_created_path(Store& store, std::string path, std::vector<std::string>& paths) {
  paths.push_back(co_await store.create(std::move(path), "", CreateMode::persistent_sequential));
}

Task<> set_data(Store& store, std::string path, std::string data) {
  co_await store.set(std::move(path), std::move(data), kAnyVersion);
}

Task<> keep_data(Store& store, std::string path, std::vector<std::string>& read) {
  const Entry entry = co_await store.get(std::move(path));
  read.push_back(entry.data);
}

// Increments the number at `path`, concurrently with others.
Task<> increment(Store& store, std::string path, int& conflicts) {
  while (true) {
    const Entry entry = co_await store.get(path);
    try {
      std::string next = std::to_string(std::stoi(entry.data) + 1);
      co_await store.set(path, std::move(next), entry.stat.version);
      co_return;
    } catch (const StoreError& error) {
      if (error.kind() != StoreError::Kind::bad_version) throw;
      ++conflicts;
    }
  }
}

Task<> increment_often(Store& store, std::string path, int times, int& conflicts) {
  for (int i = 0; i < times; ++i) co_await increment(store, path, conflicts);
}

TEST_P(StoreConformance, operations_of_a_session_keep_their_order) {
  create("/a");
  async::TaskScope scope(fixture_->runtime(), report_failure);
  std::vector<std::string> paths;
  std::vector<std::string> expected;
  for (int i = 0; i < 100; ++i) {
    const std::string prefix = "/a/" + std::to_string(i) + "-";
    scope.spawn(prefix, keep_created_path(*store_, prefix, paths));
    expected.push_back(prefix + "00000000" + (i < 10 ? "0" : "") + std::to_string(i));
  }
  run(scope.join());
  EXPECT_EQ(paths, expected);
}

TEST_P(StoreConformance, a_session_reads_what_it_wrote_before) {
  create("/a");
  async::TaskScope scope(fixture_->runtime(), report_failure);
  std::vector<std::string> read;
  std::vector<std::string> expected;
  for (int i = 0; i < 50; ++i) {
    expected.push_back(std::to_string(i));
    scope.spawn("set", set_data(*store_, "/a", expected.back()));
    scope.spawn("get", keep_data(*store_, "/a", read));
  }
  run(scope.join());
  EXPECT_EQ(read, expected);
}

Task<> keep_answer(Store& store, std::string path, bool children, std::string& answer) {
  try {
    if (children) {
      for (const std::string& name : co_await store.children(path)) answer += name + " ";
    } else {
      const Entry entry = co_await store.get(path);
      answer = entry.data + " " + std::to_string(entry.stat.version);
    }
  } catch (const StoreError& error) {
    answer = error.what();
  }
}

TEST_P(StoreConformance, reads_that_are_asked_for_together_succeed_or_fail_each_for_itself) {
  create("/a");
  for (int i = 0; i < 300; i += 2) create("/a/" + std::to_string(i), "data " + std::to_string(i));
  create("/a/0/b");
  create("/a/0/c");
  async::TaskScope scope(fixture_->runtime(), report_failure);
  std::vector<std::string> data(300);
  std::vector<std::string> children(300);
  for (std::size_t i = 0; i < data.size(); ++i) {
    const std::string path = "/a/" + std::to_string(i);
    scope.spawn("get", keep_answer(*store_, path, false, data[i]));
    scope.spawn("children", keep_answer(*store_, path, true, children[i]));
  }
  run(scope.join());
  EXPECT_EQ(children[0], "b c ");
  EXPECT_EQ(data[0], "data 0 0");
  for (std::size_t i = 1; i < data.size(); ++i) {
    const std::string number = std::to_string(i);
    const std::string missing = "not found: /a/" + number;
    EXPECT_EQ(data[i], i % 2 == 0 ? "data " + number + " 0" : missing);
    EXPECT_EQ(children[i], i % 2 == 0 ? "" : missing);
  }
}

TEST_P(StoreConformance, each_of_many_racing_increments_counts_once) {
  const auto other = fixture_->open();
  create("/counter", "0");
  async::TaskScope scope(fixture_->runtime(), report_failure);
  int conflicts = 0;
  for (Store* store : {store_.get(), other.get()}) {
    scope.spawn("one", increment_often(*store, "/counter", 25, conflicts));
    scope.spawn("two", increment_often(*store, "/counter", 25, conflicts));
  }
  run(scope.join());
  EXPECT_EQ(run(store_->get("/counter")).data, "100");
  EXPECT_EQ(run(store_->get("/counter")).stat.version, 100);
  EXPECT_GT(conflicts, 0);
}

TEST_P(StoreConformance, only_one_of_many_creates_a_record) {
  const auto other = fixture_->open();
  async::TaskScope scope(fixture_->runtime(), report_failure);
  auto try_to_create = [](Store& store, int& created) -> Task<> {
    try {
      co_await store.create("/a", "", CreateMode::persistent);
      ++created;
    } catch (const StoreError& error) {
      EXPECT_EQ(error.kind(), StoreError::Kind::node_exists);
    }
  };
  int created = 0;
  for (int i = 0; i < 10; ++i) {
    scope.spawn("one", try_to_create(*store_, created));
    scope.spawn("other", try_to_create(*other, created));
  }
  run(scope.join());
  EXPECT_EQ(created, 1);
}

TEST_P(StoreConformance, a_cancelled_task_still_finishes_its_operations) {
  create("/a");
  async::TaskScope scope(fixture_->runtime(), report_failure);
  async::Event started;
  auto change_twice = [](Store& store, async::Event& begun) -> Task<> {
    begun.set();
    co_await store.create("/a/one", "", CreateMode::persistent);
    co_await store.create("/a/two", "", CreateMode::persistent);
  };
  scope.spawn("change twice", change_twice(*store_, started));
  run(started.wait());
  run(scope.stop());
  EXPECT_THAT(run(store_->children("/a")), testing::ElementsAre("one", "two"));
}

}  // namespace
}  // namespace nodepool::coordination::conformance
