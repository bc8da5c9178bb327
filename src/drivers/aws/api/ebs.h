#pragma once

#include <cstdint>
#include <string>

#include "driver/images.h"
#include "drivers/aws/api/caller.h"
#include "drivers/aws/api/ec2.h"

namespace nodepool::drivers::aws {

// The EBS direct APIs, which write snapshots block by block. All functions throw CloudError.
class Ebs {
 public:
  // The block size of all snapshots. Source: AWS, EBS direct APIs.
  static constexpr std::size_t kBlock = std::size_t{512} << 10;  // bytes

  explicit Ebs(Caller& caller) : caller_(caller) {}

  // Begins an empty snapshot of `size` GiB, and returns it. `token` is an idempotency token: the
  // snapshot of an earlier call may have been written or completed since.
  async::Task<Snapshot> start(std::int64_t size, std::string description, std::string token,
                              driver::Metadata tags);
  // `data` is a whole block.
  async::Task<> put(std::string snapshot, std::uint64_t index, std::string data);
  // Completes the snapshot; returns whether it is complete. Call it until it is. `blocks`: the
  // number of written blocks.
  async::Task<bool> complete(std::string snapshot, std::uint64_t blocks);

 private:
  Caller& caller_;
};

}  // namespace nodepool::drivers::aws
