// nodepool-builder and Gearman's own client and server, as users run them.

#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/integration/builder_host.h"
#include "tests/support/gearmand.h"

namespace nodepool::integration {
namespace {

using nlohmann::json;
using test_support::Gearmand;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

constexpr char kId[] = "0123456789abcdef0123456789abcdef";

class GearmanBuilder : public testing::Test {
 protected:
  GearmanBuilder() { host_.configure({.more = servers()}); }

  std::string servers() const {
    return "gearman-servers: [{host: 127.0.0.1, port: " + std::to_string(server_.port()) + "}]\n";
  }
  // The keys of another host with the same records and server.
  std::string shared() const {
    return "store: sqlite://" + (host_.directory() / "nodepool.db").string() + "\n" + servers();
  }

  // A client that waits for the job. All that it writes begins with the function's name.
  std::unique_ptr<Child> client(const std::string& function, const std::string& payload) const {
    return std::make_unique<Child>(
        server_.client({"-P", "-f", function, payload.empty() ? "-s" : payload}));
  }
  // The result among the client's output, which also says how far the job is.
  static std::string result_in(const std::string& output, const std::string& function) {
    const std::string prefix = function + ": ";
    std::string found;
    for (std::size_t at = output.find(prefix); at != std::string::npos;) {
      const std::size_t begin = at + prefix.size();
      at = output.find(prefix, begin);
      const std::string part = output.substr(begin, at - begin);
      if (!part.contains("% Complete")) found += part;
    }
    return found;
  }
  // What a client is answered in the end.
  std::string result(const std::string& function, const std::string& payload) const {
    const auto asking = client(function, payload);
    const int status = asking->wait();
    if (status == 0 && asking->standard_error().empty()) {
      return result_in(asking->standard_output(), function);
    }
    return "failed: " + asking->standard_output() + asking->standard_error();
  }

  void wait_until_offered(const std::string& function) const {
    host_.commands().wait_until(function, [&] { return server_.workers(function) > 0; });
  }

  Gearmand server_;
  BuilderHost host_;
};

TEST_F(GearmanBuilder, serves_clients) {
  host_.start();
  wait_until_offered("image-build:deb");
  EXPECT_EQ(result("image-build:deb", kId), kId);
  const std::string upload = std::string("image-upload:") + kId;
  wait_until_offered(upload);
  const std::string id = result(upload, "fake-1");
  const auto uploads = host_.records("image-list", "ready");
  const auto found =
      std::ranges::find_if(uploads, [](const json& row) { return row.at("id") == kId; });
  ASSERT_NE(found, uploads.end());
  EXPECT_EQ(json(id), found->at("external_id"));
  EXPECT_THAT(result(upload, "no-such-cloud"), HasSubstr("provider no-such-cloud not found"));

  EXPECT_EQ(result(std::string("image-delete:") + kId, ""), "");
  // Its functions stay for a while, to answer those who come late.
  EXPECT_EQ(result(std::string("image-delete:") + kId, ""), "");
  EXPECT_THAT(result(upload, "fake-1"), StartsWith("failed: "));
}

TEST_F(GearmanBuilder, a_change_of_the_file_counts_at_once) {
  host_.configure();
  host_.start();
  host_.wait_for("image-list", "ready");
  EXPECT_THAT(server_.peers(), IsEmpty());
  host_.configure({.more = servers()});
  wait_until_offered("image-build:deb");
  EXPECT_EQ(result("image-build:deb", kId), kId);
  host_.configure();
  host_.commands().wait_until("the end of all connections",
                              [this] { return server_.peers().empty(); });
}

TEST_F(GearmanBuilder, serves_a_server_that_was_killed_when_it_is_back) {
  host_.start();
  wait_until_offered("image-build:deb");
  server_.kill();
  server_.start();
  wait_until_offered("image-build:deb");
  EXPECT_EQ(result("image-build:deb", kId), kId);
}

TEST_F(GearmanBuilder, builders_with_different_images_share_a_server) {
  BuilderHost other(shared());
  other.configure({.image = "raw", .provider = "fake-2"});
  host_.start();
  other.start();
  wait_until_offered("image-build:deb");
  wait_until_offered("image-build:raw");
  const std::string deb = result("image-build:deb", "");
  const std::string raw = result("image-build:raw", "");
  EXPECT_THAT(host_.files(), testing::Contains("deb-" + deb + ".qcow2"));
  EXPECT_THAT(other.files(), testing::Contains("raw-" + raw + ".qcow2"));
  wait_until_offered("image-upload:" + raw);
  EXPECT_THAT(result("image-upload:" + raw, "fake-1"), HasSubstr("provider fake-1 not found"));
  EXPECT_THAT(result("image-upload:" + raw, "fake-2"), testing::Not(HasSubstr("failed")));
}

TEST_F(GearmanBuilder, the_job_of_a_builder_that_is_killed_is_for_another_one) {
  host_.start();
  host_.wait_for("image-list", "ready");
  wait_until_offered("image-build:deb");
  host_.hold();
  const auto asking = client("image-build:deb", "");
  host_.wait_for("dib-image-list", "building");
  BuilderHost other(shared());
  other.start();
  other.wait_for_output("Offering functions");
  host_.kill();
  EXPECT_EQ(asking->wait(), 0) << asking->standard_error();
  const std::string id = result_in(asking->standard_output(), "image-build:deb");
  EXPECT_THAT(other.files(), testing::Contains("deb-" + id + ".qcow2"));

  host_.end_hold();
  host_.start();
  other.stop(SIGTERM);
  wait_until_offered("image-build:deb");
  EXPECT_EQ(result("image-build:deb", kId), kId);
  EXPECT_THAT(host_.files(), testing::Contains(std::string("deb-") + kId + ".qcow2"));
}

TEST_F(GearmanBuilder, the_job_of_a_builder_that_ends_is_done_when_it_is_back) {
  host_.start();
  host_.wait_for("image-list", "ready");
  for (const int signal : {SIGTERM, SIGKILL}) {
    wait_until_offered("image-build:deb");
    host_.hold();
    const auto asking = client("image-build:deb", "");
    host_.wait_for("dib-image-list", "building");
    host_.stop(signal);
    EXPECT_TRUE(asking->running());
    EXPECT_EQ(server_.jobs("image-build:deb"), 1);
    host_.end_hold();
    host_.start();
    EXPECT_EQ(asking->wait(), 0) << asking->standard_error();
    const std::string id = result_in(asking->standard_output(), "image-build:deb");
    EXPECT_THAT(host_.files(), testing::Contains("deb-" + id + ".qcow2"));
  }
}

// Whoever did it before may have files of that name.
TEST_F(GearmanBuilder, an_id_that_a_client_has_chosen_is_used_once) {
  host_.start();
  host_.wait_for("image-list", "ready");
  wait_until_offered("image-build:deb");
  host_.hold();
  const auto asking = client("image-build:deb", kId);
  host_.wait_for("dib-image-list", "building");
  EXPECT_EQ(host_.stop(SIGTERM), 0);
  host_.end_hold();
  host_.start();
  EXPECT_EQ(asking->wait(), 1);
  EXPECT_THAT(asking->standard_output() + asking->standard_error(), HasSubstr("already exists"));
}

}  // namespace
}  // namespace nodepool::integration
