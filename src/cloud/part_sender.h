#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "async/runtime.h"
#include "driver/images.h"
#include "http/request.h"

namespace nodepool::cloud {

// Sends a file in parts of equal size, several concurrently; these are held in memory.
class PartSender {
 public:
  // Sends one part; the last one may be shorter. `index` counts from 0.
  using Send = std::function<async::Task<>(std::uint64_t index, std::string part)>;

  struct Plan {
    std::uint64_t part_size = 0;  // bytes
    int max_concurrent = 1;
  };

  PartSender(const async::Runtime& runtime, std::shared_ptr<const http::StreamedBody> body,
             Plan plan, Send send, driver::ImageSupport::Progress progress);

  // Sends all parts. An empty file has one empty part. Throws the errors of reading and sending,
  // and Cancelled, after all running calls have ended.
  async::Task<> run();

  std::uint64_t count() const { return count_; }
  // The number of parts that have been sent without a gap, from the first one.
  std::uint64_t contiguous_count() const { return contiguous_; }

 private:
  async::Task<> send_some();
  async::Task<> send_one(std::uint64_t index);
  void note_sent(std::uint64_t index, std::uint64_t bytes);

  async::Runtime runtime_;
  std::shared_ptr<const http::StreamedBody> body_;
  Plan plan_;
  Send send_;
  driver::ImageSupport::Progress progress_;
  std::uint64_t count_;
  std::uint64_t next_ = 0;         // index of the next part to send
  std::uint64_t contiguous_ = 0;   // parts sent without a gap
  std::set<std::uint64_t> ahead_;  // parts sent after a gap
  std::uint64_t bytes_ = 0;        // sent
  std::exception_ptr failure_;
};

}  // namespace nodepool::cloud
