// Cleaning up with a store that refuses writes.

#include "launcher/cleanup_worker.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "coordination/forwarding_store.h"
#include "coordination/tree.h"
#include "model/paths.h"
#include "tests/launcher/parts_fixture.h"

namespace nodepool::launcher {
namespace {

using coordination::CreateMode;
using coordination::StoreError;
using coordination::Transaction;
using std::chrono::minutes;
using testing::ElementsAre;
using testing::IsEmpty;

// A store that refuses all transactions while it is full, and to remove one path.
class RefusingStore final : public coordination::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  bool is_full = false;
  std::string forbidden;
  std::vector<std::string> removals;  // attempts

  Task<> remove(std::string path, std::int32_t expected) override {
    removals.push_back(path);
    if (path == forbidden) throw coordination::store_error(StoreError::Kind::not_permitted, path);
    co_await ForwardingStore::remove(std::move(path), expected);
  }
  Task<std::vector<coordination::OperationResult>> commit(Transaction transaction) override {
    if (is_full) throw coordination::store_error(StoreError::Kind::no_space, "/", "it is full");
    for (const auto& part : transaction.operations()) removals.push_back(part.path);
    const bool is_forbidden = std::ranges::any_of(
        transaction.operations(), [this](const auto& part) { return part.path == forbidden; });
    if (is_forbidden) throw coordination::store_error(StoreError::Kind::not_permitted, forbidden);
    co_return co_await ForwardingStore::commit(std::move(transaction));
  }
};

class CleanupWorkerTest : public PartsFixture {
 protected:
  ~CleanupWorkerTest() override { loop_.run(worker_.stop()); }

  // Starts the worker; its first cleanup is over.
  void start() {
    worker_.start();
    pass(minutes(1));
  }

  // A request and its lock node.
  void add_request(const std::string& id) {
    model::NodeRequest request;
    request.node_types = {"small"};
    Transaction transaction;
    transaction.create(model::request_path(id), to_record(request));
    transaction.create(model::request_lock_path(id), "");
    loop_.run(others_.commit(std::move(transaction)));
    settle();
  }

  void delete_request(const std::string& id) {
    loop_.run(others_.remove(model::request_path(id), coordination::kAnyVersion));
    settle();
  }

  // Registers a pool. Returns the path of its record.
  std::string add_pool(const std::string& id) {
    model::Component pool;
    pool.kind = model::Component::Kind::pool;
    pool.id = id;
    pool.version = "12.0.0";
    std::string path = std::string(model::kComponentsRoot) + "/pool/" + id;
    Transaction transaction;
    transaction.create(path, to_record(pool));
    loop_.run(coordination::commit_with_parents(others_, std::move(transaction)));
    settle();
    return path;
  }

  std::vector<std::string> locks() {
    return loop_.run(others_.children(std::string(model::kRequestLocksRoot)));
  }

  RefusingStore refusing_{store_};
  WorkerContext cleanup_context_{runtime_, refusing_, records_, log_};
  CleanupWorker worker_{cleanup_context_, departed_pools_, own_pools_};
};

TEST_F(CleanupWorkerTest, locks_that_a_full_store_kept_are_removed_when_there_is_space) {
  start();
  add_request("200-0");
  refusing_.is_full = true;
  delete_request("200-0");
  pass(minutes(5));
  EXPECT_THAT(locks(), ElementsAre("200-0"));
  refusing_.is_full = false;
  pass(minutes(2));
  EXPECT_THAT(locks(), IsEmpty());
}

TEST_F(CleanupWorkerTest, a_lock_that_must_not_be_removed_protects_no_other) {
  start();
  for (const char* id : {"200-0", "200-1", "200-2"}) add_request(id);
  refusing_.forbidden = model::request_lock_path("200-1");
  for (const char* id : {"200-0", "200-1", "200-2"}) delete_request(id);
  pass(minutes(1));
  EXPECT_THAT(locks(), ElementsAre("200-1"));
  refusing_.forbidden.clear();
  pass(minutes(2));
  EXPECT_THAT(locks(), IsEmpty());
}

TEST_F(CleanupWorkerTest, locks_that_appear_after_their_requests_are_removed_within_hours) {
  start();
  add_request("200-0");
  loop_.run(others_.create(model::request_lock_path("200-1"), "", CreateMode::persistent));
  pass(std::chrono::hours(4));
  EXPECT_THAT(locks(), ElementsAre("200-0"));
}

TEST_F(CleanupWorkerTest, a_lock_that_is_seen_before_its_request_stays) {
  start();
  const std::string lock = model::request_lock_path("200-0");
  const std::string contender = lock + "/contender";
  loop_.run(others_.create(lock, "", CreateMode::persistent));
  loop_.run(others_.create(contender, "", CreateMode::persistent));
  pass(std::chrono::hours(4));
  model::NodeRequest request;
  request.node_types = {"small"};
  loop_.run(
      others_.create(model::request_path("200-0"), to_record(request), CreateMode::persistent));
  settle();
  loop_.run(others_.remove(contender, coordination::kAnyVersion));
  pass(minutes(5));
  EXPECT_THAT(locks(), ElementsAre("200-0"));
}

TEST_F(CleanupWorkerTest, each_lock_is_removed_by_one_launcher) {
  own_pools_ = {"own"};
  add_pool("own");
  const std::string other = add_pool("other");
  start();
  std::vector<std::string> ids;
  for (int i = 0; i < 20; ++i) ids.push_back("200-" + std::to_string(i));
  for (const std::string& id : ids) add_request(id);
  refusing_.removals.clear();
  for (const std::string& id : ids) delete_request(id);
  pass(minutes(5));
  const std::size_t left = locks().size();
  EXPECT_GT(left, 0U) << "the other launcher removes these";
  EXPECT_LT(left, ids.size());
  EXPECT_EQ(refusing_.removals.size(), ids.size() - left) << "one attempt each";

  loop_.run(others_.remove(other, coordination::kAnyVersion));
  pass(minutes(1));
  EXPECT_THAT(locks(), IsEmpty()) << "the other launcher has ended before";
}

}  // namespace
}  // namespace nodepool::launcher
