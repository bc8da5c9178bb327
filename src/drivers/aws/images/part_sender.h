#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "async/event.h"
#include "async/runtime.h"
#include "driver/images.h"
#include "http/request.h"

namespace nodepool::drivers::aws {

// Sends a file in parts of one size, several at a time: so many of them are in memory.
class PartSender {
 public:
  // Sends one part, the last of which may be shorter. `index` counts from 0.
  using Send = std::function<async::Task<>(std::uint64_t index, std::string part)>;

  struct Plan {
    std::uint64_t part_size = 0;  // bytes
    int at_once = 1;
  };

  PartSender(const async::Runtime& runtime, std::shared_ptr<const http::StreamedBody> body,
             Plan plan, Send send, driver::ImageSupport::Progress progress);

  // A file without content has one part, which is empty. Throws what reading and sending throw, and
  // Cancelled; then no part is under way any more.
  async::Task<> run();

  std::uint64_t count() const { return count_; }
  // This part and all before it have been sent: so many parts.
  std::uint64_t sent_in_a_row() const { return in_a_row_; }

 private:
  async::Task<> send_some();
  async::Task<> send_one(std::uint64_t index);
  async::Task<> wait();
  void note_sent(std::uint64_t index, std::uint64_t bytes);

  async::Runtime runtime_;
  std::shared_ptr<const http::StreamedBody> body_;
  Plan plan_;
  Send send_;
  driver::ImageSupport::Progress progress_;
  std::uint64_t count_;
  std::uint64_t next_ = 0;         // the part that is sent next
  std::uint64_t in_a_row_ = 0;     // from the first one on
  std::set<std::uint64_t> ahead_;  // those that have been sent after a gap
  std::uint64_t bytes_ = 0;        // that have been sent
  int senders_ = 0;
  async::Event ended_{"a sender of parts has ended"};
  std::exception_ptr failure_;
};

}  // namespace nodepool::drivers::aws
