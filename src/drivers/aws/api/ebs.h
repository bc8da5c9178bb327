#pragma once

#include <cstdint>
#include <string>

#include "driver/images.h"
#include "drivers/aws/api/caller.h"

namespace nodepool::drivers::aws {

// EBS direct: snapshots that are written block by block. All functions throw CloudError.
class Ebs {
 public:
  // That of all snapshots. Reference: AWS, EBS direct APIs.
  static constexpr std::size_t kBlock = std::size_t{512} << 10;  // bytes

  explicit Ebs(Caller& caller) : caller_(caller) {}

  // Begins a snapshot of so many GiB, of which nothing is written yet, and returns its id. `token`:
  // by which that is done once.
  async::Task<std::string> start(std::int64_t size, std::string description, std::string token,
                                 driver::Metadata tags);
  // `data` is a whole block.
  async::Task<> put(std::string snapshot, std::uint64_t index, std::string data);
  // Whether it is complete now; to be asked until it is. `blocks`: how many were written.
  async::Task<bool> complete(std::string snapshot, std::uint64_t blocks);

 private:
  Caller& caller_;
};

}  // namespace nodepool::drivers::aws
