// Whatever bytes a ZooKeeper server sends: they are decoded or refused, nothing else. The first
// byte says what the rest is.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "coordination/zookeeper/errors.h"
#include "coordination/zookeeper/frame_buffer.h"
#include "coordination/zookeeper/messages.h"
#include "coordination/zookeeper/multi.h"
#include "tests/fuzz/target.h"

namespace nodepool::coordination::zookeeper {
namespace {

enum class Sample : unsigned char {
  connect_reply,
  stat,
  created,
  entry,
  children,
  watch_event,
  multi,       // the answer to sample_transaction()
  stream,      // of frames; the byte that follows says in pieces of which size it comes
  multi_read,  // the answer to two gets
  count,
};

Transaction sample_transaction() {
  Transaction transaction;
  transaction.check("/a").create("/b", "data").set("/c", "data").remove("/d");
  return transaction;
}

void decode_stream(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::size_t piece = 1 + static_cast<unsigned char>(bytes.front());
  bytes.remove_prefix(1);
  FrameBuffer buffer;
  std::size_t taken = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::span<char> space = buffer.space();
    // Never larger than the bytes that have come and the usual space ask for.
    fuzz::require(!space.empty() && space.size() <= (2 * bytes.size()) + (1 << 17),
                  "the space is what the bytes ask for");
    const std::size_t came = bytes.substr(at, piece).copy(space.data(), space.size());
    buffer.filled(came);
    at += came;
    while (const auto message = buffer.next()) taken += sizeof(std::int32_t) + message->size();
  }
  fuzz::require(taken <= bytes.size(), "messages are made of what has come");
}

void decode(Sample sample, std::string_view bytes) {
  static const Transaction transaction = sample_transaction();
  static const Paths paths("/chroot");
  Reader reader(bytes);
  switch (sample) {
    case Sample::connect_reply:
      read_connect_reply(reader);
      break;
    case Sample::stat:
      read_reply_header(reader);
      read_stat(reader);
      break;
    case Sample::created:
      paths.from_server(read_created(reader).path);
      break;
    case Sample::entry:
      read_entry(reader);
      break;
    case Sample::children:
      reader.strings();
      break;
    case Sample::watch_event:
      if (const auto event = read_watch_event(reader)) paths.from_server(event->path);
      break;
    case Sample::multi:
      fuzz::require(read_multi(reader, transaction, paths, {}).size() == transaction.size(),
                    "each operation has a result");
      break;
    case Sample::stream:
      decode_stream(bytes);
      break;
    case Sample::multi_read:
      for (int i = 0; i < 2; ++i) {
        if (read_error_of_part(reader) == kOk) read_entry(reader);
      }
      read_end_of_parts(reader);
      break;
    case Sample::count:
      break;
  }
}

}  // namespace
}  // namespace nodepool::coordination::zookeeper

namespace nodepool::fuzz {

void read(std::string_view input) {
  using namespace coordination;
  if (input.empty()) return;
  const auto sample =
      static_cast<zookeeper::Sample>(static_cast<unsigned char>(input.front()) %
                                     static_cast<unsigned char>(zookeeper::Sample::count));
  try {
    zookeeper::decode(sample, input.substr(1));
  } catch (const zookeeper::MalformedMessage&) {
  } catch (const StoreError&) {
  }
}

}  // namespace nodepool::fuzz
