#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>

#include "coordination/path.h"
#include "coordination/tree.h"
#include "model/image_paths.h"
#include "model/paths.h"
#include "tests/cli/cli_test.h"
#include "tests/support/file_size_limit.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::cli {
namespace {

using coordination::CreateMode;
using test_support::read_file;
using testing::HasSubstr;
using testing::StartsWith;

// As the Python Nodepool 11 writes it.
constexpr auto kExport =
    R"({"/nodepool/images/deb/pause": "", )"
    R"("/nodepool/images/deb/builds/0123456789abcdef0123456789abcdef": )"
    R"("{\"state\": \"ready\", \"state_time\": 5.5, \"formats\": \"qcow2\", \"x\": \"\\u00e9\"}", )"
    R"("/nodepool/images/deb/builds/0123456789abcdef0123456789abcdef/providers/sky/images/0000000003": )"
    R"("{\"state\": \"ready\", \"state_time\": 6.5, \"external_id\": \"a1\"}", )"
    R"("/nodepool/images/deb/builds/0123456789abcdef0123456789abcdef/providers/sky/images/0000000007": )"
    R"("{\"state\": \"failed\", \"state_time\": 7.5, \"external_name\": \"\u00e4\\n\"}"})";
constexpr const char* kBuild = "0123456789abcdef0123456789abcdef";

class ImageDataTest : public CliTest {
 protected:
  void put(const std::string& path, const std::string& text) {
    run(coordination::ensure_path(store_, path));
    run(store_.set(path, text, coordination::kAnyVersion));
  }
  std::string text_of(const std::string& path) { return run(store_.get(path)).data; }

  // What an import of this says.
  std::string refusal(const std::string& content) {
    EXPECT_EQ(nodepool({"import-image-data", directory_.write("bad", content)}), 1) << content;
    EXPECT_FALSE(run(store_.exists(std::string(model::kImagesRoot)))) << content;
    return err();
  }

  std::string file_ = directory_.path() / "images.json";
};

TEST_F(ImageDataTest, an_import_brings_back_what_was_exported_byte_for_byte) {
  EXPECT_EQ(nodepool({"import-image-data", directory_.write("old", kExport)}), 0);
  EXPECT_EQ(out() + err(), "");
  EXPECT_EQ(text_of("/nodepool/images/deb/pause"), "");
  EXPECT_EQ(text_of(model::build_path("deb", kBuild)),
            R"({"state": "ready", "state_time": 5.5, "formats": "qcow2", "x": "\u00e9"})");
  EXPECT_EQ(text_of(model::upload_path("deb", kBuild, "sky", "0000000007")),
            "{\"state\": \"failed\", \"state_time\": 7.5, \"external_name\": \"\xc3\xa4\\n\"}");
  EXPECT_EQ(nodepool({"export-image-data", file_}), 0);
  EXPECT_EQ(out() + err(), "");
  EXPECT_EQ(read_file(file_), kExport);
}

TEST_F(ImageDataTest, uploads_made_later_have_higher_ids_than_imported_ones) {
  EXPECT_EQ(nodepool({"import-image-data", directory_.write("old", kExport)}), 0);
  EXPECT_GT(run(store_.create(model::upload_path("deb", kBuild, "sky", ""), "",
                              CreateMode::persistent_sequential)),
            model::upload_path("deb", kBuild, "sky", "0000000007"));
}

TEST_F(ImageDataTest, an_import_replaces_what_it_has_and_leaves_the_rest) {
  put(model::build_path("deb", kBuild), R"({"state": "deleting"})");
  put(model::build_path("bsd", "b1"), R"({"state": "ready"})");
  EXPECT_EQ(nodepool({"import-image-data", directory_.write("old", kExport)}), 0);
  EXPECT_THAT(text_of(model::build_path("deb", kBuild)), StartsWith(R"({"state": "ready")"));
  EXPECT_EQ(text_of(model::build_path("bsd", "b1")), R"({"state": "ready"})");
}

TEST_F(ImageDataTest, nothing_is_imported_while_a_daemon_runs) {
  const std::string daemon = "/nodepool/components/builder/build1-0000000000";
  run(coordination::ensure_path(store_, "/nodepool/components/builder"));
  run(store_.create(daemon, "{}", CreateMode::ephemeral));
  EXPECT_THAT(refusal(kExport), HasSubstr("a daemon is registered as " + daemon));
}

