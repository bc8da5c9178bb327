#include "coordination/lock.h"

#include <optional>

#include "coordination/faulty/faulty_store.h"
#include "coordination/lock_set.h"
#include "coordination/lock_sweeper.h"
#include "coordination/path.h"
#include "tests/coordination/recipes/recipes_fixture.h"
#include "tests/coordination/stalling_store.h"

namespace nodepool::coordination {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::SizeIs;

class LockTest : public RecipesTest {};

TEST_F(LockTest, contenders_have_the_names_that_kazoo_gives_them) {
  Lock lock(a_, random_, "/lock/x", "who");
  EXPECT_TRUE(loop_.run(lock.try_acquire()));
  EXPECT_TRUE(lock.held());
  const std::vector<std::string> names = children("/lock/x");
  ASSERT_THAT(names, SizeIs(1));
  EXPECT_THAT(names[0], MatchesRegex("[0-9a-f]+__lock__0000000000"));
  EXPECT_EQ(names[0].find("__lock__"), 32U);
  const Entry entry = loop_.run(a_.get(lock.contender()));
  EXPECT_EQ(entry.data, "who");
  EXPECT_EQ(entry.stat.ephemeral_owner, a_.session_id());
}

TEST_F(LockTest, the_lowest_digits_hold_the_lock_whatever_comes_before_them) {
  EXPECT_THAT(
      sorted_contenders({"ffff__lock__0000000002", "0000__lock__0000000010", "other",
                         "aaaa__rlock__1", "bbbb__lock__0000000003", "cccc__lock__00000000aa"}),
      ElementsAre("ffff__lock__0000000002", "bbbb__lock__0000000003", "0000__lock__0000000010"));
}

TEST_F(LockTest, a_failed_attempt_leaves_no_contender) {
  Lock first(a_, random_, "/lock/x");
  Lock second(b_, random_, "/lock/x");
  EXPECT_TRUE(loop_.run(first.try_acquire()));
  EXPECT_FALSE(loop_.run(second.try_acquire()));
  EXPECT_THAT(children("/lock/x"), SizeIs(1));
  loop_.run(first.release());
  EXPECT_TRUE(loop_.run(second.try_acquire()));
}

TEST_F(LockTest, nothing_is_made_where_the_protected_record_is_gone) {
  Lock lock(a_, random_, "/lock/record/lock");
  EXPECT_THROW(loop_.run(lock.try_acquire()), StoreError);
  EXPECT_THAT(children("/lock"), IsEmpty());
}

// The creation of the first contender fails with an unknown outcome because there is no root yet. A
// missing root does not mean that the record is gone.
TEST_F(LockTest, a_lost_response_without_a_root_is_no_missing_record) {
  loop_.run(a_.create("/lock/record", {}, CreateMode::persistent));
  FaultyStore lossy(a_, runtime_, {.lost_request = 1}, 1);
  Lock lock(lossy, random_, "/lock/record/lock");
  async::TaskScope scope(
      runtime_, [](const std::string&, const std::string& error) { ADD_FAILURE() << error; });
  std::optional<bool> acquired;
  const auto try_it = [](Lock& wanted, std::optional<bool>& result) -> Task<> {
    result = co_await wanted.try_acquire();
  };
  scope.spawn("lock", try_it(lock, acquired));
  while (lossy.counts().lost_request == 0) loop_.poll(1);
  lossy.set_plan({});
  loop_.run(scope.join());
  EXPECT_EQ(acquired, true);
}

Task<> try_and_tell(LockSet& set, std::vector<std::string>& log) {
  try {
    co_await set.try_acquire();
    log.emplace_back("done");
  } catch (const StoreError&) {
    log.emplace_back("failed");
  }
}

Task<> acquire_and_tell(Lock& lock, async::Clock& clock, seconds patience, std::string name,
                        std::vector<std::string>& log) {
  try {
    co_await lock.acquire(clock, clock.now() + patience);
    log.push_back(name);
  } catch (const async::DeadlineExceeded&) {
    log.push_back(name + " gave up");
  } catch (const async::Cancelled&) {
    log.push_back(name + " cancelled");
  }
}

TEST_F(LockTest, waiters_get_the_lock_in_order_of_arrival) {
  Lock holder(a_, random_, "/lock/x");
  Lock second(b_, random_, "/lock/x");
  Lock third(a_, random_, "/lock/x");
  ASSERT_TRUE(loop_.run(holder.try_acquire()));
  scope_.spawn("second", acquire_and_tell(second, clock_, seconds(60), "second", log_));
  settle();
  scope_.spawn("third", acquire_and_tell(third, clock_, seconds(60), "third", log_));
  settle();
  EXPECT_THAT(log_, IsEmpty());
  loop_.run(holder.release());
  settle();
  EXPECT_THAT(log_, ElementsAre("second"));
  loop_.run(second.release());
  settle();
  EXPECT_THAT(log_, ElementsAre("second", "third"));
}

TEST_F(LockTest, a_waiter_leaves_the_queue_at_its_deadline_and_when_cancelled) {
  Lock holder(a_, random_, "/lock/x");
  Lock impatient(b_, random_, "/lock/x");
  Lock cancelled(b_, random_, "/lock/x");
  ASSERT_TRUE(loop_.run(holder.try_acquire()));
  scope_.spawn("1", acquire_and_tell(impatient, clock_, seconds(5), "impatient", log_));
  scope_.spawn("2", acquire_and_tell(cancelled, clock_, seconds(60), "other", log_));
  pass(seconds(5));
  EXPECT_THAT(log_, ElementsAre("impatient gave up"));
  EXPECT_THAT(children("/lock/x"), SizeIs(2));
  loop_.run(scope_.stop());
  EXPECT_THAT(log_, ElementsAre("impatient gave up", "other cancelled"));
  EXPECT_THAT(children("/lock/x"), SizeIs(1));
}

TEST_F(LockTest, the_death_of_the_holder_frees_the_lock) {
  Lock holder(b_, random_, "/lock/x");
  Lock waiter(a_, random_, "/lock/x");
  ASSERT_TRUE(loop_.run(holder.try_acquire()));
  scope_.spawn("waiter", acquire_and_tell(waiter, clock_, seconds(60), "waiter", log_));
  settle();
  b_.kill_for_tests();
  settle();
  EXPECT_THAT(log_, ElementsAre("waiter"));
}

TEST_F(LockTest, a_waiter_with_a_removed_contender_queues_again) {
  Lock holder(a_, random_, "/lock/x");
  Lock waiter(b_, random_, "/lock/x");
  ASSERT_TRUE(loop_.run(holder.try_acquire()));
  scope_.spawn("waiter", acquire_and_tell(waiter, clock_, seconds(60), "waiter", log_));
  settle();
  loop_.run(a_.remove(waiter.contender(), kAnyVersion));
  settle();
  EXPECT_THAT(children("/lock/x"), SizeIs(2));
  loop_.run(holder.release());
  settle();
  EXPECT_THAT(log_, ElementsAre("waiter"));
}

TEST_F(LockTest, a_persistent_lock_outlives_its_session_until_it_is_forced) {
  Lock lease(b_, random_, "/lock/x", "lease", Lock::Lifetime::persistent);
  ASSERT_TRUE(loop_.run(lease.try_acquire()));
  b_.kill_for_tests();
  settle();
  Lock other(a_, random_, "/lock/x");
  EXPECT_FALSE(loop_.run(other.try_acquire()));
  EXPECT_TRUE(loop_.run(force_unlock(a_, "/lock/x")));
  EXPECT_FALSE(loop_.run(force_unlock(a_, "/lock/x")));
  EXPECT_TRUE(loop_.run(other.try_acquire()));
}

TEST_F(LockTest, a_set_takes_all_locks_in_one_transaction) {
  loop_.run(ensure_path(a_, "/lock/y"));
  const std::int64_t before = loop_.run(a_.set("/lock", "", kAnyVersion)).mzxid;
  LockSet set(a_, random_);
  set.add("/lock/x", false);
  set.add("/lock/y", true);
  EXPECT_EQ(loop_.run(set.try_acquire()).kind, LockSet::Outcome::Kind::acquired);
  const std::int64_t after = loop_.run(a_.set("/lock", "", kAnyVersion)).mzxid;
  EXPECT_EQ(after - before, 2) << "one for the locks, one for this check";
  EXPECT_THAT(children("/lock/x"), SizeIs(1));
  EXPECT_THAT(children("/lock/y"), SizeIs(1));
  loop_.run(set.release());
  EXPECT_THAT(children("/lock/x"), IsEmpty());
  EXPECT_THAT(children("/lock/y"), IsEmpty());
}

TEST_F(LockTest, a_set_corrects_wrong_guesses_about_roots) {
  loop_.run(ensure_path(a_, "/lock/y"));
  LockSet set(a_, random_);
  set.add("/lock/x", true);
  set.add("/lock/y", false);
  EXPECT_EQ(loop_.run(set.try_acquire()).kind, LockSet::Outcome::Kind::acquired);
}

TEST_F(LockTest, a_set_that_misses_one_lock_takes_none) {
  Lock other(b_, random_, "/lock/y");
  ASSERT_TRUE(loop_.run(other.try_acquire()));
  LockSet set(a_, random_);
  set.add("/lock/x", false);
  const std::size_t contended = set.add("/lock/y", true);
  const LockSet::Outcome outcome = loop_.run(set.try_acquire());
  EXPECT_EQ(outcome.kind, LockSet::Outcome::Kind::contended);
  EXPECT_EQ(outcome.index, contended);
  EXPECT_THAT(children("/lock/x"), IsEmpty());
  EXPECT_THAT(children("/lock/y"), SizeIs(1));
}

// The roots may exist already, and have contenders.
TEST_F(LockTest, a_set_writes_only_with_its_locks) {
  loop_.run(a_.create("/record", "old", CreateMode::persistent));
  Lock other(b_, random_, "/lock/y");
  ASSERT_TRUE(loop_.run(other.try_acquire()));
  LockSet set(a_, random_);
  set.add("/lock/x", false);
  const std::size_t contended = set.add("/lock/y", false);
  Transaction also;
  also.set("/record", "new", 0);
  const LockSet::Outcome outcome = loop_.run(set.try_acquire(also));
  EXPECT_EQ(outcome.kind, LockSet::Outcome::Kind::contended);
  EXPECT_EQ(outcome.index, contended);
  EXPECT_EQ(loop_.run(a_.get("/record")).data, "old");
  loop_.run(other.release());
  EXPECT_EQ(loop_.run(set.try_acquire(also)).kind, LockSet::Outcome::Kind::acquired);
  EXPECT_EQ(loop_.run(a_.get("/record")).data, "new");
  ASSERT_THAT(set.also_results(), SizeIs(1));
  EXPECT_EQ(set.also_results()[0].stat.version, 1);
}

TEST_F(LockTest, what_a_set_writes_below_new_roots_takes_one_transaction) {
  loop_.run(ensure_path(a_, "/lock"));
  loop_.run(a_.create("/record", "old", CreateMode::persistent));
  LockSet set(a_, random_);
  set.add("/lock/x", false);
  Transaction also;
  also.set("/record", "new", 0);
  EXPECT_EQ(loop_.run(set.try_acquire(also)).kind, LockSet::Outcome::Kind::acquired);
  const std::vector<std::string> names = children("/lock/x");
  ASSERT_THAT(names, SizeIs(1));
  EXPECT_EQ(loop_.run(a_.get("/lock/x/" + names[0])).stat.mzxid,
            loop_.run(a_.get("/record")).stat.mzxid);
}

TEST_F(LockTest, a_rejected_write_of_a_set_has_an_error_of_its_own) {
  loop_.run(ensure_path(a_, "/lock/x"));
  loop_.run(a_.create("/record", "old", CreateMode::persistent));
  LockSet set(a_, random_);
  set.add("/lock/x", true);
  Transaction also;
  also.check("/record", 0);
  also.set("/record", "new", 7);
  try {
    loop_.run(set.try_acquire(also));
    FAIL() << "the record has another version";
  } catch (const TransactionError& error) {
    EXPECT_EQ(error.index(), 1U);
  }
  EXPECT_THAT(children("/lock/x"), IsEmpty());
}

// Each operation on an unreachable store lasts until a timeout.
TEST_F(LockTest, a_set_waits_once_for_an_unreachable_store_to_release_its_locks) {
  StallingStore stalling(a_);
  LockSweeper sweeper(runtime_, stalling);
  LockSet set(stalling, random_);
  set.add("/lock/x", false);
  set.add("/lock/y", false);
  ASSERT_EQ(loop_.run(set.try_acquire()).kind, LockSet::Outcome::Kind::acquired);
  a_.suspend_for_tests();
  stalling.stall(true);
  scope_.spawn("release", set.release());
  settle();
  EXPECT_EQ(stalling.waiting(), 1U);
  stalling.pass_waiting();  // it fails
  settle();
  EXPECT_TRUE(scope_.empty());
  EXPECT_FALSE(set.held(0) || set.held(1));
  stalling.stall(false);
  stalling.pass_waiting();
  a_.resume_for_tests();
  pass(seconds(1));
  EXPECT_THAT(children("/lock/x"), IsEmpty());
  EXPECT_THAT(children("/lock/y"), IsEmpty());
  loop_.run(sweeper.stop());
}

TEST_F(LockTest, a_set_waits_once_for_an_unreachable_store_to_take_its_locks) {
  StallingStore stalling(a_);
  LockSweeper sweeper(runtime_, stalling);
  LockSet set(stalling, random_);
  set.add("/lock/x", false);
  set.add("/lock/y", false);
  a_.suspend_for_tests();
  stalling.stall(true);
  scope_.spawn("acquire", try_and_tell(set, log_));
  settle();
  EXPECT_EQ(stalling.waiting(), 1U);
  stalling.pass_waiting();  // it fails
  settle();
  EXPECT_THAT(log_, ElementsAre("failed"));
  stalling.stall(false);
  stalling.pass_waiting();
  a_.resume_for_tests();
  pass(seconds(1));
  loop_.run(sweeper.stop());
}

TEST_F(LockTest, a_set_tries_once_more_to_release_its_locks_after_a_lost_response) {
  FaultyStore lossy(a_, runtime_, {}, 1);
  StallingStore stalling(lossy);
  LockSweeper sweeper(runtime_, stalling);
  LockSet set(stalling, random_);
  set.add("/lock/x", false);
  set.add("/lock/y", false);
  ASSERT_EQ(loop_.run(set.try_acquire()).kind, LockSet::Outcome::Kind::acquired);
  a_.suspend_for_tests();
  lossy.set_plan({.lost_request = 1});
  stalling.stall(true);
  scope_.spawn("release", set.release());
  settle();
  stalling.pass_waiting();  // of unknown outcome
  settle();
  EXPECT_EQ(stalling.waiting(), 1U);
  lossy.set_plan({});
  stalling.pass_waiting();  // it fails
  settle();
  EXPECT_TRUE(scope_.empty());
  stalling.stall(false);
  stalling.pass_waiting();
  a_.resume_for_tests();
  pass(seconds(1));
  EXPECT_THAT(children("/lock/x"), IsEmpty());
  EXPECT_THAT(children("/lock/y"), IsEmpty());
  loop_.run(sweeper.stop());
}

TEST_F(LockTest, a_set_names_the_missing_record) {
  LockSet set(a_, random_);
  set.add("/lock/x", false);
  const std::size_t gone = set.add("/lock/vanished/lock", true);
  const LockSet::Outcome outcome = loop_.run(set.try_acquire());
  EXPECT_EQ(outcome.kind, LockSet::Outcome::Kind::gone);
  EXPECT_EQ(outcome.index, gone);
  EXPECT_THAT(children("/lock"), IsEmpty());
}

}  // namespace
}  // namespace nodepool::coordination
