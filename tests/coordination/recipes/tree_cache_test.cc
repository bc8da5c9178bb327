#include "coordination/tree_cache.h"

#include <map>
#include <set>
#include <stdexcept>

#include "coordination/faulty/faulty_store.h"
#include "coordination/forwarding_store.h"
#include "tests/coordination/recipes/recipes_fixture.h"

namespace nodepool::coordination {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing::UnorderedElementsAre;

// Follows "<id>" with data, "<id>/lock" and its descendants by name, "<id>/lock/leaf" as a leaf.
class Mirror : public TreeListener {
 public:
  Interest interest(std::string_view path) const override {
    if (path.ends_with("/lock/leaf")) return Interest::leaf;
    if (path.find('/') == std::string_view::npos) return Interest::data;
    return path.find("/lock") == std::string_view::npos ? Interest::none : Interest::name;
  }
  void on_changed(std::string_view path, const Entry& entry) override {
    if (entry.data == "poison") throw std::invalid_argument("poison");
    content[std::string(path)] = entry.data;
    log.push_back("+" + std::string(path) + "=" + entry.data);
  }
  void on_removed(std::string_view path) override {
    content.erase(std::string(path));
    log.push_back("-" + std::string(path));
  }
  bool on_unreadable(std::string_view path, const std::string& reason) override {
    log.push_back("?" + std::string(path) + "=" + reason);
    return goes_on;
  }
  void on_ready() override { log.emplace_back("ready"); }
  void on_lost() override { log.emplace_back("lost"); }
  void on_failed(const std::string& reason) override { failures.push_back(reason); }

  std::map<std::string, std::string> content;
  std::vector<std::string> log;
  std::vector<std::string> failures;
  bool goes_on = true;  // without what is unreadable
};

// A store with access control lists.
class GuardedStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Task<Entry> get(std::string path) override {
    require_permission(path);
    return ForwardingStore::get(std::move(path));
  }
  Task<std::vector<std::string>> children(std::string path) override {
    require_permission(path);
    return ForwardingStore::children(std::move(path));
  }

  std::set<std::string> forbidden;
  int refusals = 0;

 private:
  void require_permission(const std::string& path) {
    if (!forbidden.contains(path)) return;
    ++refusals;
    throw store_error(StoreError::Kind::not_permitted, path);
  }
};

class TreeCacheTest : public RecipesTest {
 protected:
  TreeCacheTest() { loop_.run(ensure_path(a_, "/tree")); }
  ~TreeCacheTest() override { loop_.run(scope_.stop()); }

  void follow() {
    scope_.spawn("cache", cache_.run());
    settle();
  }
  void create(const std::string& path, const std::string& data = {}) {
    loop_.run(b_.create(path, data, CreateMode::persistent));
    settle();
  }

  Mirror mirror_;
  TreeCache cache_{runtime_, a_, "/tree", mirror_};
};

TEST_F(TreeCacheTest, the_first_walk_finds_everything_of_interest) {
  create("/tree/1", "one");
  create("/tree/1/lock");
  create("/tree/1/lock/c");
  create("/tree/1/other", "x");
  create("/tree/2", "two");
  EXPECT_FALSE(cache_.ready());
  follow();
  EXPECT_TRUE(cache_.ready());
  EXPECT_EQ(mirror_.log.back(), "ready");
  EXPECT_THAT(mirror_.content, UnorderedElementsAre(Pair("1", "one"), Pair("1/lock", ""),
                                                    Pair("1/lock/c", ""), Pair("2", "two")));
}

TEST_F(TreeCacheTest, a_leaf_is_followed_without_its_children) {
  create("/tree/1", "one");
  create("/tree/1/lock");
  create("/tree/1/lock/leaf", "not read");
  create("/tree/1/lock/leaf/below");
  follow();
  EXPECT_THAT(mirror_.content,
              ElementsAre(Pair("1", "one"), Pair("1/lock", ""), Pair("1/lock/leaf", "")));
  create("/tree/2", "two");
  create("/tree/2/lock");
  create("/tree/2/lock/leaf");
  EXPECT_TRUE(mirror_.content.contains("2/lock/leaf"));
  loop_.run(b_.remove("/tree/2/lock/leaf", kAnyVersion));
  settle();
  EXPECT_FALSE(mirror_.content.contains("2/lock/leaf"));
}

