// Tests the conversion of formats that an upload needs and the build lacks.

#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>

#include "model/image_paths.h"
#include "tests/builder/builder_fixture.h"
#include "tests/support/child.h"

namespace nodepool::builder {
namespace {

namespace fs = std::filesystem;
using model::BuildState;
using model::ImageBuild;
using model::ImageUpload;
using model::UploadState;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr const char* kBareDeb = "  - {name: deb}\n";

// A provider that lists the image.
std::string provider(const std::string& name, const std::string& format,
                     const std::string& settings = "") {
  return "  - {name: " + name + ", driver: sky, image-format: " + format +
         ", diskimages: [{name: deb" + settings + "}]}\n";
}

const std::string kRaw = provider("sky1", "raw");
const std::string kVmdk = provider("sky2", "vmdk");

class FormatProviderTest : public BuilderFixture {
 protected:
  // A ready raw build and its ready upload. Then a provider for vmdk is added.
  void start_with_raw(const std::string& images = kBareDeb) {
    start(yaml(images, kRaw));
    id_ = builds(BuildState::ready).front().id;
    pass(seconds(1));  // so that a later build is newer
  }
  void add_vmdk(const std::string& images = kBareDeb) { reconfigure(yaml(images, kRaw + kVmdk)); }

  fs::path file(const std::string& suffix) const {
    return directory_.path() / "nb1" / ("deb-" + id_ + "." + suffix);
  }
  std::vector<std::string> formats() { return builds(BuildState::ready).front().formats; }

  std::string id_;
};

TEST_F(FormatProviderTest, a_provider_with_another_format_gets_a_converted_file) {
  real_qemu_img_ = true;
  start_with_raw();
  add_vmdk();
  EXPECT_THAT(builds(), ElementsAre(testing::Field(&ImageBuild::id, id_)));
  EXPECT_THAT(formats(), ElementsAre("raw", "vmdk"));
  ASSERT_THAT(uploads(UploadState::ready), SizeIs(2));
  EXPECT_EQ(uploads().back().format, "vmdk");
  const driver::ImageFile sent = sky_->images.at("image-2").file;
  EXPECT_EQ(sent.path, file("vmdk"));
  EXPECT_EQ(sent.md5.size(), 32);
  EXPECT_EQ(sent.sha256.size(), 64);
  EXPECT_EQ(sent.size, fs::file_size(file("vmdk")));
  const auto info = test_support::run({"qemu-img", "info", file("vmdk").string()});
  EXPECT_THAT(info.output, HasSubstr("file format: vmdk"));
  EXPECT_THAT(files(), SizeIs(6));
  EXPECT_THAT(news_, Contains(AllOf(HasSubstr("Converting build " + id_),
                                    HasSubstr("/logs/conversions/deb-" + id_ + ".log"))));
  EXPECT_THAT(news_, Not(Contains(HasSubstr("Uploaded ")))) << "it was quick";
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(FormatProviderTest, what_cannot_be_converted_is_built) {
  start_with_raw();
  reconfigure(yaml(kBareDeb, kRaw + provider("sky2", "tgz")));
  ASSERT_THAT(builds(BuildState::ready), SizeIs(2));
  EXPECT_THAT(builds().back().formats, ElementsAre("raw", "tgz"));
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(3));
  EXPECT_THAT(workshop_->converted, IsEmpty());
}

TEST_F(FormatProviderTest, a_format_of_the_image_itself_is_built) {
  start_with_raw();
  reconfigure(yaml("  - {name: deb, formats: [vmdk]}\n", kRaw));
  EXPECT_THAT(builds(BuildState::ready), SizeIs(2));
  EXPECT_THAT(workshop_->converted, IsEmpty());
}

TEST_F(FormatProviderTest, nothing_is_made_for_a_provider_that_is_paused) {
  start_with_raw();
  reconfigure(yaml(kBareDeb, kRaw + provider("sky2", "vmdk", ", pause: true")));
  EXPECT_THAT(builds(), SizeIs(1));
  EXPECT_THAT(workshop_->converted, IsEmpty());
  add_vmdk();
  EXPECT_THAT(workshop_->converted, SizeIs(1));
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(2));
}

TEST_F(FormatProviderTest, what_has_been_deleted_after_its_upload_is_built) {
  start_with_raw("  - {name: deb, delete-after-upload: true}\n");
  EXPECT_THAT(files(), IsEmpty());
  add_vmdk();
  EXPECT_THAT(workshop_->converted, IsEmpty());
  EXPECT_THAT(builds(BuildState::ready), SizeIs(2));
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(3));
}

