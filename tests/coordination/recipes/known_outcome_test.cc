#include "coordination/known_outcome.h"

#include <optional>

#include "async/event.h"
#include "coordination/faulty/faulty_store.h"
#include "coordination/forwarding_store.h"
#include "coordination/lock.h"
#include "tests/coordination/recipes/recipes_fixture.h"

namespace nodepool::coordination {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = StoreError::Kind;

// A store that refuses an operation of each transaction.
class RefusingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Task<std::vector<OperationResult>> commit(Transaction transaction) override {
    if (refusal) throw TransactionError(store_error(*refusal, "/record"), 1);
    return ForwardingStore::commit(std::move(transaction));
  }

  std::optional<StoreError::Kind> refusal;
};

class KnownOutcomeTest : public RecipesTest {
 protected:
  KnownOutcomeTest() {
    loop_.run(ensure_path(a_, "/record"));
    EXPECT_TRUE(loop_.run(lock_.try_acquire()));
  }

  // Locked, and written with the version that was read.
  Transaction write(const std::string& data) {
    Transaction transaction;
    lock_.check_in(transaction);
    transaction.set("/record", data, version());
    return transaction;
  }

  std::int32_t version() const { return server_.tree().get("/record").stat.version; }
  std::string data() const { return server_.tree().get("/record").data; }

  void commit(Transaction transaction) { commit_to(store_, std::move(transaction)); }

  void commit_to(Store& store, Transaction transaction) {
    scope_.spawn("commit", keep_outcome(*this, store, std::move(transaction)));
    settle();
  }

  static Task<> keep_outcome(KnownOutcomeTest& test, Store& store, Transaction transaction) {
    try {
      test.results_ = co_await commit_until_known(test.runtime_, store, transaction);
      test.log_.emplace_back("done");
    } catch (const StoreError& error) {
      test.log_.emplace_back(to_string(error.kind()));
    } catch (const async::Cancelled&) {
      test.log_.emplace_back("cancelled");
    }
  }

  FaultyStore store_{a_, runtime_, {}, 1};
  Lock lock_{a_, random_, "/lock"};
  std::vector<OperationResult> results_;
};

TEST_F(KnownOutcomeTest, a_write_with_a_lost_response_is_done_once) {
  store_.set_plan({.lost_answer = 1});
  commit(write("new"));
  EXPECT_THAT(log_, IsEmpty());
  store_.set_plan({});
  pass(seconds(1));
  EXPECT_THAT(log_, ElementsAre("done"));
  ASSERT_THAT(results_, SizeIs(2));
  EXPECT_EQ(results_[1].stat.version, 1);
  EXPECT_EQ(version(), 1);
}

TEST_F(KnownOutcomeTest, a_write_with_a_lost_request_is_repeated) {
  store_.set_plan({.lost_request = 1});
  commit(write("new"));
  pass(seconds(5));
  EXPECT_EQ(version(), 0);
  store_.set_plan({});
  pass(seconds(1));
  EXPECT_THAT(log_, ElementsAre("done"));
  EXPECT_EQ(data(), "new");
  EXPECT_EQ(results_.at(1).stat.version, 1);
}

TEST_F(KnownOutcomeTest, it_waits_for_a_store_that_is_out_of_reach) {
  store_.set_plan({.disconnected = 1});
  commit(write("new"));
  pass(std::chrono::minutes(10));
  EXPECT_THAT(log_, IsEmpty());
  store_.set_plan({});
  pass(seconds(1));
  EXPECT_THAT(log_, ElementsAre("done"));
}

TEST_F(KnownOutcomeTest, it_waits_while_a_quota_is_exhausted) {
  RefusingStore full(a_);
  full.refusal = Kind::storage;
  commit_to(full, write("new"));
  pass(std::chrono::minutes(10));
  EXPECT_THAT(log_, IsEmpty());
  full.refusal.reset();
  pass(seconds(1));
  EXPECT_THAT(log_, ElementsAre("done"));
  EXPECT_EQ(data(), "new");
}

// The record of one node must not hold the locks of others.
TEST_F(KnownOutcomeTest, it_does_not_wait_for_permission_to_change_one_record) {
  RefusingStore guarded(a_);
  guarded.refusal = Kind::not_permitted;
  commit_to(guarded, write("new"));
  EXPECT_THAT(log_, ElementsAre("not permitted"));
}

TEST_F(KnownOutcomeTest, a_refusal_is_an_answer) {
  Transaction late = write("late");
  loop_.run(a_.set("/record", "meanwhile", 0));
  commit(std::move(late));
  EXPECT_THAT(log_, ElementsAre("version conflict"));
  // Also after an attempt with an unknown outcome.
  log_.clear();
  late = write("late");
  store_.set_plan({.lost_request = 1});
  commit(late);
  loop_.run(a_.set("/record", "again", 1));
  store_.set_plan({});
  pass(seconds(1));
  EXPECT_THAT(log_, ElementsAre("version conflict"));
  EXPECT_EQ(data(), "again");
}

TEST_F(KnownOutcomeTest, a_released_lock_proves_the_commit_after_later_changes) {
  Transaction transaction;
  transaction.set("/record", "handed out", 0);
  lock_.release_in(transaction);
  store_.set_plan({.lost_answer = 1});
  commit(std::move(transaction));
  loop_.run(b_.set("/record", "used", 1));
  store_.set_plan({});
  pass(seconds(1));
  EXPECT_THAT(log_, ElementsAre("done"));
  EXPECT_EQ(results_.at(0).stat.mzxid, 0) << "of a version that cannot be read any more";
  EXPECT_EQ(data(), "used");
}

TEST_F(KnownOutcomeTest, a_lock_that_is_still_held_disproves_the_commit) {
  Transaction transaction;
  transaction.set("/record", "handed out", 0);
  lock_.release_in(transaction);
  store_.set_plan({.lost_request = 1});
  commit(std::move(transaction));
  loop_.run(b_.set("/record", "handed out", 0));
  store_.set_plan({});
  pass(seconds(1));
  EXPECT_THAT(log_, ElementsAre("version conflict"));
}

TEST_F(KnownOutcomeTest, the_end_of_the_session_ends_it) {
  store_.set_plan({.lost_request = 1});
  commit(write("new"));
  a_.expire_for_tests();
  settle();
  store_.set_plan({});
  pass(seconds(1));
  EXPECT_THAT(log_, ElementsAre("session expired"));
  EXPECT_EQ(version(), 0);
}

TEST_F(KnownOutcomeTest, waiting_for_the_store_can_be_cancelled) {
  store_.set_plan({.disconnected = 1});
  commit(write("new"));
  loop_.run(scope_.stop());
  EXPECT_THAT(log_, ElementsAre("cancelled"));
}

}  // namespace
}  // namespace nodepool::coordination