class GuardedTreeTest : public RecipesTest {
 protected:
  GuardedTreeTest() { loop_.run(ensure_path(a_, "/tree")); }
  ~GuardedTreeTest() override { loop_.run(scope_.stop()); }

  void create(const std::string& path, const std::string& data) {
    loop_.run(b_.create(path, data, CreateMode::persistent));
    settle();
  }
  void follow() {
    scope_.spawn("cache", cache_.run());
    settle();
  }

  GuardedStore guarded_{a_};
  Mirror mirror_;
  TreeCache cache_{runtime_, guarded_, "/tree", mirror_};
};

TEST_F(GuardedTreeTest, what_may_not_be_read_keeps_nothing_else_from_being_followed) {
  create("/tree/1", "one");
  create("/tree/2", "two");
  guarded_.forbidden = {"/tree/1"};
  follow();
  EXPECT_TRUE(cache_.ready());
  const std::string first = "?1=not permitted: /tree/1";
  // Its data and its children.
  EXPECT_THAT(mirror_.log, ElementsAre(first, first, "+2=two", "ready"));
  mirror_.log.clear();
  guarded_.forbidden.insert("/tree/3");
  create("/tree/3", "three");
  create("/tree/4", "four");
  loop_.run(b_.remove("/tree/3", kAnyVersion));
  settle();
  EXPECT_TRUE(cache_.ready());
  EXPECT_THAT(mirror_.log, ElementsAre("?3=not permitted: /tree/3", "+4=four", "-3"));
}

// A changed access control list has no event.
TEST_F(GuardedTreeTest, what_may_be_read_again_is_found_within_a_minute) {
  create("/tree/1", "one");
  follow();
  guarded_.forbidden = {"/tree/1"};
  loop_.run(b_.set("/tree/1", "uno", kAnyVersion));
  for (int second = 0; second < 600; ++second) pass(std::chrono::seconds(1));
  EXPECT_LE(guarded_.refusals, 12);
  guarded_.forbidden.clear();
  mirror_.log.clear();
  for (int second = 0; second < 60; ++second) pass(std::chrono::seconds(1));
  EXPECT_THAT(mirror_.log, ElementsAre("+1=uno"));
}

TEST_F(GuardedTreeTest, a_tree_that_may_not_be_read_or_done_without_is_tried_again_and_reported) {
  create("/tree/1", "one");
  guarded_.forbidden = {"/tree"};
  follow();
  EXPECT_FALSE(cache_.ready());
  EXPECT_THAT(mirror_.failures, Each("not permitted: /tree"));
  EXPECT_THAT(mirror_.failures, Not(IsEmpty()));
  guarded_.forbidden = {"/tree/1"};
  mirror_.goes_on = false;
  pass(std::chrono::seconds(1));
  EXPECT_FALSE(cache_.ready());
  EXPECT_EQ(mirror_.failures.back(), "not permitted: /tree/1");
  guarded_.forbidden.clear();
  pass(std::chrono::seconds(1));
  EXPECT_TRUE(cache_.ready());
  EXPECT_THAT(mirror_.content, ElementsAre(Pair("1", "one")));
}

TEST_F(GuardedTreeTest, a_walk_that_keeps_failing_is_repeated_less_and_less_often) {
  const auto pass_seconds = [this](int seconds) {
    for (int second = 0; second < seconds; ++second) pass(std::chrono::seconds(1));
  };
  guarded_.forbidden = {"/tree"};
  follow();
  pass_seconds(600);
  EXPECT_LE(mirror_.failures.size(), 80U);
  guarded_.forbidden.clear();
  pass_seconds(10);
  EXPECT_TRUE(cache_.ready());
  // The pauses are short again.
  guarded_.forbidden = {"/tree"};
  a_.suspend_for_tests();
  settle();
  a_.resume_for_tests();
  settle();
  EXPECT_FALSE(cache_.ready());
  guarded_.forbidden.clear();
  pass_seconds(1);
  EXPECT_TRUE(cache_.ready());
}

