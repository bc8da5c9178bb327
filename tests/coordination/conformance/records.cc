// Records: creating, reading, changing, removing and listing them.
#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "tests/coordination/conformance.h"

namespace nodepool::coordination::conformance {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Kind = StoreError::Kind;

TEST_P(StoreConformance, a_created_record_can_be_read) {
  EXPECT_EQ(run(store_->create("/a", "data", CreateMode::persistent)), "/a");
  const Entry entry = run(store_->get("/a"));
  EXPECT_EQ(entry.data, "data");
  EXPECT_EQ(entry.stat.version, 0);
  EXPECT_EQ(entry.stat.data_length, 4);
  EXPECT_EQ(entry.stat.num_children, 0);
  EXPECT_EQ(entry.stat.ephemeral_owner, 0);
}

TEST_P(StoreConformance, a_created_record_is_dated_now) {
  const double now = fixture_->runtime().clock.wall_seconds();
  create("/a");
  const Stat stat = run(store_->get("/a")).stat;
  EXPECT_EQ(stat.ctime, stat.mtime);
  EXPECT_LT(std::abs(static_cast<double>(stat.ctime) / 1000 - now), 60);
}

TEST_P(StoreConformance, other_sessions_see_a_record_at_once) {
  const auto other = fixture_->open();
  create("/a", "data");
  EXPECT_EQ(run(other->get("/a")).data, "data");
}

TEST_P(StoreConformance, existence_comes_with_the_stat) {
  EXPECT_EQ(run(store_->exists("/a")), std::nullopt);
  EXPECT_EQ(run(store_->exists("/a/b")), std::nullopt);
  create("/a", "data");
  EXPECT_EQ(run(store_->exists("/a")), run(store_->get("/a")).stat);
}

TEST_P(StoreConformance, the_root_exists) {
  EXPECT_NE(run(store_->exists("/")), std::nullopt);
  expect_refused(Kind::node_exists, "/", store_->create("/", "", CreateMode::persistent));
  expect_refused(Kind::invalid, "/", store_->remove("/", kAnyVersion));
}

TEST_P(StoreConformance, an_existing_record_is_not_created_again) {
  create("/a", "first");
  expect_refused(Kind::node_exists, "/a", store_->create("/a", "second", CreateMode::persistent));
  EXPECT_EQ(run(store_->get("/a")).data, "first");
}

TEST_P(StoreConformance, a_missing_record_is_refused_by_name) {
  expect_refused(Kind::no_node, "/a/b", store_->create("/a/b", "", CreateMode::persistent));
  expect_refused(Kind::no_node, "/a/", store_->create("/a/", "", CreateMode::ephemeral_sequential));
  expect_refused(Kind::no_node, "/a", store_->get("/a"));
  expect_refused(Kind::no_node, "/a", store_->set("/a", "", kAnyVersion));
  expect_refused(Kind::no_node, "/a", store_->set("/a", "", 0));
  expect_refused(Kind::no_node, "/a", store_->remove("/a", kAnyVersion));
  expect_refused(Kind::no_node, "/a", store_->children("/a"));
}

TEST_P(StoreConformance, malformed_paths_are_refused) {
  for (const std::string path : {"", "a", "/a/", "//a", "/a//b", "/.", "/a/../b", "/a\nb"}) {
    expect_refused(Kind::invalid, path, store_->create(path, "", CreateMode::persistent));
    expect_refused(Kind::invalid, path, store_->get(path));
    expect_refused(Kind::invalid, path, store_->exists(path));
    expect_refused(Kind::invalid, path, store_->set(path, "", kAnyVersion));
    expect_refused(Kind::invalid, path, store_->remove(path, kAnyVersion));
    expect_refused(Kind::invalid, path, store_->children(path));
  }
}

TEST_P(StoreConformance, each_change_counts_the_version_up) {
  create("/a", "zero");
  const Stat created = run(store_->get("/a")).stat;
  EXPECT_EQ(run(store_->set("/a", "one", kAnyVersion)).version, 1);
  const Stat changed = run(store_->set("/a", "three", 1));
  EXPECT_EQ(changed.version, 2);
  EXPECT_EQ(changed.data_length, 5);
  EXPECT_EQ(changed.czxid, created.czxid);
  EXPECT_EQ(changed.ctime, created.ctime);
  EXPECT_GT(changed.mzxid, created.mzxid);
  EXPECT_GE(changed.mtime, created.mtime);
  const Entry entry = run(store_->get("/a"));
  EXPECT_EQ(entry.data, "three");
  EXPECT_EQ(entry.stat, changed);
}

TEST_P(StoreConformance, writing_the_same_data_is_a_change) {
  create("/a", "same");
  EXPECT_EQ(run(store_->set("/a", "same", kAnyVersion)).version, 1);
}

TEST_P(StoreConformance, a_wrong_version_changes_nothing) {
  create("/a", "data");
  run(store_->set("/a", "newer", kAnyVersion));
  expect_refused(Kind::bad_version, "/a", store_->set("/a", "mine", 0));
  expect_refused(Kind::bad_version, "/a", store_->set("/a", "mine", 2));
  expect_refused(Kind::bad_version, "/a", store_->remove("/a", 0));
  EXPECT_EQ(run(store_->get("/a")).data, "newer");
  run(store_->remove("/a", 1));
  EXPECT_EQ(run(store_->exists("/a")), std::nullopt);
}

TEST_P(StoreConformance, a_record_created_again_starts_anew) {
  create("/a");
  run(store_->set("/a", "data", kAnyVersion));
  const Stat before = run(store_->get("/a")).stat;
  run(store_->remove("/a", kAnyVersion));
  create("/a");
  const Stat after = run(store_->get("/a")).stat;
  EXPECT_EQ(after.version, 0);
  EXPECT_GT(after.czxid, before.mzxid);
}

TEST_P(StoreConformance, transaction_ids_order_the_changes_of_all_sessions) {
  const auto other = fixture_->open();
  create("/a");
  run(other->create("/b", "", CreateMode::persistent));
  create("/c");
  const Stat a = run(store_->get("/a")).stat;
  const Stat b = run(store_->get("/b")).stat;
  const Stat c = run(store_->get("/c")).stat;
  EXPECT_EQ(a.czxid, a.mzxid);
  EXPECT_LT(a.czxid, b.czxid);
  EXPECT_LT(b.czxid, c.czxid);
}

TEST_P(StoreConformance, a_record_with_children_is_not_removed) {
  create("/a");
  create("/a/b");
  expect_refused(Kind::not_empty, "/a", store_->remove("/a", kAnyVersion));
  run(store_->remove("/a/b", kAnyVersion));
  run(store_->remove("/a", kAnyVersion));
  EXPECT_EQ(run(store_->exists("/a")), std::nullopt);
}

TEST_P(StoreConformance, children_are_listed_sorted_and_by_name) {
  create("/a");
  EXPECT_THAT(run(store_->children("/a")), IsEmpty());
  create("/ab");
  create("/a/c");
  create("/a/b");
  create("/a/b/deeper");
  create("/a/d");
  EXPECT_THAT(run(store_->children("/a")), ElementsAre("b", "c", "d"));
  run(store_->remove("/a/c", kAnyVersion));
  EXPECT_THAT(run(store_->children("/a")), ElementsAre("b", "d"));
}

TEST_P(StoreConformance, children_are_counted_but_do_not_change_their_parent) {
  create("/a");
  const Stat before = run(store_->get("/a")).stat;
  create("/a/b");
  create("/a/b/deeper");
  create("/a/c");
  Stat after = run(store_->get("/a")).stat;
  EXPECT_EQ(after.num_children, 2);
  after.num_children = 0;
  EXPECT_EQ(after, before);
}

TEST_P(StoreConformance, names_are_bytes_and_may_look_like_patterns) {
  create("/a");
  for (const std::string name : {"%", "*", "B", "_", "b", "image name", "it's", "ü"}) {
    create("/a/" + name, name);
  }
  EXPECT_THAT(run(store_->children("/a")),
              ElementsAre("%", "*", "B", "_", "b", "image name", "it's", "ü"));
  run(store_->remove("/a/*", kAnyVersion));
  EXPECT_EQ(run(store_->get("/a/it's")).data, "it's");
  EXPECT_EQ(run(store_->get("/a/B")).data, "B");
}

TEST_P(StoreConformance, data_may_be_any_bytes) {
  const std::string bytes("\0text\xff\xc3(\r\n\0", 11);
  create("/a", bytes);
  EXPECT_EQ(run(store_->get("/a")).data, bytes);
  run(store_->set("/a", "", kAnyVersion));
  EXPECT_EQ(run(store_->get("/a")).data, "");
  EXPECT_EQ(run(store_->get("/a")).stat.data_length, 0);
}

TEST_P(StoreConformance, data_may_be_as_large_as_the_limit) {
  std::string large(kMaximumDataSize, 'x');
  large.front() = 'a';
  large.back() = 'z';
  create("/a", large);
  EXPECT_TRUE(run(store_->get("/a")).data == large);
  run(store_->set("/a", "", kAnyVersion));
  run(store_->set("/a", large, kAnyVersion));
  EXPECT_EQ(run(store_->get("/a")).stat.data_length, kMaximumDataSize);
}

TEST_P(StoreConformance, larger_data_is_refused) {
  const std::string too_large(kMaximumDataSize + 1, 'x');
  expect_refused(Kind::too_large, "/a", store_->create("/a", too_large, CreateMode::persistent));
  create("/a");
  expect_refused(Kind::too_large, "/a", store_->set("/a", too_large, kAnyVersion));
  EXPECT_EQ(run(store_->get("/a")).stat.version, 0);
}

TEST_P(StoreConformance, thousands_of_children_are_no_trouble) {
  create("/a");
  std::vector<std::string> paths;
  for (int batch = 0; batch < 20; ++batch) {
    Transaction transaction;
    for (int i = 0; i < 100; ++i) {
      transaction.create("/a/", "data", CreateMode::persistent_sequential);
    }
    for (const OperationResult& result : run(store_->commit(transaction))) {
      paths.push_back(result.path);
    }
  }
  const std::vector<std::string> names = run(store_->children("/a"));
  ASSERT_EQ(names.size(), 2000);
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ("/a/" + names[i], paths[i]);
  EXPECT_EQ(names.back(), "0000001999");
  EXPECT_EQ(run(store_->get("/a")).stat.num_children, 2000);
}

}  // namespace
}  // namespace nodepool::coordination::conformance
