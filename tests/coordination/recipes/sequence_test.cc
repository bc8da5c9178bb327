#include "coordination/sequence.h"

#include "tests/coordination/recipes/recipes_fixture.h"

namespace nodepool::coordination {
namespace {

using testing::IsEmpty;

class SequenceTest : public RecipesTest {
 protected:
  SequenceTest() { loop_.run(ensure_path(a_, "/tree")); }

  std::string create() {
    return loop_.run(b_.create("/tree/", "", CreateMode::persistent_sequential));
  }
};

TEST_F(SequenceTest, the_next_number_is_used_up_by_asking) {
  create();
  EXPECT_EQ(loop_.run(next_sequence(a_, "/tree")), 1);
  EXPECT_EQ(create(), "/tree/0000000002");
}

TEST_F(SequenceTest, new_children_are_numbered_from_the_given_number_on) {
  loop_.run(advance_sequence(a_, "/tree", 1234));
  EXPECT_THAT(children("/tree"), IsEmpty());
  EXPECT_EQ(create(), "/tree/0000001234");
}

TEST_F(SequenceTest, numbers_never_go_back) {
  loop_.run(advance_sequence(a_, "/tree", 50));
  create();
  loop_.run(advance_sequence(a_, "/tree", 7));
  EXPECT_GT(create(), "/tree/0000000050");
}

TEST_F(SequenceTest, a_child_with_a_higher_number_that_is_there_already_is_left_alone) {
  loop_.run(a_.create("/tree/0000000009", "old", CreateMode::persistent));
  loop_.run(advance_sequence(a_, "/tree", 10));
  EXPECT_EQ(loop_.run(a_.get("/tree/0000000009")).data, "old");
  EXPECT_EQ(create(), "/tree/0000000010");
}

}  // namespace
}  // namespace nodepool::coordination
