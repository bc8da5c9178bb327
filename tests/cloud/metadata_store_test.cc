#include "cloud/metadata_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/event_loop.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"
#include "coordination/tree.h"

namespace nodepool::cloud {
namespace {

using driver::Metadata;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class MetadataStoreTest : public testing::Test {
 protected:
  ~MetadataStoreTest() override { loop_.run(store_.close()); }

  auto all(MetadataStore& store) { return loop_.run(store.all()); }

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  coordination::MemoryServer server_;
  coordination::MemoryStore store_{server_, runtime_};
};

TEST_F(MetadataStoreTest, stored_metadata_is_visible_to_other_instances) {
  const MetadataStore::Thing thing{"ip", "a/b c"};
  MetadataStore first(store_, "sky");
  EXPECT_THAT(all(first), IsEmpty());
  loop_.run(first.put(thing, {{"nodepool_node_id", "1"}}));
  MetadataStore second(store_, "sky");
  EXPECT_THAT(all(second), ElementsAre(Pair(thing, Metadata{{"nodepool_node_id", "1"}})));
  loop_.run(second.put(thing, {{"nodepool_node_id", "2"}}));
  EXPECT_THAT(all(first), ElementsAre(Pair(thing, Metadata{{"nodepool_node_id", "2"}})));
  loop_.run(first.remove(thing));
  loop_.run(first.remove(thing));
  EXPECT_THAT(all(second), IsEmpty());
}

TEST_F(MetadataStoreTest, providers_have_their_own) {
  MetadataStore sky(store_, "sky");
  MetadataStore sea(store_, "sea/deep");
  loop_.run(sky.put({"ip", "1"}, {}));
  loop_.run(sea.put({"ip", "1"}, {{"a", "b"}}));
  EXPECT_THAT(all(sky), ElementsAre(Pair(Pair("ip", "1"), IsEmpty())));
  EXPECT_EQ(all(sea).size(), 1U);
}

TEST_F(MetadataStoreTest, what_cannot_be_read_keeps_nothing_else) {
  MetadataStore store(store_, "sky");
  loop_.run(store.put({"ip", "1"}, {{"a", "b"}}));
  for (const char* bad : {"", "{", "[]", R"({"type": 7, "id": "2", "metadata": {}})"}) {
    const std::string path = "/nodepool/marks/sky/bad";
    loop_.run(coordination::ensure_path(store_, path));
    loop_.run(store_.set(path, bad, coordination::kAnyVersion));
    EXPECT_EQ(all(store).size(), 1U) << bad;
  }
}

}  // namespace
}  // namespace nodepool::cloud
