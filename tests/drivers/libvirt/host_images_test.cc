// Images on several hosts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/drivers/libvirt/two_hosts.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::drivers::libvirt {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class HostImagesTest : public HostsTest {};

async::Task<std::string> upload(driver::Provider& provider, std::string path,
                                std::vector<std::uint64_t>& sent) {
  driver::ProviderImage image;
  image.name = "trixie";
  driver::ImageFile file;
  file.path = path;
  file.format = "raw";
  file.size = std::filesystem::file_size(path);
  const driver::ImageSupport::Progress progress = [&sent](std::uint64_t bytes) {
    sent.push_back(bytes);
  };
  co_return co_await provider.images()->upload(image, "trixie-1", file,
                                               {{"nodepool_provider_name", "rack"}}, progress);
}

TEST_F(HostImagesTest, an_image_goes_to_every_host_that_responds) {
  const test_support::TemporaryDirectory directory;
  const std::string path = directory.write("image.raw", std::string(100'000, 'x'));
  std::vector<std::uint64_t> sent;
  EXPECT_EQ(process_->run(upload(provider(), path, sent)), "trixie-1");
  EXPECT_THAT(sent, ElementsAre(50'000, 100'000, 100'000));
  EXPECT_EQ(one().volumes.at("trixie-1").bytes, std::string(100'000, 'x'));
  EXPECT_EQ(two().volumes.at("trixie-1").bytes, one().volumes.at("trixie-1").bytes);
  EXPECT_THAT(process_->run(provider().images()->list()), SizeIs(1));

  two().is_away = true;
  EXPECT_ANY_THROW(process_->run(provider().images()->remove("trixie-1", "trixie-1")));
  EXPECT_THAT(process_->run(provider().images()->list()), SizeIs(1)) << "a part is left";
  one().volumes.erase("trixie-1");
  process_->run(upload(provider(), path, sent));
  EXPECT_TRUE(one().volumes.contains("trixie-1"));
  two().is_away = false;
  process_->run(provider().images()->remove("trixie-1", "trixie-1"));
  EXPECT_THAT(process_->run(provider().images()->list()), IsEmpty());
  EXPECT_FALSE(one().volumes.contains("trixie-1"));
  EXPECT_FALSE(two().volumes.contains("trixie-1"));
}

TEST_F(HostImagesTest, an_image_is_sent_in_parts_that_slow_connections_can_send_in_time) {
  constexpr std::uint64_t kMiB = 1U << 20U;
  const std::string image(10 * kMiB, 'x');
  const test_support::TemporaryDirectory directory;
  const std::string path = directory.write("image.raw", image);
  std::vector<std::uint64_t> sent;
  process_->run(upload(provider(), path, sent));
  EXPECT_THAT(sent, ElementsAre(4 * kMiB, 5 * kMiB, 9 * kMiB, 10 * kMiB, 10 * kMiB));
  EXPECT_TRUE(two().volumes.at("trixie-1").bytes == image);
}

TEST_F(HostImagesTest, a_host_that_is_away_keeps_no_image_on_the_others) {
  const test_support::TemporaryDirectory directory;
  const std::string path = directory.write("image.raw", std::string(100'000, 'x'));
  std::vector<std::uint64_t> sent;
  process_->run(upload(provider(), path, sent));
  one().is_away = true;
  EXPECT_ANY_THROW(process_->run(provider().images()->remove("trixie-1", "trixie-1")));
  EXPECT_FALSE(two().volumes.contains("trixie-1"));
  EXPECT_THAT(process_->run(provider().images()->list()), SizeIs(1)) << "it is still on one";
  one().is_away = false;
  process_->run(provider().images()->remove("trixie-1", "trixie-1"));
  EXPECT_FALSE(one().volumes.contains("trixie-1"));
  EXPECT_THAT(process_->run(provider().images()->list()), IsEmpty());
}

TEST_F(HostImagesTest, a_part_of_an_image_on_a_host_that_went_away_is_found_as_a_leak) {
  const test_support::TemporaryDirectory directory;
  const std::string path = directory.write("image.raw", std::string(100'000, 'x'));
  std::vector<std::uint64_t> sent;
  two().is_away = true;
  one().faults->set(Fault::write_lost, 1);
  EXPECT_ANY_THROW(process_->run(upload(provider(), path, sent)));
  EXPECT_TRUE(one().volumes.contains("trixie-1"));
  EXPECT_THAT(process_->run(provider().images()->list()), SizeIs(1));

  one().is_away = two().is_away = false;
  process_->run(provider().images()->remove("", "trixie-1"));
  EXPECT_FALSE(one().volumes.contains("trixie-1"));
  EXPECT_THAT(process_->run(provider().images()->list()), IsEmpty());
}

TEST_F(HostImagesTest, an_upload_that_leaves_a_part_on_a_host_fails) {
  const test_support::TemporaryDirectory directory;
  const std::string path = directory.write("image.raw", std::string(100'000, 'x'));
  std::vector<std::uint64_t> sent;
  two().faults->set(Fault::write_lost, 1);
  EXPECT_ANY_THROW(process_->run(upload(provider(), path, sent)));
  EXPECT_TRUE(one().volumes.contains("trixie-1"));
  EXPECT_TRUE(two().volumes.contains("trixie-1"));
  EXPECT_THAT(process_->run(provider().images()->list()), SizeIs(1));

  two().is_away = false;
  process_->run(provider().images()->remove("", "trixie-1"));
  for (FakeHost* host : {&one(), &two()}) EXPECT_FALSE(host->volumes.contains("trixie-1"));
}

TEST_F(HostImagesTest, a_host_whose_state_cannot_be_read_gets_no_part_of_an_image) {
  const test_support::TemporaryDirectory directory;
  const std::string path = directory.write("image.raw", std::string(100'000, 'x'));
  std::vector<std::uint64_t> sent;
  two().faults->set(Fault::state_away, 1);
  EXPECT_EQ(process_->run(upload(provider(), path, sent)), "trixie-1");
  EXPECT_TRUE(one().volumes.contains("trixie-1"));
  EXPECT_FALSE(two().volumes.contains("trixie-1"));
}

TEST_F(HostImagesTest, a_failed_upload_whose_parts_are_deleted_is_forgotten) {
  const test_support::TemporaryDirectory directory;
  const std::string path = directory.write("image.raw", std::string(100'000, 'x'));
  std::vector<std::uint64_t> sent;
  for (FakeHost* host : {&one(), &two()}) host->faults->set(Fault::write_failed, 1);
  EXPECT_ANY_THROW(process_->run(upload(provider(), path, sent)));
  for (FakeHost* host : {&one(), &two()}) EXPECT_FALSE(host->volumes.contains("trixie-1"));
  EXPECT_THAT(process_->run(provider().images()->list()), IsEmpty());
}

}  // namespace
}  // namespace nodepool::drivers::libvirt
