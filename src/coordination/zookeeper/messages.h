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
// Responses come in the order of the requests, each with its xid. Between them, a server sends
// events of watches with an xid of their own (kWatchEventXid). An event comes before the response
// to any read that shows the change.
namespace nodepool::coordination::zookeeper {

inline constexpr std::int32_t kWatchEventXid = -1;
inline constexpr std::int32_t kPingXid = -2;

// --- Opening a session

// The credentials to resume a session on another connection.
struct DigestCredentials {
  std::int64_t session_id = 0;  // 0: request a new session
  std::string password = std::string(16, '\0');
};

std::string connect_request(const DigestCredentials& credentials, std::int64_t last_zxid,
                            std::int32_t timeout_ms);

struct ConnectReply {
  std::int32_t timeout_ms = 0;  // as the server granted it; 0: the session has expired
  DigestCredentials credentials;
};

ConnectReply read_connect_reply(Reader reader);

// --- Access lists

// The identity with all permissions on a node. By default all clients, because TLS certificates
// restrict the access to an installation.
struct Acl {
  std::string scheme = "world";
  std::string id = "anyone";
};

// The access list for clients that know the user's password. The ACL contains a digest of it.
Acl acl_of(const DigestAuth& digest);

// --- Requests. Each function returns a whole frame whose xid is 0: see set_xid().

std::string auth_request(const DigestAuth& digest);
std::string create_request(std::string_view path, std::string_view data, CreateMode mode,
                           const Acl& acl);
std::string get_request(std::string_view path);
std::string exists_request(std::string_view path);
std::string set_request(std::string_view path, std::string_view data, std::int32_t version);
std::string remove_request(std::string_view path, std::int32_t version);
std::string children_request(std::string_view path);
// The server responds when it has all changes that were committed before the request.
std::string sync_request(std::string_view path);
// A persistent recursive watch; setting it twice is harmless.
std::string add_watch_request(std::string_view path);
std::string remove_watch_request(std::string_view path);
std::string ping_request();
std::string close_request();

void set_xid(std::string& frame, std::int32_t xid);

// --- Responses

struct ReplyHeader {
  std::int32_t xid = 0;
  std::int64_t zxid = 0;   // the server's latest transaction; 0 or less: unknown
  std::int32_t error = 0;  // see errors.h
};

ReplyHeader read_reply_header(Reader& reader);
Stat read_stat(Reader& reader);
// The response to a create: the path, then the stat.
OperationResult read_created(Reader& reader);
// The response to a get.
Entry read_entry(Reader& reader);

// A watch event with the server's path. Returns nothing for events that are ignored: changes of the
// connection, and kinds of events that these watches do not request.
std::optional<WatchEvent> read_watch_event(Reader& reader);

// --- Parts of several messages

// The body of a create: path, data, access list, mode.
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
  create2 = 15,  // a create whose response has the stat
  remove_watches = 18,
  multi_read = 22,  // since ZooKeeper 3.6
  auth = 100,
  add_watch = 106,  // since ZooKeeper 3.6
  close_session = -11,
  error = -1,  // in responses to multi
};

// A frame begun for this type of request, xid 0.
Writer begin_request(OpCode type);

}  // namespace nodepool::coordination::zookeeper