TEST_F(FormatProviderTest, a_format_whose_source_file_is_missing_is_built) {
  start_with_raw();
  fs::remove(file("raw"));
  add_vmdk();
  pass(minutes(1));
  EXPECT_THAT(workshop_->converted, IsEmpty());
  EXPECT_THAT(builds(BuildState::ready), SizeIs(2));
  EXPECT_THAT(log_, Contains(HasSubstr("and no file to convert from")));
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(3));
}

TEST_F(FormatProviderTest, the_source_stays_until_what_is_made_of_it_has_been_uploaded) {
  const std::string deb = "  - {name: deb, delete-after-upload: true}\n";
  const std::string paused = provider("sky2", "raw", ", pause: true");
  start(yaml(deb, kRaw + paused));
  id_ = builds().front().id;
  workshop_->conversion_time = minutes(10);
  sky_->upload_time = minutes(10);
  add_vmdk(deb);
  pass(minutes(5));
  EXPECT_TRUE(fs::exists(file("raw")));
  put(model::image_pause_path("deb"));  // any change makes the builder evaluate the image
  pass(minutes(10));
  EXPECT_TRUE(fs::exists(file("vmdk"))) << "it is being uploaded";
  pass(minutes(10));
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(2));
  EXPECT_THAT(builds(), SizeIs(1));
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(FormatProviderTest, two_providers_share_a_conversion) {
  workshop_->conversion_time = minutes(10);
  start_with_raw();
  reconfigure(yaml(kBareDeb, kRaw + kVmdk + provider("sky3", "vmdk")));
  pass(minutes(5));
  EXPECT_THAT(uploads(UploadState::uploading), SizeIs(2));
  pass(minutes(5));
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(3));
  EXPECT_THAT(workshop_->converted, ElementsAre("deb-" + id_ + ".vmdk.partial"));
}

TEST_F(FormatProviderTest, a_failed_conversion_is_logged_and_retried_and_delays_no_other) {
  start_with_raw();
  workshop_->conversion_exit_code = 1;
  reconfigure(yaml(kBareDeb, kRaw + kVmdk + provider("sky3", "raw")));
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(2));
  ASSERT_THAT(uploads(UploadState::failed), SizeIs(1));
  EXPECT_EQ(uploads(UploadState::failed).front().failure,
            "creating " + file("vmdk").string() + " with qemu-img failed: exit code 1; see " +
                (directory_.path() / "logs/conversions" / ("deb-" + id_ + ".log")).string());
  EXPECT_THAT(files(), Each(Not(HasSubstr("vmdk"))));
  EXPECT_THAT(formats(), ElementsAre("raw"));
  workshop_->conversion_exit_code = 0;
  pass(seconds(9));
  EXPECT_THAT(workshop_->converted, SizeIs(1));
  pass(seconds(1));
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(3));
  EXPECT_THAT(builds(), SizeIs(1));
}

TEST_F(FormatProviderTest, a_killed_builder_leaves_no_partial_file_as_an_image) {
  workshop_->conversion_time = minutes(10);
  start_with_raw();
  add_vmdk();
  pass(minutes(5));
  kill();
  EXPECT_TRUE(fs::exists(file("vmdk.partial")));
  EXPECT_FALSE(fs::exists(file("vmdk")));
  start(yaml(kBareDeb, kRaw));
  EXPECT_THAT(files(), SizeIs(3));
  add_vmdk();
  pass(minutes(11));  // includes the expiry of the lock of the dead builder
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(2));
  EXPECT_THAT(builds(), SizeIs(1));
}