TEST_F(GuardedTreeTest, a_record_that_an_observer_cannot_deal_with_affects_no_other) {
  follow();
  create("/tree/1", "one");
  loop_.run(b_.set("/tree/1", "poison", kAnyVersion));
  create("/tree/2", "two");
  EXPECT_TRUE(cache_.ready());
  EXPECT_THAT(mirror_.log, ElementsAre("ready", "+1=one", "?1=poison", "+2=two"));
}

TEST_F(TreeCacheTest, a_tree_that_does_not_exist_yet_is_followed) {
  TreeCache cache(runtime_, a_, "/later", mirror_);
  scope_.spawn("cache", cache.run());
  settle();
  EXPECT_THAT(mirror_.log, ElementsAre("ready"));
  create("/later");
  create("/later/1", "x");
  EXPECT_THAT(mirror_.content, ElementsAre(Pair("1", "x")));
  loop_.run(scope_.stop());
}

TEST_F(TreeCacheTest, changes_arrive_once_each) {
  follow();
  mirror_.log.clear();
  create("/tree/1", "one");
  loop_.run(b_.set("/tree/1", "uno", kAnyVersion));
  settle();
  create("/tree/1/lock");
  loop_.run(b_.remove("/tree/1/lock", kAnyVersion));
  loop_.run(b_.remove("/tree/1", kAnyVersion));
  settle();
  EXPECT_THAT(mirror_.log, ElementsAre("+1=one", "+1=uno", "+1/lock=", "-1/lock", "-1"));
}

TEST_F(TreeCacheTest, many_changes_of_a_record_cost_one_read) {
  follow();
  create("/tree/1", "0");
  mirror_.log.clear();
  Transaction changes;
  for (int i = 1; i <= 100; ++i) changes.set("/tree/1", std::to_string(i));
  loop_.run(b_.commit(std::move(changes)));
  settle();
  EXPECT_THAT(mirror_.log, ElementsAre("+1=100"));
}

TEST_F(TreeCacheTest, data_come_before_the_unlocking_that_followed_them) {
  create("/tree/1", "in-use");
  create("/tree/1/lock");
  create("/tree/1/lock/c");
  follow();
  mirror_.log.clear();
  Transaction transaction;
  transaction.set("/tree/1", "used");
  transaction.remove("/tree/1/lock/c");
  loop_.run(b_.commit(std::move(transaction)));
  settle();
  EXPECT_THAT(mirror_.log, ElementsAre("+1=used", "-1/lock/c"));
}

TEST_F(TreeCacheTest, a_lock_is_known_before_the_data_that_are_being_read) {
  create("/tree/1", "ready");
  create("/tree/1/lock");
  follow();
  mirror_.log.clear();
  Transaction transaction;
  transaction.set("/tree/1", "in-use");
  transaction.create("/tree/1/lock/leaf", "");
  loop_.run(b_.commit(std::move(transaction)));
  settle();
  EXPECT_THAT(mirror_.log, ElementsAre("+1/lock/leaf=", "+1=in-use"));
  mirror_.log.clear();
  Transaction both;
  both.remove("/tree/1/lock/leaf").create("/tree/1/lock/leaf", "");
  loop_.run(b_.commit(std::move(both)));
  settle();
  EXPECT_TRUE(mirror_.content.contains("1/lock/leaf"));
}

TEST_F(TreeCacheTest, a_replacement_leaves_no_moment_without_either) {
  create("/tree/1", "old");
  follow();
  mirror_.log.clear();
  Transaction replacement;
  replacement.create("/tree/2", "new").remove("/tree/1");
  loop_.run(b_.commit(std::move(replacement)));
  settle();
  EXPECT_THAT(mirror_.content, ElementsAre(Pair("2", "new")));
  EXPECT_THAT(mirror_.log, ElementsAre("+2=new", "-1"));
}

