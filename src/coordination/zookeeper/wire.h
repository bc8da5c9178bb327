#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace nodepool::coordination::zookeeper {

// "Jute", the encoding of ZooKeeper's messages (zookeeper-jute, BinaryOutputArchive.java):
//
//   int      4 bytes, big endian, two's complement     bool     1 byte, 0 or 1
//   long     8 bytes, likewise                         vector   int count, then its elements
//   ustring, buffer   int length, then that many bytes; length -1: null
//
// A record is the sequence of its fields. Every message is a frame: an int with the length of the
// rest, then the records of the message.

// Bytes that violate the protocol: the connection is unusable.
class MalformedMessage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Builds one frame.
class Writer {
 public:
  // Reserves space for the frame's length.
  Writer() { integer(0); }

  Writer& boolean(bool value);
  Writer& integer(std::int32_t value);
  Writer& long_integer(std::int64_t value);
  // A ustring or a buffer.
  Writer& string(std::string_view value);
  // Fields that are already encoded.
  Writer& raw(std::string_view bytes);

  // The complete frame.
  std::string finish() &&;

 private:
  std::string bytes_;
};

// Reads the records of one frame, which must outlive it. Every function throws MalformedMessage if
// the frame ends before the value does.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  bool boolean();
  std::int32_t integer();
  std::int64_t long_integer();
  // A ustring or a buffer; empty for null.
  std::string_view string();
  // A vector of ustrings.
  std::vector<std::string> strings();

  bool at_end() const { return rest_.empty(); }
  // The number of unread bytes.
  std::size_t left() const { return rest_.size(); }

 private:
  std::string_view take(std::size_t size);

  std::string_view rest_;
};

// Overwrites the 4 bytes at `offset` of a frame.
void put_integer(std::string& frame, std::size_t offset, std::int32_t value);

}  // namespace nodepool::coordination::zookeeper
