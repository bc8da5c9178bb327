#include "coordination/group_commit.h"

#include <gmock/gmock.h>

#include <optional>
#include <string>
#include <vector>

#include "coordination/faulty/faulty_store.h"
#include "tests/coordination/process.h"

namespace nodepool::coordination {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using Kind = StoreError::Kind;

// The outcome of a transaction.
struct Answer {
  std::vector<OperationResult> results;
  std::optional<Kind> failure;
  std::string text;
  std::optional<std::size_t> refused_operation;
};

Task<> keep(Task<std::vector<OperationResult>> commit, Answer& answer) {
  try {
    answer.results = co_await std::move(commit);
  } catch (const TransactionError& error) {
    answer.failure = error.kind();
    answer.text = error.what();
    answer.refused_operation = error.index();
  } catch (const StoreError& error) {
    answer.failure = error.kind();
    answer.text = error.what();
  }
}

class GroupCommitTest : public testing::Test {
 protected:
  GroupCommitTest()
      : auditor_(server_.open_session([this](const std::vector<WatchEvent>& events) {
          transactions_.push_back(events.size());
        })) {
    for (const char* path : {"/a", "/b", "/c"}) {
      process_.run(process_.store.create(path, "", CreateMode::persistent));
    }
    transactions_.clear();
  }
  ~GroupCommitTest() override {
    EXPECT_THAT(process_.errors, IsEmpty());
    server_.end_session(auditor_);
  }

  static Transaction set(const std::string& path, std::int32_t version = 0) {
    Transaction transaction;
    transaction.set(path, "new", version);
    return transaction;
  }

  // Submits it in the next iteration of the loop.
  void hand_in(Transaction transaction, Answer& answer) {
    process_.scope.spawn("commit", keep(store_.commit(std::move(transaction)), answer));
  }

  // Advances the clock until no task sleeps.
  void drain() {
    process_.poll();
    while (clock_.next_wakeup() != async::Clock::TimePoint::max()) {
      clock_.advance_to(clock_.next_wakeup());
      process_.poll();
    }
  }

  std::string data(const std::string& path) { return server_.tree().get(path).data; }

