#include "coordination/zookeeper/pipeline.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "coordination/zookeeper/errors.h"
#include "coordination/zookeeper/multi.h"

namespace nodepool::coordination::zookeeper {

namespace {

using Kind = StoreError::Kind;

// Limits of one write: the number of pieces that Asio passes to the kernel at a time, and about the
// size of a socket's buffer.
constexpr std::size_t kPiecesOfWrite = 64;
constexpr std::size_t kBytesOfWrite = std::size_t{256} << 10;

// The largest multiRead request, well below a server's limit.
constexpr std::size_t kBytesOfReads = std::size_t{64} << 10;

// The largest expected response to a multiRead, and the expected size of one read's response before
// the first one. Records usually have one or two kilobytes, at most a megabyte.
constexpr std::size_t kBytesOfResponse = std::size_t{1} << 20;
constexpr std::size_t kUsualResponse = std::size_t{8} << 10;

// The divisor of the number of reads in a multiRead after a connection broke during one: 128, 8, 1.
constexpr std::size_t kFewer = 16;

}  // namespace

Pipeline::Pipeline() : expected_size_(kUsualResponse) {}

std::size_t Pipeline::most_reads() const {
  if (single_reads_only_) return 1;
  return std::clamp<std::size_t>(kBytesOfResponse / expected_size_, 1, most_reads_);
}

// The expected size rises at once and falls slowly.
void Pipeline::update_expected_size(std::size_t bytes) {
  expected_size_ = std::max({bytes, expected_size_ / 2, std::size_t{1}});
}

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
    Sent next = take_next();
    bytes += next.request->frame.size();
    sending.push_back(next.request);
    if (next.request->is_ping) {
      set_xid(next.request->frame, kPingXid);
      continue;
    }
    last_xid_ = last_xid_ == std::numeric_limits<std::int32_t>::max() ? 1 : last_xid_ + 1;
    set_xid(next.request->frame, last_xid_);
    next.xid = last_xid_;
    changing_.insert(next.request->changes.begin(), next.request->changes.end());
    sent_.push_back(std::move(next));
  }
  return sending;
}

Pipeline::Sent Pipeline::take_next() {
  const std::size_t most = most_reads();
  std::vector<std::string_view> frames;
  std::size_t bytes = 0;
  for (const auto& request : waiting_) {
    if (frames.size() == most || !is_part_of_multi_read(request->frame)) break;
    bytes += request->frame.size();
    if (bytes > kBytesOfReads) break;
    frames.push_back(request->frame);
  }
  Sent next;
  if (frames.size() < 2) {
    next.request = std::move(waiting_.front());
    waiting_.pop_front();
    return next;
  }
  next.request = std::make_shared<Request>();
  next.request->access = Request::Access::read;
  next.request->frame = multi_read_request(frames);
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(frames.size());
  next.reads.assign(std::move_iterator(waiting_.begin()), std::move_iterator(end));
  waiting_.erase(waiting_.begin(), end);
  return next;
}

void Pipeline::deliver_response(const ReplyHeader& header, Reader& body) {
  if (sent_.empty() || sent_.front().xid != header.xid) {
    throw MalformedMessage("an unexpected response to request " + std::to_string(header.xid));
  }
  // The handler of the response may destroy the store and all sent requests.
  Sent oldest = std::move(sent_.front());
  sent_.pop_front();
  forget_changes(*oldest.request);
  if (!oldest.reads.empty()) return deliver_parts(std::move(oldest), header, body);
  try {
    if (oldest.request->on_response) oldest.request->on_response(header, body);
  } catch (...) {
    sent_.push_front(oldest);
    throw;
  }
}

void Pipeline::deliver_parts(Sent sent, const ReplyHeader& header, Reader& body) {
  if (header.error == kUnimplemented) {
    single_reads_only_ = true;
    waiting_.insert(waiting_.begin(), sent.reads.begin(), sent.reads.end());
    return;
  }
  if (header.error == kOk) update_expected_size(body.left() / sent.reads.size());
  try {
    while (!sent.reads.empty()) {
      ReplyHeader own = header;
      if (header.error == kOk) own.error = read_error_of_part(body);
      sent.reads.front()->on_response(own, body);
      sent.reads.pop_front();
    }
    if (header.error == kOk) read_end_of_parts(body);
  } catch (...) {
    sent_.push_front(std::move(sent));
    throw;
  }
}

void Pipeline::connection_lost(std::string_view reason) {
  std::erase_if(waiting_, [](const std::shared_ptr<Request>& request) {
    return request->access == Request::Access::housekeeping;
  });
  const auto is_batch = [](const Sent& sent) { return !sent.reads.empty(); };
  most_reads_ = std::ranges::any_of(sent_, is_batch)
                    ? std::max<std::size_t>(most_reads_ / kFewer, 1)
                    : kMostReads;
  changing_.clear();
  for (const Sent& sent : std::exchange(sent_, {})) {
    for (const auto& read : sent.reads) fail(*read, Kind::disconnected, reason);
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
  for (const Sent& sent : std::exchange(sent_, {})) {
    for (const auto& read : sent.reads) fail(*read, kind, {});
    fail(*sent.request, kind, {});
  }
  for (const auto& request : std::exchange(waiting_, {})) fail(*request, kind, {});
}

void Pipeline::forget_changes(const Request& request) {
  for (const std::string& path : request.changes) {
    const auto found = changing_.find(path);
    if (found != changing_.end()) changing_.erase(found);
  }
}

void Pipeline::fail(const Request& request, Kind kind, std::string_view reason) {
  if (request.failed) request.failed(store_error(kind, request.path, reason));
}

}  // namespace nodepool::coordination::zookeeper
