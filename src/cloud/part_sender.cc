#include "cloud/part_sender.h"

#include <algorithm>
#include <stdexcept>

#include "async/parking.h"
#include "async/task_scope.h"

namespace nodepool::cloud {

using async::Task;

PartSender::PartSender(const async::Runtime& runtime,
                       std::shared_ptr<const http::StreamedBody> body, Plan plan, Send send,
                       driver::ImageSupport::Progress progress)
    : runtime_(runtime),
      body_(std::move(body)),
      plan_(plan),
      send_(std::move(send)),
      progress_(std::move(progress)),
      count_(std::max<std::uint64_t>(1, (body_->size + plan.part_size - 1) / plan.part_size)) {}

Task<> PartSender::run() {
  async::TaskScope scope(runtime_, [](const std::string&, const std::string&) {});
  for (int i = 0; i < plan_.max_concurrent; ++i) scope.spawn("sending an image", send_some());
  co_await scope.join_or_stop();
  if (failure_) std::rethrow_exception(failure_);
}

Task<> PartSender::send_some() {
  try {
    while (!failure_ && next_ < count_) co_await send_one(next_++);
  } catch (...) {
    if (!failure_) failure_ = std::current_exception();
  }
}

// Neither reading nor `send_` need to be cancellation points.
Task<> PartSender::send_one(std::uint64_t index) {
  co_await async::throw_if_cancelled();
  const std::uint64_t begin = index * plan_.part_size;
  const std::uint64_t size = std::min(plan_.part_size, body_->size - begin);
  std::string part;
  part.reserve(size);
  while (part.size() < size) {
    const std::string more = co_await body_->read(begin + part.size(), size - part.size());
    if (more.empty()) throw std::runtime_error("the file has become shorter");
    part += more;
  }
  Task<> sending = send_(index, std::move(part));
  co_await std::move(sending);
  note_sent(index, size);
}

void PartSender::note_sent(std::uint64_t index, std::uint64_t bytes) {
  bytes_ += bytes;
  ahead_.insert(index);
  while (!ahead_.empty() && *ahead_.begin() == contiguous_) {
    ahead_.erase(ahead_.begin());
    ++contiguous_;
  }
  if (progress_) progress_(bytes_);
}

}  // namespace nodepool::cloud
