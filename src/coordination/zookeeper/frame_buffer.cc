#include "coordination/zookeeper/frame_buffer.h"

#include <algorithm>

#include "coordination/zookeeper/wire.h"

namespace nodepool::coordination::zookeeper {

namespace {

// Enough for many small messages in one read. The buffer shrinks to it after a large message.
constexpr std::size_t kUsualSize = std::size_t{64} << 10;

}  // namespace

std::span<char> FrameBuffer::space() {
  if (begin_ > 0) {
    bytes_.erase(0, begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  // Space for a large message is allocated as it arrives, so a false length costs no memory.
  const std::size_t wanted = std::max({kUsualSize, std::min(needed_, 2 * end_), end_ + 1});
  if (wanted == kUsualSize && bytes_.capacity() > kUsualSize) {
    std::string smaller;
    smaller.reserve(kUsualSize);
    smaller.append(bytes_, 0, end_);
    bytes_ = std::move(smaller);
  }
  bytes_.resize(wanted);
  return {bytes_.data() + end_, bytes_.size() - end_};
}

std::optional<std::string_view> FrameBuffer::next() {
  const std::string_view pending = std::string_view(bytes_).substr(begin_, end_ - begin_);
  needed_ = 0;
  if (pending.size() < sizeof(std::int32_t)) return std::nullopt;
  const std::int32_t length = Reader(pending).integer();
  if (length < 0 || static_cast<std::size_t>(length) > kMaximumReply) {
    throw MalformedMessage("a message with the invalid length " + std::to_string(length));
  }
  needed_ = sizeof length + static_cast<std::size_t>(length);
  if (pending.size() < needed_) return std::nullopt;
  begin_ += needed_;
  needed_ = 0;
  return pending.substr(sizeof length, static_cast<std::size_t>(length));
}

}  // namespace nodepool::coordination::zookeeper
