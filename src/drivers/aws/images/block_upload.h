#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "async/runtime.h"
#include "async/thread_pool.h"
#include "cloud/optional_permissions.h"
#include "cloud/part_sender.h"
#include "driver/images.h"
#include "drivers/aws/api/ebs.h"
#include "drivers/aws/api/ec2.h"
#include "telemetry/log.h"

namespace nodepool::drivers::aws {

// Writes one image to a snapshot, block by block. A tag of the snapshot records the progress
// periodically, so that another builder can resume the upload. The permission to tag the snapshot
// is optional.
class BlockUpload {
 public:
  // The references outlive it. `metadata` is the upload's.
  BlockUpload(const async::Runtime& runtime, Ebs& ebs, Ec2& ec2,
              cloud::OptionalPermissions& permissions, telemetry::Logger log, std::string name,
              driver::Metadata metadata);

  // Returns the completed snapshot. `begun`: the snapshot of an interrupted upload, to resume.
  // Throws CloudError, the errors of reading the file, and Cancelled.
  async::Task<Snapshot> run(std::shared_ptr<const http::StreamedBody> body,
                            std::optional<Snapshot> begun, driver::ImageSupport::Progress progress);

  // The snapshot's id; empty if it is not known yet.
  const std::string& snapshot_id() const { return snapshot_.id; }

 private:
  async::Task<Snapshot> begin(std::uint64_t bytes);
  async::Task<> send(std::uint64_t index, std::string block);
  async::Task<> refresh_periodically();
  async::Task<> mark(std::uint64_t blocks);
  async::Task<> complete();

  async::Runtime runtime_;
  Ebs& ebs_;
  Ec2& ec2_;
  cloud::OptionalPermissions& permissions_;
  telemetry::Logger log_;
  std::string name_;
  driver::Metadata metadata_;
  Snapshot snapshot_;
  std::uint64_t sent_before_ = 0;  // blocks sent before the upload was resumed
  std::uint64_t written_ = 0;      // blocks that are not empty
  std::optional<cloud::PartSender> sender_;
  async::Clock::TimePoint next_mark_{};
};

}  // namespace nodepool::drivers::aws