TEST_F(FormatProviderTest, a_stopping_builder_cancels_a_conversion) {
  workshop_->conversion_time = minutes(10);
  start_with_raw();
  add_vmdk();
  pass(minutes(5));
  stop();
  ASSERT_THAT(uploads(UploadState::failed), SizeIs(1));
  EXPECT_EQ(uploads(UploadState::failed).front().failure, "the builder was stopped");
  EXPECT_THAT(files(), SizeIs(3));
}

TEST_F(FormatProviderTest, a_file_that_the_record_does_not_know_is_used) {
  start_with_raw();
  stop();
  directory_.write("nb1/deb-" + id_ + ".vmdk", "as its builder left it when it died");
  start(yaml(kBareDeb, kRaw + kVmdk));
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(2));
  EXPECT_THAT(formats(), ElementsAre("raw", "vmdk"));
  EXPECT_THAT(workshop_->converted, IsEmpty());
  EXPECT_EQ(fs::file_size(file("vmdk.md5")), std::string("  deb-.vmdk\n").size() + 2 * 32);
}

TEST_F(FormatProviderTest, what_others_have_written_to_the_record_meanwhile_stays) {
  workshop_->conversion_time = minutes(10);
  start_with_raw();
  add_vmdk();
  pass(minutes(5));
  ImageBuild build = builds().front();
  build.username = "somebody";
  write(build);
  pass(minutes(5));
  EXPECT_EQ(builds().front().username, "somebody");
  EXPECT_THAT(formats(), ElementsAre("raw", "vmdk"));
}

TEST_F(FormatProviderTest, a_build_that_is_deleted_meanwhile_goes_altogether) {
  workshop_->conversion_time = minutes(10);
  start_with_raw();
  add_vmdk();
  pass(minutes(5));
  put(model::image_pause_path("deb"));
  ImageBuild build = builds().front();
  build.set_state(BuildState::deleting, clock_.wall_seconds());
  write(build);
  pass(minutes(20));
  EXPECT_THAT(builds(), IsEmpty());
  EXPECT_THAT(uploads(), IsEmpty());
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(FormatProviderTest, a_converted_file_stays_while_the_record_of_its_build_cannot_be_read) {
  workshop_->conversion_time = minutes(10);
  start_with_raw();
  add_vmdk();
  pass(minutes(5));
  put(model::image_pause_path("deb"));  // no other build
  const ImageBuild build = builds().front();
  put(model::build_path("deb", id_), "no JSON");
  pass(minutes(5));
  EXPECT_TRUE(fs::exists(file("raw")));
  EXPECT_TRUE(fs::exists(file("vmdk")));
  EXPECT_THAT(log_, Contains(HasSubstr("the record of build " + id_ + " is invalid")));
  write(build);
  remove(model::image_pause_path("deb"));
  pass(minutes(1));
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(2));
  EXPECT_THAT(formats(), ElementsAre("raw", "vmdk"));
  EXPECT_THAT(workshop_->converted, SizeIs(1));
}

TEST_F(FormatProviderTest, a_builder_without_the_files_builds) {
  start_with_raw();
  start(yaml(kBareDeb, kRaw + kVmdk), "nb2");
  ASSERT_THAT(builds(BuildState::ready), SizeIs(2));
  EXPECT_EQ(builds().back().builder, "nb2.example");
  EXPECT_THAT(workshop_->converted, IsEmpty());
}

TEST_F(FormatProviderTest, the_log_shows_the_progress_of_a_long_upload) {
  sky_->upload_time = minutes(10);
  start(yaml(kBareDeb, kRaw));
  pass(minutes(10));
  const std::string id = builds().front().id;
  EXPECT_THAT(news_, Contains(HasSubstr("% of build " + id + " of image deb to sky1")).Times(2));
}

}  // namespace
}  // namespace nodepool::builder