TEST_F(TreeCacheTest, own_writes_are_visible_at_once_and_not_reported_again) {
  create("/tree/1", "one");
  follow();
  mirror_.log.clear();
  const Stat stat = loop_.run(a_.set("/tree/1", "mine", kAnyVersion));
  cache_.apply("1", {"mine", stat});
  EXPECT_THAT(mirror_.log, ElementsAre("+1=mine"));
  settle();
  EXPECT_THAT(mirror_.log, ElementsAre("+1=mine"));
  cache_.apply("1", {"older", Stat{}});
  EXPECT_EQ(mirror_.content.at("1"), "mine");
}

TEST_F(TreeCacheTest, own_writes_are_not_read_again) {
  create("/tree/1", "one");
  FaultyStore store(a_, runtime_, {}, 1);
  TreeCache cache(runtime_, store, "/tree", mirror_);
  scope_.spawn("cache", cache.run());
  settle();
  mirror_.log.clear();
  const auto set_and_apply = [](Store& store, TreeCache& cache) -> Task<> {
    for (const char* data : {"mine", "mine again"}) {
      const Stat stat = co_await store.set("/tree/1", data, kAnyVersion);
      cache.apply("1", {data, stat});
    }
  };
  loop_.run(set_and_apply(a_, cache));
  store.set_plan({.disconnected = 1});  // for operations, not for events
  settle();
  EXPECT_THAT(mirror_.log, ElementsAre("+1=mine", "+1=mine again"));
  loop_.run(b_.set("/tree/1", "theirs", kAnyVersion));
  settle();
  EXPECT_EQ(mirror_.log.back(), "lost");  // that was to be read
  loop_.run(scope_.stop());
}

TEST_F(TreeCacheTest, writes_of_others_beside_own_writes_are_read) {
  create("/tree/1", "one");
  follow();
  const auto set = [](Store& mine, Store& theirs, TreeCache& cache) -> Task<> {
    co_await theirs.set("/tree/1", "theirs before", kAnyVersion);
    const Stat stat = co_await mine.set("/tree/1", "mine", kAnyVersion);
    co_await theirs.set("/tree/1", "theirs after", kAnyVersion);
    cache.apply("1", {"mine", stat});
  };
  loop_.run(set(a_, b_, cache_));
  settle();
  EXPECT_EQ(mirror_.content.at("1"), "theirs after");
  // Also if it returns to a version that was cached before.
  loop_.run(b_.remove("/tree/1", kAnyVersion));
  loop_.run(b_.create("/tree/1", "another", CreateMode::persistent));
  for (int i = 0; i < 3; ++i) loop_.run(b_.set("/tree/1", std::to_string(i), kAnyVersion));
  settle();
  EXPECT_EQ(mirror_.content.at("1"), "2");
}

TEST_F(TreeCacheTest, changes_during_a_disconnection_are_found_afterwards) {
  create("/tree/1", "one");
  create("/tree/2", "two");
  follow();
  mirror_.log.clear();
  a_.suspend_for_tests();
  settle();
  EXPECT_THAT(mirror_.log, ElementsAre("lost"));
  EXPECT_FALSE(cache_.ready());
  loop_.run(b_.remove("/tree/1", kAnyVersion));
  loop_.run(b_.set("/tree/2", "zwei", kAnyVersion));
  create("/tree/3", "three");
  EXPECT_THAT(mirror_.log, ElementsAre("lost"));
  a_.resume_for_tests();
  settle();
  pass(std::chrono::seconds(1));
  EXPECT_TRUE(cache_.ready());
  EXPECT_THAT(mirror_.content, UnorderedElementsAre(Pair("2", "zwei"), Pair("3", "three")));
  EXPECT_EQ(mirror_.log.back(), "ready");
}

