#include "coordination/zookeeper/pipeline.h"

#include <limits>
#include <utility>

namespace nodepool::coordination::zookeeper {

namespace {

using Kind = StoreError::Kind;

// What one write carries at most: as many pieces as Asio gives the kernel at a time, and about as
// many bytes as a socket's buffer takes.
constexpr std::size_t kPiecesOfWrite = 64;
constexpr std::size_t kBytesOfWrite = std::size_t{256} << 10;

}  // namespace

void Pipeline::add(Request request) {
  waiting_.push_back(std::make_shared<Request>(std::move(request)));
}

void Pipeline::add_in_front(std::vector<Request> requests) {
  std::deque<std::shared_ptr<Request>> later = std::exchange(waiting_, {});
  for (Request& request : requests) add(std::move(request));
  waiting_.insert(waiting_.end(), later.begin(), later.end());
}

std::vector<std::shared_ptr<const Request>> Pipeline::send_some() {
  std::vector<std::shared_ptr<const Request>> sending;
  std::size_t bytes = 0;
  while (!waiting_.empty() && sending.size() < kPiecesOfWrite && bytes < kBytesOfWrite) {
    std::shared_ptr<Request> request = std::move(waiting_.front());
    waiting_.pop_front();
    bytes += request->frame.size();
    sending.push_back(request);
    if (request->is_ping) {
      set_xid(request->frame, kPingXid);
      continue;
    }
    last_xid_ = last_xid_ == std::numeric_limits<std::int32_t>::max() ? 1 : last_xid_ + 1;
    set_xid(request->frame, last_xid_);
    sent_.push_back({last_xid_, std::move(request)});
  }
  return sending;
}

void Pipeline::answer(const ReplyHeader& header, Reader& body) {
  if (sent_.empty() || sent_.front().xid != header.xid) {
    throw MalformedMessage("an answer to request " + std::to_string(header.xid) +
                           ", which is not due");
  }
  // What is told of the answer may end the store, and with it all that was sent.
  const Sent oldest = std::move(sent_.front());
  sent_.pop_front();
  try {
    if (oldest.request->answered) oldest.request->answered(header, body);
  } catch (...) {
    sent_.push_front(oldest);
    throw;
  }
}

void Pipeline::connection_lost(std::string_view reason) {
  std::erase_if(waiting_, [](const std::shared_ptr<Request>& request) {
    return request->access == Request::Access::housekeeping;
  });
  for (const Sent& sent : std::exchange(sent_, {})) {
    const bool is_write = sent.request->access == Request::Access::write;
    fail(*sent.request, is_write ? Kind::unknown_outcome : Kind::disconnected, reason);
  }
}

void Pipeline::refuse_late(async::Clock::TimePoint now, std::string_view reason) {
  while (!waiting_.empty() && waiting_.front()->deadline <= now) {
    const std::shared_ptr<Request> request = std::move(waiting_.front());
    waiting_.pop_front();
    fail(*request, Kind::disconnected, reason);
  }
}

void Pipeline::refuse_all(Kind kind) {
  for (const Sent& sent : std::exchange(sent_, {})) fail(*sent.request, kind, {});
  for (const auto& request : std::exchange(waiting_, {})) fail(*request, kind, {});
}

void Pipeline::fail(const Request& request, Kind kind, std::string_view reason) {
  if (request.failed) request.failed(store_error(kind, request.path, reason));
}

}  // namespace nodepool::coordination::zookeeper
