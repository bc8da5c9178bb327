#include "cloud/by_id.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "async/event_loop.h"

namespace nodepool::cloud {
namespace {

struct Pool {
  std::string id;
  std::string name;
  std::string path() const { return id + "/" + name; }
};

async::Task<std::vector<Pool>> list_pools() {
  co_return std::vector<Pool>{{"1", "a"}, {"2", "b"}};
}

TEST(ById, a_thing_is_found_by_its_id) {
  async::EventLoop loop;
  const ById<Pool> list = loop.run(ById<Pool>::of(list_pools()));
  EXPECT_EQ(list.all().size(), 2);
  EXPECT_EQ(list.find("2"), &list.all().at(1));
  EXPECT_EQ(list.find("3"), nullptr);
}

TEST(ById, an_unknown_listing_does_not_say_what_exists) {
  EXPECT_TRUE(ById<Pool>({}).is_known());
  EXPECT_FALSE(ById<Pool>::unknown().is_known());
  EXPECT_TRUE(ById<Pool>::unknown().all().empty());
}

TEST(ById, any_member_can_be_the_id) {
  const std::vector<Pool> pools = {{"1", "a"}};
  const ById<Pool, &Pool::name> by_name(pools);
  EXPECT_NE(by_name.find("a"), nullptr);
  const ById<Pool, &Pool::path> by_path(pools);
  EXPECT_NE(by_path.find("1/a"), nullptr);
}

}  // namespace
}  // namespace nodepool::cloud
