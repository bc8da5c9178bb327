#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "driver/images.h"
#include "tests/driver/harness/installation.h"
#include "tests/driver/harness/launcher_process.h"
#include "tests/drivers/aws/stand_in/stand_in.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::drivers::aws {

// The tags of an upload of provider "sky".
driver::Metadata owner_tags(const std::string& upload = "0000000007");

// A builder that uploads a file to a stand-in of EC2, EBS and S3.
class AwsImagesTest : public testing::Test {
 protected:
  static constexpr const char* kName = "trixie-1700000000";
  static constexpr std::size_t kMebibyte = std::size_t{1} << 20;
  static constexpr std::size_t kSize = 20 * kMebibyte;  // three parts, forty blocks

  AwsImagesTest();

  // A builder; the one that ran before, if any, dies.
  void start(const std::string& method, const std::string& keys = "rate: 0");

  async::Task<std::string> uploading(const std::string& upload = "0000000007");
  std::string upload() { return process_->run(uploading()); }
  // The error of an upload; empty if it succeeds.
  std::string failure_of_upload();

  // Begins an upload, and dies after so long.
  void die_after(async::Duration time);
  static async::Task<> keep(async::Task<std::string> uploading, std::string& id);

  std::vector<driver::CloudImage> listed() {
    return process_->run(process_->provider().images()->list());
  }
  void remove(const std::string& id) {
    process_->run(process_->provider().images()->remove("", id));
  }

  void expect_only(const std::string& id);
  void expect_empty_bucket();
  void expect_nothing();

  ImageServices& services() { return cloud_.image_services; }
  void fail(const std::string& action, StandIn::Failure failure, std::size_t times = 1) {
    cloud_.fail(action, std::vector<StandIn::Failure>(times, failure));
  }

  test_support::TemporaryDirectory directory_;
  driver::harness::Installation installation_;
  async::EventLoop loop_;
  StandIn cloud_;
  async::Executor executor_;
  driver::ImageFile file_;
  std::uint64_t sent_ = 0;
  std::unique_ptr<driver::harness::LauncherProcess> process_;

 private:
  // Silent when every call that waits for an answer is one that the cloud holds back.
  bool wire();
};

}  // namespace nodepool::drivers::aws
