#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "async/event.h"
#include "async/runtime.h"
#include "async/task_scope.h"
#include "coordination/zookeeper/handshake.h"
#include "coordination/zookeeper/paths.h"
#include "coordination/zookeeper/pipeline.h"
#include "coordination/zookeeper/server_list.h"
#include "coordination/zookeeper/watches.h"

namespace nodepool::coordination::zookeeper {

// Runs a store on the event loop: keeps a connection to a server and the session alive, passes
// requests and responses, and notifies watches. Its tasks keep it alive, so a store may be
// destroyed while they are still ending.
class Session : public std::enable_shared_from_this<Session> {
 public:
  // Throws like open_store().
  static Task<std::shared_ptr<Session>> open(async::Runtime runtime, ZooKeeperOptions options);

  // For open() only.
  Session(async::Runtime runtime, ZooKeeperOptions options);

  // Sends the request in `frame` and returns the result of `read(header, Reader&)`, which runs when
  // the response arrives and may throw StoreError. `path` is for errors. Events of the nodes whose
  // data it `changes` are delivered after the response.
  template <typename Read>
  static Task<std::invoke_result_t<Read&, const ReplyHeader&, Reader&>> perform(
      std::shared_ptr<Session> self, Request::Access access, std::string path, std::string frame,
      Read read, std::vector<std::string> changes = {}) {
    using Result = std::invoke_result_t<Read&, const ReplyHeader&, Reader&>;
    self->require_open(path);
    // Shared, because the task may be destroyed while its request is pending.
    auto result = std::make_shared<std::optional<Result>>();
    std::function<void(const ReplyHeader&, Reader&)> keep =
        [result, read = std::move(read)](const ReplyHeader& header, Reader& body) mutable {
          result->emplace(read(header, body));
        };
    Task<> exchanging = exchange(std::move(self), access, std::move(path), std::move(frame),
                                 std::move(keep), std::move(changes));
    co_await std::move(exchanging);
    co_return std::move(**result);
  }

  // Throws closed, or session_expired while there is no session.
  void require_open(const std::string& path) const;

  Subscription watch(const std::string& root, WatchHandler handler);
  Subscription on_session(SessionHandler handler);
  SessionState state() const { return state_; }
  const DigestCredentials& credentials() const { return credentials_; }
  const Paths& paths() const { return paths_; }
  // The access list of created nodes.
  const Acl& acl() const { return acl_; }
  // As in ZooKeeperStore.
  void reconfigure(const ZooKeeperOptions& options);
  const std::string& problem() const { return problem_; }
  const std::string& server() const { return server_; }
  const std::string& kept_server_problem() const { return kept_server_problem_; }
  const std::string& name_mismatch() const { return connection_->name_mismatch(); }

  // Milliseconds since the epoch.
  std::int64_t now() const;

  static Task<> close(std::shared_ptr<Session> self);

  // Drops everything, like the death of the process.
  void abandon();

 private:
  static Task<> exchange(std::shared_ptr<Session> self, Request::Access access, std::string path,
                         std::string frame, std::function<void(const ReplyHeader&, Reader&)> read,
                         std::vector<std::string> changes = {});
  void submit(Request request);

  // Connecting to a server.
  Task<> run();
  Task<> reconnect();
  Task<bool> try_all_servers();
  Task<bool> try_server(Server server);
  Task<bool> has_other_data(Server server);
  Task<std::int64_t> ask_latest_transaction(Server server);
  Task<> move(std::uint64_t number);
  void end_move();
  void adopt(OpenedConnection opened);
  void lose_connection();
  void lose_session();
  Task<> refuse_late();

  // While connected.
  Task<> serve();
  Task<> until_lost(Task<> work, async::TaskScope& tasks);
  void abort_connection(std::string reason);
  Task<> write_requests();
  Task<> read_replies();
  Task<> keep_alive();
  void take(std::string_view message);
  void deliver_held_events();

  static Request authentication(const DigestAuth& digest);
  Request watch_request(const std::string& root);
  void unwatch(const std::string& root);
  void enter(SessionState state);

  async::Runtime runtime_;
  const ZooKeeperOptions options_;
  const Paths paths_;
  const Acl acl_;
  ServerList servers_;
  ReconnectBackoff short_lived_{runtime_.random};  // after connections that did not last
  std::shared_ptr<TlsClient> tls_;                 // null: plain text

  SessionState state_ = SessionState::suspended;
  bool closing_ = false;
  DigestCredentials credentials_;
  async::Duration timeout_{};   // as granted
  std::int64_t last_zxid_ = 0;  // the latest one from a server
  std::string problem_;         // why there is no connection

  std::unique_ptr<Connection> connection_;
  bool is_broken_ = false;  // problem_ says why
  std::string server_;      // of the latest connection
  std::uint64_t move_ = 0;  // to listed servers: the number of the latest one, in progress or not
  std::string kept_server_problem_;
  FrameBuffer received_;
  async::Clock::TimePoint last_received_;
  async::Clock::TimePoint last_sent_;

  Pipeline pipeline_;
  async::Event outgoing_{"a request to send to ZooKeeper"};
  async::Event blocked_{"a request without a ZooKeeper connection"};
  Watches watches_;
  std::deque<WatchEvent> held_events_;  // until the response to an own write
  std::vector<std::weak_ptr<SessionHandler>> session_handlers_;

  async::TaskScope scope_;
};

}  // namespace nodepool::coordination::zookeeper
