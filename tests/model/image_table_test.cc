#include "model/image_table.h"

#include <gmock/gmock.h>

#include <optional>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "async/task_scope.h"
#include "coordination/lock.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"
#include "coordination/tree.h"
#include "model/change_image.h"
#include "model/image_paths.h"
#include "model/paths.h"

namespace nodepool::model {
namespace {

using coordination::CreateMode;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsNull;
using testing::Pair;
using testing::UnorderedElementsAre;

// Each field of `records` of one kind.
template <typename Record>
std::vector<std::string> ids(const std::vector<const Record*>& records) {
  std::vector<std::string> ids;
  for (const Record* record : records) ids.push_back(record->id);
  return ids;
}

class ImageTableTest : public testing::Test {
 protected:
  ImageTableTest() {
    scope_.spawn("images", table_.run());
    settle();
  }
  ~ImageTableTest() override {
    loop_.run(scope_.stop());
    loop_.run(store_.close());
  }

  void settle() {
    while (loop_.poll()) {
    }
  }

  // Records of other processes, which the table finds.
  void put(const std::string& path, const std::string& text) {
    loop_.run(coordination::ensure_path(store_, path));
    loop_.run(store_.set(path, text, coordination::kAnyVersion));
    settle();
  }
  void put_build(const std::string& image, const std::string& id, const std::string& state,
                 const std::string& state_time) {
    put(build_path(image, id),
        R"({"state": ")" + state + R"(", "state_time": )" + state_time + "}");
  }
  void put_upload(const std::string& image, const std::string& build, const std::string& provider,
                  const std::string& id, const std::string& state, const std::string& state_time) {
    put(upload_path(image, build, provider, id),
        R"({"state": ")" + state + R"(", "state_time": )" + state_time + "}");
  }
  void remove(const std::string& path) {
    loop_.run(coordination::remove_tree(store_, path));
    settle();
  }

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  coordination::MemoryServer server_;
  coordination::MemoryStore store_{server_, runtime_};
  std::vector<std::string> warnings_;
  ImageTable table_{
      runtime_, store_,
      telemetry::Logger(telemetry::Log::to_consumer(
                            [this](telemetry::LogLevel, std::string_view,
                                   std::string_view message) { warnings_.emplace_back(message); },
                            telemetry::LogLevel::warning),
                        "test")};
  async::TaskScope scope_{runtime_, [](const std::string& name, const std::string& error) {
                            ADD_FAILURE() << name << ": " << error;
                          }};
};

TEST_F(ImageTableTest, a_store_without_images_has_none) {
  EXPECT_TRUE(table_.ready());
  EXPECT_THAT(table_.images(), IsEmpty());
  EXPECT_THAT(table_.builds_of("deb"), IsEmpty());
  EXPECT_THAT(table_.uploads_of("deb"), IsEmpty());
  EXPECT_THAT(table_.newest_ready_upload("deb", "sky"), IsNull());
  EXPECT_THAT(table_.uploads_to("sky"), IsEmpty());
  EXPECT_THAT(table_.known_uploads("sky"), IsEmpty());
  EXPECT_THAT(table_.build_provider_paths("sky"), IsEmpty());
  EXPECT_FALSE(table_.is_paused("deb"));
}

TEST_F(ImageTableTest, builds_are_listed_by_image_with_the_newest_first) {
  put_build("deb", "b1", "ready", "10.5");
  put_build("deb", "b2", "failed", "30.5");
  put_build("deb", "b3", "ready", "20.5");
  put_build("deb-11", "c1", "ready", "99");
  put_build("de", "d1", "ready", "98");
  EXPECT_THAT(ids(table_.builds_of("deb")), ElementsAre("b2", "b3", "b1"));
  EXPECT_THAT(ids(table_.builds_of("deb-11")), ElementsAre("c1"));
  EXPECT_THAT(table_.images(), ElementsAre("de", "deb", "deb-11"));
  const ImageBuild* build = table_.find_build("deb", "b2");
  ASSERT_NE(build, nullptr);
  EXPECT_EQ(build->image, "deb");
  EXPECT_EQ(build->state, BuildState::failed);
  EXPECT_GT(build->stat.ctime, 0);
  EXPECT_THAT(table_.find_build("deb-11", "b2"), IsNull());
  remove(build_path("deb", "b2"));
  EXPECT_THAT(ids(table_.builds_of("deb")), ElementsAre("b3", "b1"));
}

TEST_F(ImageTableTest, uploads_are_listed_by_image_build_and_provider) {
  put_upload("deb", "b1", "sky", "0000000001", "ready", "1");
  put_upload("deb", "b1", "sky", "0000000002", "failed", "2");
  put_upload("deb", "b1", "sky-2", "0000000001", "ready", "3");
  put_upload("deb", "b2", "sky", "0000000003", "uploading", "4");
  put_upload("win", "w1", "sky", "0000000001", "deleting", "5");
  EXPECT_THAT(ids(table_.uploads_of("deb")),
              ElementsAre("0000000001", "0000000002", "0000000001", "0000000003"));
  EXPECT_THAT(ids(table_.uploads_of("deb", "b1")),
              ElementsAre("0000000001", "0000000002", "0000000001"));
  EXPECT_EQ(table_.uploads_of("deb", "b1").back()->provider, "sky-2");
  EXPECT_THAT(ids(table_.uploads_of("deb", "b1", "sky")), ElementsAre("0000000001", "0000000002"));
}

TEST_F(ImageTableTest, the_newest_ready_upload_of_an_image_in_a_provider_follows_every_change) {
  put_upload("deb", "b1", "sky", "0000000001", "ready", "10");
  put_upload("deb", "b2", "sky", "0000000001", "ready", "30");
  put_upload("deb", "b3", "sky", "0000000001", "ready", "20");
  put_upload("deb", "b3", "other", "0000000001", "ready", "99");
  put_upload("win", "b3", "sky", "0000000001", "ready", "99");
  put_upload("deb", "b4", "sky", "0000000001", "uploading", "99");
  const auto newest = [this]() -> std::string {
    const ImageUpload* upload = table_.newest_ready_upload("deb", "sky");
    return upload == nullptr ? "none" : upload->build_id;
  };
  EXPECT_EQ(newest(), "b2");
  put_upload("deb", "b2", "sky", "0000000001", "deleting", "40");
  EXPECT_EQ(newest(), "b3");
  put_upload("deb", "b1", "sky", "0000000001", "ready", "50");
  EXPECT_EQ(newest(), "b1");
  put_upload("deb", "b4", "sky", "0000000001", "ready", "60");
  EXPECT_EQ(newest(), "b4");
  remove(build_path("deb", "b4"));
  remove(upload_path("deb", "b1", "sky", "0000000001"));
  EXPECT_EQ(newest(), "b3");
  remove(image_path("deb"));
  EXPECT_EQ(newest(), "none");
}

// Its remains in the cloud are leaked.
TEST_F(ImageTableTest, an_upload_that_has_failed_is_not_known) {
  put_upload("deb", "b1", "sky", "0000000001", "failed", "1");
  EXPECT_THAT(table_.known_uploads("sky"), IsEmpty());
  EXPECT_THAT(ids(table_.uploads_to("sky")), ElementsAre("0000000001"));
}

TEST_F(ImageTableTest, all_other_uploads_to_a_provider_are_known) {
  put_upload("deb", "b1", "sky", "0000000001", "uploading", "1");
  put_upload("deb", "b1", "other", "0000000002", "ready", "2");
  put_upload("win", "w1", "sky", "0000000007", "deleting", "3");
  put(uploads_path("bsd", "x1", "sky"), "");
  EXPECT_THAT(table_.known_uploads("sky"),
              ElementsAre(Pair("b1", "0000000001"), Pair("w1", "0000000007")));
  EXPECT_THAT(ids(table_.uploads_to("sky")), ElementsAre("0000000001", "0000000007"));
  EXPECT_THAT(table_.build_provider_paths("sky"),
              ElementsAre("/nodepool/images/bsd/builds/x1/providers/sky",
                          "/nodepool/images/deb/builds/b1/providers/sky",
                          "/nodepool/images/win/builds/w1/providers/sky"));
  remove(upload_path("win", "w1", "sky", "0000000007"));
  EXPECT_THAT(table_.known_uploads("sky"), ElementsAre(Pair("b1", "0000000001")));
  remove(build_path("win", "w1"));
  EXPECT_EQ(table_.build_provider_paths("sky").size(), 2);
}

TEST_F(ImageTableTest, an_unreadable_upload_is_known) {
  put_upload("deb", "b1", "sky", "0000000001", "ready", "1");
  put_upload("deb", "b1", "other", "0000000002", "ready", "1");
  for (const char* provider : {"sky", "other"}) {
    put(upload_path("deb", "b1", provider, "0000000001"), "not JSON");
  }
  EXPECT_THAT(table_.known_uploads("sky"), ElementsAre(Pair("b1", "0000000001")));
  EXPECT_THAT(table_.uploads_to("sky"), IsEmpty());
  put_upload("deb", "b1", "sky", "0000000001", "failed", "2");
  EXPECT_THAT(table_.known_uploads("sky"), IsEmpty());
  remove(upload_path("deb", "b1", "other", "0000000001"));
  EXPECT_THAT(table_.known_uploads("other"), ElementsAre(Pair("b1", "0000000002")));
}

TEST_F(ImageTableTest, an_unreadable_build_is_neither_known_nor_gone) {
  put(build_path("deb", "b1"), "not JSON");
  EXPECT_THAT(table_.find_build("deb", "b1"), IsNull());
  EXPECT_TRUE(table_.is_unreadable_build("deb", "b1"));
  EXPECT_FALSE(table_.is_unreadable_build("deb", "b2"));
  put_build("deb", "b1", "ready", "1");
  EXPECT_FALSE(table_.is_unreadable_build("deb", "b1"));
  put(build_path("deb", "b1"), "not JSON");
  remove(build_path("deb", "b1"));
  EXPECT_FALSE(table_.is_unreadable_build("deb", "b1"));
}

TEST_F(ImageTableTest, pauses_and_build_requests_come_and_go) {
  put(image_pause_path("deb"), "");
  clock_.advance_by(std::chrono::milliseconds(2500));
  put(build_request_path("win"), "");
  EXPECT_TRUE(table_.is_paused("deb"));
  EXPECT_FALSE(table_.is_paused("win"));
  ASSERT_THAT(table_.build_requests(), ElementsAre(Pair("win", testing::_)));
  const coordination::Stat first = table_.build_requests().at("win");
  EXPECT_EQ(first.ctime, 1'700'000'002'500);
  EXPECT_THAT(table_.images(), ElementsAre("deb", "win"));
  clock_.advance_by(std::chrono::seconds(1));
  loop_.run(request_build(store_, "win"));
  settle();
  EXPECT_GT(table_.build_requests().at("win").mzxid, first.mzxid) << "requested once more";
  EXPECT_EQ(table_.build_requests().at("win").ctime, first.ctime);
  remove(image_pause_path("deb"));
  remove(build_request_path("win"));
  EXPECT_FALSE(table_.is_paused("deb"));
  EXPECT_THAT(table_.build_requests(), IsEmpty());
}

TEST_F(ImageTableTest, a_build_request_is_pending_until_its_build_begins) {
  EXPECT_FALSE(table_.has_pending_request("deb"));
  put(build_request_path("deb"), "");
  EXPECT_TRUE(table_.has_pending_request("deb"));
  put(builds_path("deb"), "");
  coordination::Lock building(store_, random_, builds_lock_path("deb"));
  EXPECT_TRUE(loop_.run(building.try_acquire()));
  settle();
  EXPECT_TRUE(table_.has_pending_request("deb")) << "without a build";
  put_build("deb", "b1", "building", "10.5");
  EXPECT_FALSE(table_.has_pending_request("deb"));
  loop_.run(building.release());
  settle();
  EXPECT_TRUE(table_.has_pending_request("deb")) << "the build has failed";
  remove(build_request_path("deb"));
  EXPECT_FALSE(table_.has_pending_request("deb"));
}

TEST_F(ImageTableTest, builds_and_uploads_under_way_are_known_by_their_locks) {
  put(builds_path("deb"), "");
  put(uploads_path("deb", "b1", "sky"), "");
  coordination::Lock building(store_, random_, builds_lock_path("deb"));
  coordination::Lock uploading(store_, random_, uploads_lock_path("deb", "b1", "sky"));
  EXPECT_TRUE(loop_.run(building.try_acquire()));
  settle();
  EXPECT_TRUE(table_.is_being_built("deb"));
  EXPECT_FALSE(table_.is_being_uploaded("deb", "b1", "sky"));
  EXPECT_TRUE(loop_.run(uploading.try_acquire()));
  loop_.run(building.release());
  settle();
  EXPECT_FALSE(table_.is_being_built("deb"));
  EXPECT_TRUE(table_.is_being_uploaded("deb", "b1", "sky"));
  EXPECT_FALSE(table_.is_being_uploaded("deb", "b1", "other"));
  loop_.run(uploading.release());
  settle();
  EXPECT_FALSE(table_.is_being_uploaded("deb", "b1", "sky"));
}

TEST_F(ImageTableTest, a_bad_record_is_reported_with_its_path_and_left_out) {
  put_build("deb", "b1", "ready", "1");
  put_build("deb", "b2", "ready", "2");
  put(build_path("deb", "b2"), "not JSON");
  put_upload("deb", "b1", "sky", "0000000001", "wishful", "1");
  EXPECT_THAT(ids(table_.builds_of("deb")), ElementsAre("b1"));
  EXPECT_THAT(table_.uploads_of("deb"), IsEmpty());
  EXPECT_THAT(warnings_,
              ElementsAre(AllOf(HasSubstr("/nodepool/images/deb/builds/b2 (version 2)"),
                                HasSubstr("parse error")),
                          AllOf(HasSubstr("/nodepool/images/deb/builds/b1/providers/sky/images/"
                                          "0000000001 (version 1)"),
                                HasSubstr("unknown upload state 'wishful'"))));
}

TEST_F(ImageTableTest, observers_get_the_image_of_every_change) {
  std::set<std::string> changed;
  const auto subscription =
      table_.observe([&changed](const std::string& image) { changed.insert(image); });
  const auto heard = [&changed] { return std::exchange(changed, {}); };
  put_build("deb", "b1", "ready", "1");
  EXPECT_THAT(heard(), ElementsAre("deb"));
  put_build("deb", "b1", "deleting", "2");
  EXPECT_THAT(heard(), ElementsAre("deb"));
  put_upload("deb", "b1", "sky", "0000000001", "ready", "1");
  EXPECT_THAT(heard(), ElementsAre("deb"));
  put(image_pause_path("win"), "");
  EXPECT_THAT(heard(), ElementsAre("win"));
  put(build_request_path("deb"), "");
  EXPECT_THAT(heard(), ElementsAre("deb"));
  coordination::Lock lock(store_, random_, builds_lock_path("deb"));
  EXPECT_TRUE(loop_.run(lock.try_acquire()));
  settle();
  EXPECT_THAT(heard(), ElementsAre("deb"));
  loop_.run(lock.release());
  settle();
  EXPECT_THAT(heard(), ElementsAre("deb"));
  put(build_lock_path("deb", "b1"), "");
  EXPECT_THAT(heard(), IsEmpty());
  remove(std::string(kImagesRoot));
  EXPECT_THAT(heard(), UnorderedElementsAre("deb", "win"));
}

TEST_F(ImageTableTest, own_writes_are_known_at_once) {
  put_build("deb", "b1", "ready", "1");
  ImageBuild build = *table_.find_build("deb", "b1");
  build.set_state(BuildState::deleting, 5);
  const std::string text = to_record(build);
  const auto stat = loop_.run(store_.set(build_path("deb", "b1"), text, build.stat.version));
  table_.written(build, text, stat);
  EXPECT_EQ(table_.find_build("deb", "b1")->state, BuildState::deleting);
  loop_.run(store_.remove(build_path("deb", "b1"), coordination::kAnyVersion));
  table_.removed(build);
  EXPECT_THAT(table_.find_build("deb", "b1"), IsNull());
  settle();
  EXPECT_THAT(table_.builds_of("deb"), IsEmpty());

  put(uploads_path("deb", "b1", "sky"), "");
  ImageUpload upload;
  upload.image = "deb";
  upload.build_id = "b1";
  upload.provider = "sky";
  const std::string path = loop_.run(store_.create(
      upload_path("deb", "b1", "sky", ""), to_record(upload), CreateMode::persistent_sequential));
  upload.id = path.substr(path.rfind('/') + 1);
  const auto created = loop_.run(store_.exists(path));
  table_.written(upload, to_record(upload), created.value());
  EXPECT_NE(table_.find_upload("deb", "b1", "sky", upload.id), nullptr);
  table_.removed(upload);
  EXPECT_THAT(table_.find_upload("deb", "b1", "sky", upload.id), IsNull());
}

TEST_F(ImageTableTest, after_a_lost_session_the_tree_is_walked_anew) {
  put_build("deb", "b1", "ready", "1");
  store_.suspend_for_tests();
  settle();
  EXPECT_FALSE(table_.ready());
  coordination::MemoryStore other(server_, runtime_);
  loop_.run(coordination::remove_tree(other, build_path("deb", "b1")));
  loop_.run(coordination::ensure_path(other, image_pause_path("deb")));
  loop_.run(other.close());
  store_.resume_for_tests();
  settle();
  EXPECT_TRUE(table_.ready());
  EXPECT_THAT(table_.builds_of("deb"), IsEmpty());
  EXPECT_TRUE(table_.is_paused("deb"));
}

}  // namespace
}  // namespace nodepool::model