TEST_F(TreeCacheTest, an_expired_session_is_a_disconnection_as_well) {
  create("/tree/1", "one");
  follow();
  a_.expire_for_tests();
  settle();
  pass(std::chrono::seconds(1));
  EXPECT_TRUE(cache_.ready());
  EXPECT_THAT(mirror_.log, ElementsAre("+1=one", "ready", "lost", "+1=one", "ready"));
}

TEST_F(TreeCacheTest, a_walk_that_fails_is_not_repeated_at_each_event) {
  create("/tree/1", "one");
  FaultyStore store(a_, runtime_, {.disconnected = 1}, 1);
  TreeCache cache(runtime_, store, "/tree", mirror_);
  scope_.spawn("cache", cache.run());
  settle();
  const std::uint64_t failed = store.counts().disconnected;
  for (int i = 2; i < 50; ++i) create("/tree/" + std::to_string(i));
  EXPECT_LE(store.counts().disconnected, failed + 1);
  EXPECT_FALSE(cache.ready());
  store.set_plan({});
  pass(std::chrono::seconds(1));
  EXPECT_TRUE(cache.ready());
  EXPECT_EQ(mirror_.content.size(), 49U);
  loop_.run(scope_.stop());
}

// Another store with records of the same names after an outage, with own writes at any time during
// the walk.
TEST_F(TreeCacheTest, a_record_written_during_a_walk_is_not_treated_as_removed) {
  follow();
  for (int step = 0; step < 40; ++step) {
    const std::string name = std::to_string(step);
    create("/tree/" + name, "old");
    ASSERT_EQ(mirror_.content[name], "old");
    a_.suspend_for_tests();
    settle();
    loop_.run(b_.remove("/tree/" + name, kAnyVersion));
    a_.resume_for_tests();
    loop_.poll(static_cast<std::size_t>(step));
    const auto write = [](MemoryStore& store, TreeCache& cache, std::string name) -> Task<> {
      co_await store.create("/tree/" + name, "new", CreateMode::persistent);
      const Entry entry = co_await store.get("/tree/" + name);
      cache.apply(name, entry);
    };
    scope_.spawn("writer", write(a_, cache_, name));
    pass(std::chrono::seconds(1));
    EXPECT_EQ(mirror_.content[name], "new") << "written after " << step << " steps";
  }
}

// Its transaction ids start again, or continue from an earlier one.
TEST_F(TreeCacheTest, another_store_s_records_are_news_though_their_versions_are_older) {
  create("/tree/1", "new");
  follow();
  a_.expire_for_tests();
  while (mirror_.log.back() != "lost") loop_.poll(1);
  cache_.apply("1", {"older", Stat{}});
  EXPECT_EQ(mirror_.content.at("1"), "older");
}

TEST_F(TreeCacheTest, another_store_s_records_are_news_though_their_versions_are_the_same) {
  create("/tree/1", "own");
  const Stat stat = loop_.run(a_.get("/tree/1")).stat;
  follow();
  a_.expire_for_tests();
  while (mirror_.log.back() != "lost") loop_.poll(1);
  cache_.apply("1", {"other", stat});
  EXPECT_EQ(mirror_.content.at("1"), "other");
}

// The servers are restored from a backup that has the session.
TEST_F(TreeCacheTest, an_older_store_is_followed_although_the_session_lives) {
  create("/tree/1", "new");
  follow();
  const std::int64_t session = a_.session_id();
  a_.suspend_for_tests();
  settle();
  server_.renumber_for_tests();
  loop_.run(b_.set("/tree/1", "older", kAnyVersion));
  EXPECT_EQ(mirror_.content.at("1"), "new");
  a_.resume_for_tests();
  pass(std::chrono::seconds(1));
  EXPECT_EQ(a_.session_id(), session);
  EXPECT_EQ(mirror_.content.at("1"), "older");
  EXPECT_EQ(mirror_.log.back(), "ready");
}

}  // namespace
}  // namespace nodepool::coordination
