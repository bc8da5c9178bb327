#include "coordination/election.h"

#include "tests/coordination/recipes/recipes_fixture.h"

namespace nodepool::coordination {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

class ElectionTest : public RecipesTest {
 protected:
  Election::Leader leader(std::string name, seconds term) {
    return [this, name, term] { return lead(clock_, name, term, log_); };
  }
  static Task<> lead(async::Clock& clock, std::string name, seconds term,
                     std::vector<std::string>& log) {
    log.push_back(name + " leads");
    try {
      co_await clock.sleep_for(term);
      log.push_back(name + " done");
    } catch (const async::Cancelled&) {
      log.push_back(name + " stopped");
      throw;
    }
  }
};

TEST_F(ElectionTest, one_leads_at_a_time_and_the_next_follows) {
  Election a(runtime_, a_, "/election/stats", "a");
  Election b(runtime_, b_, "/election/stats", "b");
  scope_.spawn("a", a.run(leader("a", seconds(10))));
  settle();
  scope_.spawn("b", b.run(leader("b", seconds(10))));
  pass(seconds(5));
  EXPECT_THAT(log_, ElementsAre("a leads"));
  pass(seconds(5));
  EXPECT_THAT(log_, ElementsAre("a leads", "a done", "b leads"));
  pass(seconds(10));
  EXPECT_TRUE(scope_.empty());
  EXPECT_THAT(children("/election/stats"), IsEmpty());
}

TEST_F(ElectionTest, a_leader_that_lost_its_session_stops_and_is_a_candidate_again) {
  Election a(runtime_, a_, "/election/stats", "a");
  Election b(runtime_, b_, "/election/stats", "b");
  scope_.spawn("a", a.run(leader("a", seconds(1000))));
  settle();
  scope_.spawn("b", b.run(leader("b", seconds(10))));
  settle();
  a_.expire_for_tests();
  settle();
  EXPECT_THAT(log_, testing::UnorderedElementsAre("a leads", "a stopped", "b leads"));
  log_.clear();
  pass(seconds(10));
  EXPECT_THAT(log_, ElementsAre("b done", "a leads"));
  loop_.run(scope_.stop());
  EXPECT_THAT(children("/election/stats"), IsEmpty());
}

TEST_F(ElectionTest, a_cancelled_candidate_leaves_the_queue) {
  Election a(runtime_, a_, "/election/stats", "a");
  Election b(runtime_, b_, "/election/stats", "b");
  scope_.spawn("a", a.run(leader("a", seconds(10))));
  settle();
  async::TaskScope other(runtime_, note_errors());
  other.spawn("b", b.run(leader("b", seconds(10))));
  settle();
  loop_.run(other.stop());
  EXPECT_THAT(children("/election/stats"), testing::SizeIs(1));
  loop_.run(scope_.stop());
  EXPECT_THAT(children("/election/stats"), IsEmpty());
}

}  // namespace
}  // namespace nodepool::coordination
