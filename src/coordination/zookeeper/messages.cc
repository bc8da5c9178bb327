#include "coordination/zookeeper/messages.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include <cstddef>
#include <utility>

namespace nodepool::coordination::zookeeper {

namespace {

constexpr std::int32_t kProtocolVersion = 0;

// Offset in a frame, after its length.
constexpr std::size_t kXidOffset = sizeof(std::int32_t);

// ZooDefs.Perms.ALL
constexpr std::int32_t kAllPermissions = 31;
constexpr std::string_view kDigestScheme = "digest";

// AddWatchMode.PERSISTENT_RECURSIVE, Watcher.WatcherType.Any
constexpr std::int32_t kPersistentRecursive = 1;
constexpr std::int32_t kAnyWatcher = 3;

// Watcher.Event.EventType
constexpr std::int32_t kNodeCreated = 1;
constexpr std::int32_t kNodeDeleted = 2;
constexpr std::int32_t kNodeDataChanged = 3;

// CreateMode.toFlag()
std::int32_t create_flags(CreateMode mode) {
  switch (mode) {
    case CreateMode::persistent:
      return 0;
    case CreateMode::ephemeral:
      return 1;
    case CreateMode::persistent_sequential:
      return 2;
    case CreateMode::ephemeral_sequential:
      return 3;
  }
  return 0;
}

std::string path_request(OpCode type, std::string_view path) {
  Writer writer = begin_request(type);
  writer.string(path);
  return std::move(writer).finish();
}

// For reads: no one-time watch.
std::string read_request(OpCode type, std::string_view path) {
  Writer writer = begin_request(type);
  writer.string(path).boolean(false);
  return std::move(writer).finish();
}

}  // namespace

std::string connect_request(const DigestCredentials& credentials, std::int64_t last_zxid,
                            std::int32_t timeout_ms) {
  Writer writer;
  writer.integer(kProtocolVersion)
      .long_integer(last_zxid)
      .integer(timeout_ms)
      .long_integer(credentials.session_id)
      .string(credentials.password)
      .boolean(false);  // do not accept a read-only server
  return std::move(writer).finish();
}

ConnectReply read_connect_reply(Reader reader) {
  ConnectReply reply;
  reader.integer();  // protocol version
  reply.timeout_ms = reader.integer();
  reply.credentials.session_id = reader.long_integer();
  reply.credentials.password = reader.string();
  // Some servers append whether they are read-only; ignored.
  return reply;
}

Writer begin_request(OpCode type) {
  Writer writer;
  writer.integer(0).integer(static_cast<std::int32_t>(type));
  return writer;
}

void set_xid(std::string& frame, std::int32_t xid) {
  put_integer(frame, kXidOffset, xid);
}

// DigestAuthenticationProvider.generateDigest(): SHA-1, in Base64.
Acl acl_of(const DigestAuth& digest) {
  const std::string secret = digest.user + ":" + digest.password;
  unsigned char hash[SHA_DIGEST_LENGTH];
  SHA1(reinterpret_cast<const unsigned char*>(secret.data()), secret.size(), hash);
  constexpr std::size_t kEncoded = std::size_t{SHA_DIGEST_LENGTH + 2} / 3 * 4;
  unsigned char text[kEncoded + 1];
  EVP_EncodeBlock(text, hash, SHA_DIGEST_LENGTH);
  return {.scheme = std::string(kDigestScheme),
          .id = digest.user + ":" + std::string(reinterpret_cast<const char*>(text), kEncoded)};
}

std::string auth_request(const DigestAuth& digest) {
  Writer writer = begin_request(OpCode::auth);
  writer.integer(0).string(kDigestScheme).string(digest.user + ":" + digest.password);
  return std::move(writer).finish();
}

void write_create(Writer& writer, std::string_view path, std::string_view data, CreateMode mode,
                  const Acl& acl) {
  writer.string(path).string(data);
  writer.integer(1).integer(kAllPermissions).string(acl.scheme).string(acl.id);
  writer.integer(create_flags(mode));
}

std::string create_request(std::string_view path, std::string_view data, CreateMode mode,
                           const Acl& acl) {
  Writer writer = begin_request(OpCode::create2);
  write_create(writer, path, data, mode, acl);
  return std::move(writer).finish();
}

std::string get_request(std::string_view path) {
  return read_request(OpCode::get_data, path);
}

std::string exists_request(std::string_view path) {
  return read_request(OpCode::exists, path);
}

std::string children_request(std::string_view path) {
  return read_request(OpCode::get_children, path);
}

std::string set_request(std::string_view path, std::string_view data, std::int32_t version) {
  Writer writer = begin_request(OpCode::set_data);
  writer.string(path).string(data).integer(version);
  return std::move(writer).finish();
}

std::string remove_request(std::string_view path, std::int32_t version) {
  Writer writer = begin_request(OpCode::remove);
  writer.string(path).integer(version);
  return std::move(writer).finish();
}

std::string sync_request(std::string_view path) {
  return path_request(OpCode::sync, path);
}

std::string add_watch_request(std::string_view path) {
  Writer writer = begin_request(OpCode::add_watch);
  writer.string(path).integer(kPersistentRecursive);
  return std::move(writer).finish();
}

std::string remove_watch_request(std::string_view path) {
  Writer writer = begin_request(OpCode::remove_watches);
  writer.string(path).integer(kAnyWatcher);
  return std::move(writer).finish();
}

std::string ping_request() {
  return begin_request(OpCode::ping).finish();
}

std::string close_request() {
  return begin_request(OpCode::close_session).finish();
}

ReplyHeader read_reply_header(Reader& reader) {
  ReplyHeader header;
  header.xid = reader.integer();
  header.zxid = reader.long_integer();
  header.error = reader.integer();
  return header;
}

Stat read_stat(Reader& reader) {
  Stat stat;
  stat.czxid = reader.long_integer();
  stat.mzxid = reader.long_integer();
  stat.ctime = reader.long_integer();
  stat.mtime = reader.long_integer();
  stat.version = reader.integer();
  reader.integer();  // cversion
  reader.integer();  // aversion
  stat.ephemeral_owner = reader.long_integer();
  stat.data_length = reader.integer();
  stat.num_children = reader.integer();
  reader.long_integer();  // pzxid
  return stat;
}

OperationResult read_created(Reader& reader) {
  OperationResult result;
  result.path = reader.string();
  result.stat = read_stat(reader);
  return result;
}

Entry read_entry(Reader& reader) {
  Entry entry;
  entry.data = reader.string();
  entry.stat = read_stat(reader);
  return entry;
}

std::optional<WatchEvent> read_watch_event(Reader& reader) {
  const std::int32_t type = reader.integer();
  reader.integer();  // the connection's state
  std::string path(reader.string());
  switch (type) {
    case kNodeCreated:
      return WatchEvent{WatchEvent::Kind::created, std::move(path)};
    case kNodeDeleted:
      return WatchEvent{WatchEvent::Kind::removed, std::move(path)};
    case kNodeDataChanged:
      return WatchEvent{WatchEvent::Kind::changed, std::move(path)};
    default:
      return std::nullopt;
  }
}

}  // namespace nodepool::coordination::zookeeper