TEST_F(ImageDataTest, only_records_of_images_are_exported_also_those_that_cannot_be_understood) {
  EXPECT_EQ(nodepool({"export-image-data", file_}), 0);
  EXPECT_EQ(read_file(file_), "{}");
  put(model::build_request_path("deb"), "");
  put(model::builds_lock_path("deb"), "");
  put(model::build_lock_path("deb", "b1"), "");
  put(model::uploads_lock_path("deb", "b1", "sky"), "");
  put(model::upload_lock_path("deb", "b1", "sky", "0000000001"), "");
  put(model::build_path("deb", "b1"), "not JSON");
  put(model::upload_path("deb", "b1", "sky", "0000000001"), "bad\xff");
  run(launcher_.add_node(make_node("small")));
  testing::internal::CaptureStderr();
  EXPECT_EQ(nodepool({"export-image-data", file_}), 0);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("Omitting the record /nodepool/images/deb/builds/b1/providers/sky/"
                        "images/0000000001: it is not UTF-8"));
  EXPECT_EQ(read_file(file_), R"({"/nodepool/images/deb/builds/b1": "not JSON"})");
}

TEST_F(ImageDataTest, the_file_is_private_and_replaces_a_longer_one) {
  EXPECT_EQ(nodepool({"export-image-data", file_}), 0);
  struct stat status{};
  ASSERT_EQ(::stat(file_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600);
  const std::string old = directory_.write("old", std::string(1000, 'x'));
  const std::string link = directory_.path() / "link";
  std::filesystem::create_symlink(old, link);
  EXPECT_EQ(nodepool({"export-image-data", link}), 0);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(read_file(old), "{}");
  directory_.write("old", std::string(1000, 'x'));
  EXPECT_EQ(nodepool({"export-image-data", old}), 0);
  EXPECT_EQ(read_file(old), "{}");
}

TEST_F(ImageDataTest, an_export_that_does_not_fit_on_the_disk_leaves_the_earlier_one) {
  put(model::build_path("deb", "b1"), R"({"state": "ready"})");
  EXPECT_EQ(nodepool({"export-image-data", file_}), 0);
  const std::string earlier = read_file(file_);
  put(model::build_path("deb", "b2"), std::string(200'000, 'x'));
  {
    const test_support::FileSizeLimit limit(100'000);
    EXPECT_EQ(nodepool({"export-image-data", file_}), 1);
  }
  EXPECT_THAT(err(), HasSubstr(file_));
  EXPECT_EQ(read_file(file_), earlier);
  for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
    EXPECT_THAT(entry.path().filename().string(), testing::Not(StartsWith("images.json.")));
  }
}

TEST_F(ImageDataTest, a_file_that_cannot_be_used_is_named) {
  const std::string nowhere = directory_.path() / "none/images.json";
  EXPECT_EQ(nodepool({"export-image-data", nowhere}), 1);
  EXPECT_THAT(err(), HasSubstr(nowhere));
  EXPECT_EQ(nodepool({"export-image-data", "/dev/full"}), 1);
  EXPECT_THAT(err(), HasSubstr("/dev/full"));
  EXPECT_EQ(nodepool({"import-image-data", nowhere}), 1);
  EXPECT_THAT(err(), HasSubstr(nowhere));
}

TEST_F(ImageDataTest, a_file_that_is_no_export_is_rejected_before_any_write) {
  const std::string good = R"({"/nodepool/images/deb/builds/b1": "{}", )";
  EXPECT_THAT(refusal("{"), HasSubstr("invalid JSON"));
  EXPECT_THAT(refusal("[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal(good + R"("/nodepool/images/deb/builds/b2": {}})"),
              HasSubstr("the record /nodepool/images/deb/builds/b2 is not a string"));
  EXPECT_THAT(refusal(good + R"("/nodepool/images/deb/builds/b2": ")" +
                      std::string(coordination::kMaximumDataSize + 1, 'x') + "\"}"),
              HasSubstr("too large"));
  for (const char* path :
       {"/nodepool/nodes/0000000001", "/nodepool/images/deb", "/nodepool/images/deb/request-build",
        "/nodepool/images/deb/builds/lock", "/nodepool/images/deb/builds/b1/lock",
        "/nodepool/images/deb/builds/b1/providers/sky/images",
        "/nodepool/images/deb/builds/b1/providers/sky/images/1",
        "/nodepool/images/deb/builds/b1/providers/sky/images/000000000x",
        "/nodepool/images/deb/builds/b1/providers/sky/images/-000000001",
        "/nodepool/images/deb/builds/b1/providers/sky/images/2000000000",
        "/nodepool/imagesdeb/builds/b1", "/zuul"}) {
    EXPECT_THAT(refusal(good + "\"" + path + "\": \"\"}"),
                HasSubstr(std::string("'") + path + "' is not the path of"));
  }
  for (const char* path : {"", "deb", "/nodepool/images/../builds/b1", "/nodepool/images//pause"}) {
    EXPECT_THAT(refusal(good + "\"" + path + "\": \"\"}"), StartsWith("nodepool: ")) << path;
  }
}

}  // namespace
}  // namespace nodepool::cli