  async::VirtualClock clock_;
  async::Random random_{1};
  MemoryServer server_;
  Process process_{server_, clock_, random_};
  FaultyStore faulty_{process_.store, process_.runtime, {}, 1};
  GroupCommit store_{process_.runtime, faulty_, {.operations = 4, .bytes = 100}};
  std::vector<std::size_t> transactions_;  // on the server: the number of changes of each
  std::int64_t auditor_;
};

TEST_F(GroupCommitTest, changes_that_are_submitted_together_are_one_transaction) {
  Answer one;
  Answer two;
  Answer three;
  hand_in(set("/a"), one);
  Transaction sequence;
  sequence.check("/b", 0).create("/b/", "x", CreateMode::persistent_sequential);
  hand_in(sequence, two);
  hand_in(set("/c"), three);
  drain();
  EXPECT_THAT(transactions_, ElementsAre(3));
  EXPECT_EQ(one.results.at(0).stat, server_.tree().exists("/a"));
  EXPECT_EQ(two.results.at(1).path, "/b/0000000000");
  EXPECT_EQ(three.results.at(0).stat.version, 1);
  EXPECT_EQ(one.results.at(0).stat.mzxid, three.results.at(0).stat.mzxid);
  EXPECT_EQ(store_.groups(), 1U);
}

TEST_F(GroupCommitTest, changes_submitted_during_a_commit_share_the_next_one) {
  faulty_.set_plan({.delay = 1, .longest_delay = milliseconds(5)});
  Answer one;
  Answer two;
  Answer three;
  hand_in(set("/a"), one);
  process_.poll();  // it is sent
  hand_in(set("/b"), two);
  process_.poll();
  hand_in(set("/c"), three);
  drain();
  EXPECT_THAT(transactions_, ElementsAre(1, 2));
  EXPECT_FALSE(one.failure || two.failure || three.failure);
}

TEST_F(GroupCommitTest, alone_nothing_waits) {
  Answer one;
  hand_in(set("/a"), one);
  process_.poll();
  EXPECT_EQ(one.results.size(), 1U);
  EXPECT_EQ(store_.groups(), 0U);
}

TEST_F(GroupCommitTest, a_group_that_is_refused_falls_apart) {
  Answer one;
  Answer conflict;
  Answer three;
  hand_in(set("/a"), one);
  Transaction outdated;
  outdated.check("/b", 0).set("/b", "new", 7);
  hand_in(outdated, conflict);
  hand_in(set("/c"), three);
  drain();
  EXPECT_THAT(transactions_, ElementsAre(1, 1));
  EXPECT_EQ(data("/a"), "new");
  EXPECT_EQ(data("/b"), "");
  EXPECT_EQ(data("/c"), "new");
  EXPECT_EQ(conflict.failure, Kind::bad_version);
  EXPECT_EQ(conflict.refused_operation, 1U);
  EXPECT_THAT(conflict.text, HasSubstr("/b"));
  EXPECT_EQ(one.results.at(0).stat.version, 1);
  EXPECT_EQ(store_.refused_groups(), 1U);
}

TEST_F(GroupCommitTest, an_unknown_outcome_is_unknown_for_each) {
  faulty_.set_plan({.lost_answer = 1});
  Answer one;
  Answer two;
  hand_in(set("/a"), one);
  hand_in(set("/b"), two);
  drain();
  EXPECT_EQ(one.failure, Kind::unknown_outcome);
  EXPECT_EQ(two.failure, Kind::unknown_outcome);
  EXPECT_THAT(one.text, EndsWith(": /a"));
  EXPECT_THAT(two.text, EndsWith(": /b"));
  EXPECT_EQ(data("/a"), "new");
  EXPECT_EQ(data("/b"), "new");
}

TEST_F(GroupCommitTest, each_waiter_gets_the_error_of_an_outage) {
  faulty_.set_plan({.disconnected = 1});
  Answer one;
  Answer two;
  hand_in(set("/a"), one);
  hand_in(set("/b"), two);
  drain();
  EXPECT_EQ(one.failure, Kind::disconnected);
  EXPECT_EQ(two.failure, Kind::disconnected);
  EXPECT_THAT(transactions_, IsEmpty());
}

TEST_F(GroupCommitTest, a_group_has_bounds) {
  std::vector<Answer> answers(6);
  for (Answer& answer : answers) {
    Transaction creation;
    creation.create("/a/", "", CreateMode::persistent_sequential);
    hand_in(creation, answer);
  }
  drain();
  EXPECT_THAT(transactions_, ElementsAre(4, 2));
  EXPECT_EQ(answers.back().results.at(0).path, "/a/0000000005");
  transactions_.clear();
  Answer large;
  Answer small;
  Transaction many;
  many.set("/a", std::string(200, 'x'));
  hand_in(many, large);
  hand_in(set("/b"), small);
  drain();
  EXPECT_THAT(transactions_, ElementsAre(1, 1));
}

TEST_F(GroupCommitTest, changes_of_one_record_stay_apart) {
  Answer one;
  Answer two;
  Answer check;
  hand_in(set("/a", 0), one);
  hand_in(set("/a", 1), two);
  Transaction checking;
  checking.check("/a", 2).set("/b", "new");
  hand_in(checking, check);
  drain();
  EXPECT_THAT(transactions_, ElementsAre(1, 1, 1));
  EXPECT_FALSE(one.failure || two.failure || check.failure);
  EXPECT_LT(one.results.at(0).stat.mzxid, two.results.at(0).stat.mzxid);
  EXPECT_EQ(store_.refused_groups(), 0U);
}

TEST_F(GroupCommitTest, changes_of_an_expired_session_are_not_committed) {
  faulty_.set_plan({.delay = 1, .longest_delay = milliseconds(5)});
  Answer under_way;
  Answer waiting;
  hand_in(set("/a"), under_way);
  process_.poll();
  hand_in(set("/b"), waiting);
  process_.poll();
  process_.store.expire_for_tests();
  drain();
  EXPECT_EQ(waiting.failure, Kind::session_expired);
  EXPECT_THAT(waiting.text, StartsWith("session expired: /b"));
  EXPECT_EQ(data("/b"), "");
}

TEST_F(GroupCommitTest, waiters_get_an_error_when_the_store_is_closed) {
  faulty_.set_plan({.delay = 1, .longest_delay = milliseconds(5)});
  std::optional<GroupCommit> store(std::in_place, process_.runtime, faulty_);
  Answer under_way;
  Answer waiting;
  process_.scope.spawn("commit", keep(store->commit(set("/a")), under_way));
  process_.poll();
  process_.scope.spawn("commit", keep(store->commit(set("/b")), waiting));
  process_.poll();
  store.reset();
  drain();
  EXPECT_EQ(waiting.failure, Kind::closed);
  EXPECT_FALSE(under_way.failure);
  EXPECT_EQ(data("/b"), "");
}

}  // namespace
}  // namespace nodepool::coordination
