#include "coordination/zookeeper/wire.h"

#include <utility>

namespace nodepool::coordination::zookeeper {

namespace {

template <typename Unsigned>
void append(std::string& bytes, Unsigned value) {
  for (int shift = 8 * (static_cast<int>(sizeof value) - 1); shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>(value >> shift));
  }
}

template <typename Unsigned>
Unsigned parse(std::string_view bytes) {
  Unsigned value = 0;
  for (const char byte : bytes) value = (value << 8) | static_cast<unsigned char>(byte);
  return value;
}

// The length of a null string or vector.
constexpr std::int32_t kNull = -1;

}  // namespace

Writer& Writer::boolean(bool value) {
  bytes_.push_back(value ? 1 : 0);
  return *this;
}

Writer& Writer::integer(std::int32_t value) {
  append(bytes_, static_cast<std::uint32_t>(value));
  return *this;
}

Writer& Writer::long_integer(std::int64_t value) {
  append(bytes_, static_cast<std::uint64_t>(value));
  return *this;
}

Writer& Writer::string(std::string_view value) {
  bytes_.reserve(bytes_.size() + sizeof(std::int32_t) + value.size());
  integer(static_cast<std::int32_t>(value.size()));
  bytes_ += value;
  return *this;
}

Writer& Writer::raw(std::string_view bytes) {
  bytes_ += bytes;
  return *this;
}

std::string Writer::finish() && {
  put_integer(bytes_, 0, static_cast<std::int32_t>(bytes_.size() - sizeof(std::int32_t)));
  return std::move(bytes_);
}

std::string_view Reader::take(std::size_t size) {
  if (size > rest_.size()) throw MalformedMessage("a truncated message");
  const std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

bool Reader::boolean() {
  return take(1).front() != 0;
}

std::int32_t Reader::integer() {
  return static_cast<std::int32_t>(parse<std::uint32_t>(take(sizeof(std::int32_t))));
}

std::int64_t Reader::long_integer() {
  return static_cast<std::int64_t>(parse<std::uint64_t>(take(sizeof(std::int64_t))));
}

std::string_view Reader::string() {
  const std::int32_t length = integer();
  if (length == kNull) return {};
  if (length < 0) throw MalformedMessage("a string of negative length");
  return take(static_cast<std::size_t>(length));
}

std::vector<std::string> Reader::strings() {
  const std::int32_t count = integer();
  if (count == kNull) return {};
  // Each takes at least four bytes, so a false count does not reserve gigabytes.
  if (count < 0 || static_cast<std::size_t>(count) > rest_.size() / sizeof(std::int32_t)) {
    throw MalformedMessage("a vector longer than its message");
  }
  std::vector<std::string> values;
  values.reserve(static_cast<std::size_t>(count));
  for (std::int32_t i = 0; i < count; ++i) values.emplace_back(string());
  return values;
}

void put_integer(std::string& frame, std::size_t offset, std::int32_t value) {
  std::string bytes;
  append(bytes, static_cast<std::uint32_t>(value));
  frame.replace(offset, bytes.size(), bytes);
}

}  // namespace nodepool::coordination::zookeeper
