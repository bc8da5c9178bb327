#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "coordination/store.h"
#include "coordination/zookeeper/wire.h"
#include "coordination/zookeeper/zookeeper_store.h"

// The messages of ZooKeeper's client protocol that a Store needs. Source: zookeeper.jute (the
// records and the order of their fields), ZooDefs.OpCode and Watcher.Event.EventType (the numbers).
//
//   client: ConnectRequest                               server: ConnectResponse
//   client: RequestHeader {int xid, int type}, request   server: ReplyHeader {int xid, long zxid,
//                                                                 int err}, response unless err
//
// Requests are answered in order, each with its xid. A server also sends what nobody asked for,
// under an xid of its own (kWatchEventXid), between answers: a watch's event comes before the
// answer to any later read that shows the change.
namespace nodepool::coordination::zookeeper {

inline constexpr std::int32_t kWatchEventXid = -1;
inline constexpr std::int32_t kPingXid = -2;

// --- Opening a session

// What takes up a session again on another connection: whoever has it is the session's client.
struct Credentials {
  std::int64_t session_id = 0;  // 0 asks for a new session
  std::string password = std::string(16, '\0');
};

std::string connect_request(const Credentials& credentials, std::int64_t last_zxid,
                            std::int32_t timeout_ms);

struct ConnectReply {
  std::int32_t timeout_ms = 0;  // as the server granted it; 0: the session has expired
  Credentials credentials;
};

ConnectReply read_connect_reply(Reader reader);

// --- Access lists

// Who may do everything with a node: those with this identity. By default everybody, because those
// who share an installation are told apart by their TLS certificates.
struct Acl {
  std::string scheme = "world";
  std::string id = "anyone";
};

// The access list for those who know the user's password, which the node's ACL has as a digest.
Acl acl_of(const Digest& digest);

// --- Requests. Each function returns a whole frame whose xid is 0: see set_xid().

std::string auth_request(const Digest& digest);
std::string create_request(std::string_view path, std::string_view data, CreateMode mode,
                           const Acl& acl);
std::string get_request(std::string_view path);
std::string exists_request(std::string_view path);
std::string set_request(std::string_view path, std::string_view data, std::int32_t version);
std::string remove_request(std::string_view path, std::int32_t version);
std::string children_request(std::string_view path);
// Answered when the server knows all that was committed when the request came.
std::string sync_request(std::string_view path);
// A persistent recursive watch; setting it twice is harmless.
std::string add_watch_request(std::string_view path);
std::string remove_watch_request(std::string_view path);
std::string ping_request();
std::string close_request();

void set_xid(std::string& frame, std::int32_t xid);

// --- Answers

struct ReplyHeader {
  std::int32_t xid = 0;
  std::int64_t zxid = 0;   // the server's latest transaction; 0 or less: not told
  std::int32_t error = 0;  // see errors.h
};

ReplyHeader read_reply_header(Reader& reader);
Stat read_stat(Reader& reader);
// The answer to a create: the path, then the stat.
OperationResult read_created(Reader& reader);
// The answer to a get.
Entry read_entry(Reader& reader);

// What a watch tells, with the server's path; nothing if it is of no interest: a change of the
// connection or a kind of event that these watches do not ask for.
std::optional<WatchEvent> read_watch_event(Reader& reader);

// --- Parts of several messages

// What follows the header of a create: path, data, access list, mode.
void write_create(Writer& writer, std::string_view path, std::string_view data, CreateMode mode,
                  const Acl& acl);

// ZooDefs.OpCode
enum class OpCode : std::int32_t {
  create = 1,
  remove = 2,
  exists = 3,
  get_data = 4,
  set_data = 5,
  get_children = 8,
  sync = 9,
  ping = 11,
  check = 13,
  multi = 14,
  create2 = 15,  // a create whose answer has the stat
  remove_watches = 18,
  multi_read = 22,  // since ZooKeeper 3.6
  auth = 100,
  add_watch = 106,  // since ZooKeeper 3.6
  close_session = -11,
  error = -1,  // in answers to multi
};

// A frame begun for this type of request, xid 0.
Writer begin_request(OpCode type);

}  // namespace nodepool::coordination::zookeeper
