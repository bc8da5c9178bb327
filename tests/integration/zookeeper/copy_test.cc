// Moving house: from the embedded store to ZooKeeper, and back.

#include <signal.h>

#include "tests/integration/zookeeper/site.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::integration {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class StoreCopy : public ZooKeeperSite {
 protected:
  StoreCopy() : zookeeper_(zookeeper_keys()) {}

  void use(const std::string& store) {
    host_.keep_records_in("store: " + store + "\n" + zookeeper_ +
                          "history: {directory: " + host_.directory().path().string() + "}\n");
    host_.configure(hosts(3));
  }

  void start_on(const std::string& store) {
    use(store);
    host_.start_launcher();
  }

  // The output of a command that succeeds.
  std::string output(const std::vector<std::string>& command) {
    const Completed completed = host_.nodepool(command);
    EXPECT_EQ(completed.status, 0) << completed.error;
    return completed.output;
  }

  std::string in_directory(const std::string& name) const {
    return (host_.directory().path() / name).string();
  }

  std::string zookeeper_;
  Installation host_;
  std::string file_ = "sqlite://" + (host_.directory().path() / "nodepool.db").string();
  std::string second_ = "sqlite://" + (host_.directory().path() / "second.db").string();
};

TEST_F(StoreCopy, nodes_and_leases_move_to_zookeeper_and_back) {
  start_on(file_);
  host_.wait_until_all_ready(3);
  const nlohmann::json lease = host_.json({"request", "a", "--lease", "1h"});
  const std::string id = lease.at("lease");
  const std::string node = lease.at("nodes").at(0).at("id");
  EXPECT_EQ(host_.nodepool({"run", "a", "--", "true"}).status, 0);
  EXPECT_THAT(host_.nodepool({"store", "copy", file_, "zookeeper"}).error,
              HasSubstr("is in use: a daemon is registered"));
  host_.wait_until("two ready nodes", [this] { return host_.nodes("ready").size() == 2; });
  EXPECT_EQ(host_.stop_launcher(SIGTERM), 0);
  const auto before = host_.nodes();

  const Completed there = host_.nodepool({"store", "copy", file_, "zookeeper"});
  EXPECT_EQ(there.status, 0) << there.error;
  EXPECT_THAT(there.output, HasSubstr("Copied 3 nodes"));
  start_on("zookeeper");
  host_.wait_until("the nodes", [&] { return host_.nodes().size() == before.size(); });
  EXPECT_THAT(host_.nodes("in-use"), SizeIs(1));
  EXPECT_EQ(host_.nodes("in-use").front().at("id"), node);
  // The node that takes its place has an id that was never given before.
  EXPECT_EQ(host_.nodepool({"release", id}).status, 0);
  host_.wait_until_all_ready(3);
  std::string highest;
  for (const auto& row : before) highest = std::max(highest, row.at("id").get<std::string>());
  bool has_higher = false;
  for (const auto& row : host_.nodes()) {
    EXPECT_NE(row.at("id"), node);
    has_higher = has_higher || row.at("id").get<std::string>() > highest;
  }
  EXPECT_TRUE(has_higher);
  EXPECT_EQ(host_.stop_launcher(SIGTERM), 0);

  const Completed back = host_.nodepool({"store", "copy", "zookeeper", second_});
  EXPECT_EQ(back.status, 0) << back.error;
  start_on(second_);
  host_.wait_until_all_ready(3);
  EXPECT_EQ(host_.nodepool({"run", "a", "a", "a", "--", "true"}).status, 0);
  host_.wait_until_all_ready(3);
  EXPECT_EQ(host_.stop_launcher(SIGTERM), 0);
  EXPECT_EQ(host_.nodepool({"store", "copy", second_, "zookeeper"}).status, 1);
  EXPECT_EQ(host_.nodepool({"store", "copy", second_, "zookeeper", "--replace"}).status, 0);
}

// A build with two uploads, of an image that is paused.
constexpr auto kImageData =
    R"({"/nodepool/images/deb/pause": "", )"
    R"("/nodepool/images/deb/builds/0123456789abcdef0123456789abcdef": )"
    R"("{\"state\": \"ready\", \"state_time\": 5.5, \"formats\": \"qcow2\"}", )"
    R"("/nodepool/images/deb/builds/0123456789abcdef0123456789abcdef/providers/sky/images/0000000003": )"
    R"("{\"state\": \"ready\", \"state_time\": 6.5, \"external_id\": \"a1\"}", )"
    R"("/nodepool/images/deb/builds/0123456789abcdef0123456789abcdef/providers/sky/images/0000000700": )"
    R"("{\"state\": \"failed\", \"state_time\": 7.5}"})";

TEST_F(StoreCopy, image_data_move_to_zookeeper_and_back) {
  use(file_);
  output({"import-image-data", host_.directory().write("given", kImageData)});
  const std::string listed = output({"image-list"});
  EXPECT_THAT(listed, HasSubstr("| 0000000700 | sky      | deb   |"));
  EXPECT_THAT(output({"dib-image-list"}), HasSubstr("| paused |"));
  output({"export-image-data", in_directory("first")});
  EXPECT_EQ(test_support::read_file(in_directory("first")), kImageData);

  use("zookeeper");
  output({"import-image-data", in_directory("first")});
  EXPECT_THAT(output({"image-list"}), HasSubstr("| 0000000700 | sky      | deb   |"));
  output({"image-unpause", "deb"});
  EXPECT_THAT(output({"image-status"}), HasSubstr("| deb   | False  |"));
  output({"image-pause", "deb"});
  output({"export-image-data", in_directory("second")});
  EXPECT_EQ(test_support::read_file(in_directory("second")), kImageData);
  output({"dib-image-delete", "deb-0123456789abcdef0123456789abcdef"});
  output({"image-delete", "--image", "deb", "--build-id", "0123456789abcdef0123456789abcdef",
          "--provider", "sky", "--upload-id", "0000000003"});
  EXPECT_THAT(output({"image-list"}), HasSubstr("| deleting |"));

  use(second_);
  output({"import-image-data", in_directory("second")});
  output({"export-image-data", in_directory("third")});
  EXPECT_EQ(test_support::read_file(in_directory("third")), kImageData);
}

}  // namespace
}  // namespace nodepool::integration
