#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "async/thread_pool.h"
#include "driver/images.h"
#include "drivers/aws/api/ebs.h"
#include "drivers/aws/api/ec2.h"
#include "drivers/aws/config/aws_config.h"
#include "http/request.h"
#include "telemetry/log.h"

namespace nodepool::drivers::aws {

// Uploaded images: AMIs of snapshots that are written block by block.
class ImageStore final : public driver::ImageSupport {
 public:
  // All outlive it.
  ImageStore(const async::Runtime& runtime, const AwsConfig& config, Ec2& ec2, Ebs& ebs,
             async::ThreadPool& threads, telemetry::Logger log)
      : runtime_(runtime),
        config_(config),
        ec2_(ec2),
        ebs_(ebs),
        threads_(threads),
        log_(std::move(log)) {}

  async::Task<std::string> upload(driver::ProviderImage image, std::string name,
                                  driver::ImageFile file, driver::Metadata metadata,
                                  Progress progress) override;
  async::Task<> remove(std::string name, std::string external_id) override;
  // Snapshots of ours that are no AMI's are listed as well.
  async::Task<std::vector<driver::CloudImage>> list() override;

 private:
  struct Sending;

  async::Task<std::string> make(driver::ProviderImage image, std::string name,
                                driver::ImageFile file, driver::Metadata metadata,
                                Progress progress);
  async::Task<> send_blocks(std::shared_ptr<Sending> sending);
  async::Task<> send_some(std::shared_ptr<Sending> sending);
  async::Task<> complete(std::string snapshot, std::uint64_t blocks);
  async::Task<std::string> register_image(driver::ProviderImage image, std::string name,
                                          std::string snapshot, std::int64_t size,
                                          driver::Metadata metadata);
  async::Task<> remove_begun(driver::Metadata metadata);
  async::Task<> remove_image(Ami image);

  async::Runtime runtime_;
  const AwsConfig& config_;
  Ec2& ec2_;
  Ebs& ebs_;
  async::ThreadPool& threads_;
  telemetry::Logger log_;
};

}  // namespace nodepool::drivers::aws
