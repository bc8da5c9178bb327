#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace nodepool::coordination::zookeeper {

// The largest message accepted from a server, in bytes. Servers limit requests (kMaximumRequest),
// not responses: the names of a million children are a valid response.
inline constexpr std::size_t kMaximumReply = std::size_t{64} << 20;

// The largest message that servers accept, without its length: the default of jute.maxbuffer. A
// server cuts the connection after a larger one.
inline constexpr std::size_t kMaximumRequest = 0xfffff;

// Splits the bytes from a server into messages.
class FrameBuffer {
 public:
  // The space for the next bytes, never empty.
  std::span<char> space();

  // Reports that the first `count` bytes of space() have been filled.
  void filled(std::size_t count) { end_ += count; }

  // The next whole message, without its length; valid until space() is called. Throws
  // MalformedMessage for a length that is negative or above kMaximumReply.
  std::optional<std::string_view> next();

 private:
  std::string bytes_;
  std::size_t begin_ = 0;   // of the unread bytes
  std::size_t end_ = 0;     // of the filled bytes
  std::size_t needed_ = 0;  // size of the current message with its length, if known
};

}  // namespace nodepool::coordination::zookeeper
