#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace nodepool::coordination::zookeeper {

// The largest message that is accepted from a server, in bytes. Servers limit what they take
// (kMaximumRequest), not what they send: the names of a million children are a valid answer.
inline constexpr std::size_t kMaximumReply = std::size_t{64} << 20;

// The largest message that servers accept, without its length: the default of their
// jute.maxbuffer. A server cuts the connection of a client that sends more.
inline constexpr std::size_t kMaximumRequest = 0xfffff;

// Cuts the bytes that come from a server into messages.
class FrameBuffer {
 public:
  // Where the next bytes go: never empty.
  std::span<char> space();

  // Tells that the first `count` bytes of space() have been filled.
  void filled(std::size_t count) { end_ += count; }

  // The next whole message, without its length; valid until space() is called. Throws
  // MalformedMessage for a length that is negative or above kMaximumReply.
  std::optional<std::string_view> next();

 private:
  std::string bytes_;
  std::size_t begin_ = 0;   // of what has not been taken
  std::size_t end_ = 0;     // of what has been filled
  std::size_t needed_ = 0;  // size of the message under way with its length, if known
};

}  // namespace nodepool::coordination::zookeeper
