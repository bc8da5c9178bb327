#include "coordination/zookeeper/pipeline.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "coordination/zookeeper/errors.h"
#include "coordination/zookeeper/multi.h"

namespace nodepool::coordination::zookeeper {

namespace {

using Kind = StoreError::Kind;

// What one write carries at most: as many pieces as Asio gives the kernel at a time, and about as
// many bytes as a socket's buffer takes.
constexpr std::size_t kPiecesOfWrite = 64;
constexpr std::size_t kBytesOfWrite = std::size_t{256} << 10;

// What reads that are sent as one ask for in sum: well below what a server takes.
constexpr std::size_t kBytesOfReads = std::size_t{64} << 10;

// What their answer is expected to have, as answers go, and what a read's answer is expected to
// have as long as none has come. Records have one or two kilobytes, and may have a megabyte.
constexpr std::size_t kBytesOfAnswer = std::size_t{1} << 20;
constexpr std::size_t kUsualAnswer = std::size_t{8} << 10;

// By how much fewer reads are sent as one when a connection broke under as many: 128, 8, 1.
constexpr std::size_t kFewer = 16;

}  // namespace

Pipeline::Pipeline() : expected_size_(kUsualAnswer) {}

std::size_t Pipeline::most_reads() const {
  if (single_reads_only_) return 1;
  return std::clamp<std::size_t>(kBytesOfAnswer / expected_size_, 1, most_reads_);
}

// More is expected at once; less, when several answers have had less.
void Pipeline::learn_size(std::size_t bytes) {
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

void Pipeline::answer(const ReplyHeader& header, Reader& body) {
  if (sent_.empty() || sent_.front().xid != header.xid) {
    throw MalformedMessage("an answer to request " + std::to_string(header.xid) +
                           ", which is not due");
  }
  // What is told of the answer may end the store, and with it all that was sent.
  Sent oldest = std::move(sent_.front());
  sent_.pop_front();
  forget_changes(*oldest.request);
  if (!oldest.reads.empty()) return answer_each(std::move(oldest), header, body);
  try {
    if (oldest.request->answered) oldest.request->answered(header, body);
  } catch (...) {
    sent_.push_front(oldest);
    throw;
  }
}

void Pipeline::answer_each(Sent sent, const ReplyHeader& header, Reader& body) {
  if (header.error == kUnimplemented) {
    single_reads_only_ = true;
    waiting_.insert(waiting_.begin(), sent.reads.begin(), sent.reads.end());
    return;
  }
  if (header.error == kOk) learn_size(body.left() / sent.reads.size());
  try {
    while (!sent.reads.empty()) {
      ReplyHeader own = header;
      if (header.error == kOk) own.error = read_error_of_part(body);
      sent.reads.front()->answered(own, body);
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
  const auto stands_for_reads = [](const Sent& sent) { return !sent.reads.empty(); };
  most_reads_ = std::ranges::any_of(sent_, stands_for_reads)
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
