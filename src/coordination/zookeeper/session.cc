#include "coordination/zookeeper/session.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <stdexcept>

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "async/live_tasks.h"
#include "async/parking.h"
#include "coordination/zookeeper/arguments.h"
#include "coordination/zookeeper/errors.h"
#include "coordination/zookeeper/tls.h"

namespace nodepool::coordination::zookeeper {

using Access = Request::Access;
using Kind = StoreError::Kind;

namespace {

// The tasks handle failures of servers and the network. Any other error is a defect or a lack of
// memory and ends the process, so that the store does not hang silently.
void fail_loudly(const std::string& name, const std::string& error) {
  throw std::runtime_error("ZooKeeper store, task '" + name + "' failed: " + error);
}

// Null: plain text.
std::shared_ptr<TlsClient> tls_client(const ZooKeeperOptions& options) {
  if (!options.tls) return nullptr;
  return std::make_shared<TlsClient>(make_tls_client(*options.tls, options.verify_hostname));
}

// A task that waits for its response.
struct Waiter {
  explicit Waiter(const async::Executor& executor) : done(executor) {}

  async::ParkedTask done;
  std::exception_ptr failure;
};

}  // namespace

Session::Session(async::Runtime runtime, ZooKeeperOptions options)
    : runtime_(runtime),
      options_(std::move(options)),
      paths_(options_.chroot),
      acl_(options_.digest ? acl_of(*options_.digest) : Acl()),
      servers_(options_.servers, runtime.random),
      tls_(tls_client(options_)),
      timeout_(options_.session_timeout),
      watches_([this](const std::string& root) { unwatch(root); }),
      scope_(runtime, fail_loudly) {}

Task<std::shared_ptr<Session>> Session::open(async::Runtime runtime, ZooKeeperOptions options) {
  auto session = std::make_shared<Session>(runtime, std::move(options));
  if (!co_await session->try_all_servers()) {
    throw store_error(Kind::disconnected, {}, session->problem_);
  }
  session->scope_.spawn("run", session->run());
  session->scope_.spawn("fail late requests", session->refuse_late());
  co_return session;
}

Task<> Session::close(std::shared_ptr<Session> self) {
  if (std::exchange(self->closing_, true)) co_return;
  std::exception_ptr failure;
  if (self->state_ == SessionState::connected) {
    try {
      std::function<void(const ReplyHeader&, Reader&)> read = [](const ReplyHeader& header,
                                                                 Reader&) {
        require_ok(header.error, OpCode::close_session, "/");
      };
      Task<> ending = exchange(self, Access::write, "/", close_request(), std::move(read));
      co_await std::move(ending);
    } catch (const StoreError&) {
      failure = std::current_exception();
    }
  } else if (self->state_ == SessionState::suspended) {
    failure = std::make_exception_ptr(store_error(
        Kind::disconnected, "/", "the session remains until its timeout: " + self->problem_));
  }
  if (self->connection_) self->connection_->close();
  co_await self->scope_.stop();
  self->pipeline_.refuse_all(Kind::closed);
  self->watches_.clear();
  self->enter(SessionState::closed);
  if (failure) std::rethrow_exception(failure);
}

void Session::abandon() {
  closing_ = true;
  state_ = SessionState::closed;
  // Cancel on the loop: a store may be destroyed while the loop does not run, and then Asio would
  // pass the cancellation to tasks that may have ended when it arrives.
  boost::asio::post(runtime_.executor, [self = shared_from_this()] { self->scope_.cancel(); });
  if (connection_) connection_->close();
  watches_.clear();
  session_handlers_.clear();
  pipeline_.refuse_all(Kind::closed);
}

// --- Requests

void Session::require_open(const std::string& path) const {
  if (closing_) throw store_error(Kind::closed, path);
  if (state_ == SessionState::expired) throw store_error(Kind::session_expired, path);
}

Task<> Session::exchange(std::shared_ptr<Session> self, Access access, std::string path,
                         std::string frame, std::function<void(const ReplyHeader&, Reader&)> read,
                         std::vector<std::string> changes) {
  require_sendable(path, frame);
  const auto waiter = std::make_shared<Waiter>(self->runtime_.executor);
  Request request;
  request.access = access;
  request.path = path;
  request.frame = std::move(frame);
  request.changes = std::move(changes);
  request.deadline = self->runtime_.clock.now() + self->timeout_;
  request.on_response = [waiter, read = std::move(read)](const ReplyHeader& header, Reader& body) {
    try {
      read(header, body);
    } catch (const StoreError&) {
      waiter->failure = std::current_exception();
    }
    waiter->done.wake();
  };
  request.failed = [waiter](const StoreError& error) {
    waiter->failure = std::make_exception_ptr(error);
    waiter->done.wake();
  };
  self->submit(std::move(request));
  const async::WaitsFor waits(co_await boost::asio::this_coro::executor,
                              access == Access::read ? "store: read" : "store: write", path);
  co_await waiter->done.park_through_cancellation();
  if (waiter->failure) std::rethrow_exception(waiter->failure);
}

void Session::submit(Request request) {
  pipeline_.add(std::move(request));
  if (state_ == SessionState::suspended) {
    blocked_.set();
  } else {
    outgoing_.set();
  }
}

Task<> Session::refuse_late() {
  const auto self = shared_from_this();
  while (true) {
    co_await blocked_.wait();
    while (state_ == SessionState::suspended && !pipeline_.has_no_waiting()) {
      co_await runtime_.clock.sleep_until(pipeline_.next_deadline());
      if (state_ == SessionState::suspended) {
        pipeline_.refuse_late(runtime_.clock.now(), problem_);
      }
    }
  }
}

std::int64_t Session::now() const {
  return static_cast<std::int64_t>(runtime_.clock.wall_seconds() * 1000);
}

// --- Watches and listeners

Request Session::authentication(const DigestAuth& digest) {
  Request request;
  request.frame = auth_request(digest);
  request.on_response = [user = digest.user](const ReplyHeader& header, Reader&) {
    if (header.error == kOk) return;
    throw ConnectionError(error_for(header.error, OpCode::auth, user).what());
  };
  return request;
}

Request Session::watch_request(const std::string& root) {
  Request request;
  request.path = root;
  request.frame = add_watch_request(paths_.to_server(root));
  request.on_response = [this, root, latest = watches_.latest()](const ReplyHeader& header,
                                                                 Reader&) {
    if (header.error != kOk) {
      throw ConnectionError(error_for(header.error, OpCode::add_watch, root).what());
    }
    watches_.begin(root, latest);
  };
  return request;
}

Subscription Session::watch(const std::string& root, WatchHandler handler) {
  Subscription subscription = watches_.add(root, std::move(handler));
  // A new connection sets all watches.
  if (state_ == SessionState::connected && !closing_) submit(watch_request(root));
  return subscription;
}

void Session::unwatch(const std::string& root) {
  if (state_ != SessionState::connected || closing_) return;
  Request request;
  request.path = root;
  request.frame = remove_watch_request(paths_.to_server(root));
  submit(std::move(request));
}

Subscription Session::on_session(SessionHandler handler) {
  std::erase_if(session_handlers_, [](const auto& entry) { return entry.expired(); });
  auto entry = std::make_shared<SessionHandler>(std::move(handler));
  session_handlers_.push_back(entry);
  return entry;
}

void Session::enter(SessionState state) {
  state_ = state;
  const auto handlers = session_handlers_;  // a handler may register another
  for (const auto& weak : handlers) {
    if (const auto handler = weak.lock()) (*handler)(state);
  }
}

// --- Reaching a server

Task<> Session::run() {
  const auto self = shared_from_this();
  while (true) {
    const async::Clock::TimePoint begun = runtime_.clock.now();
    co_await serve();
    lose_connection();
    if (closing_) co_return;
    // A server may accept each connection and refuse what is sent on it, such as a request that is
    // too large for it.
    if (runtime_.clock.now() - begun >= short_lived_.pause()) {
      short_lived_.reset();
    } else {
      co_await runtime_.clock.sleep_for(short_lived_.next());
    }
    co_await reconnect();
  }
}

Task<> Session::reconnect() {
  ReconnectBackoff backoff(runtime_.random);
  while (!co_await try_all_servers()) {
    Task<bool> comparing = has_other_data(servers_.next());
    if (co_await std::move(comparing)) {
      lose_session();
    } else {
      co_await runtime_.clock.sleep_for(backoff.next());
    }
  }
}

Task<bool> Session::try_all_servers() {
  std::string problem;
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    const Server server = servers_.next();
    if (co_await try_server(server)) co_return true;
    problem += (problem.empty() ? "" : "; ") + problem_;
  }
  problem_ = problem;
  co_return false;
}

Task<bool> Session::try_server(Server server) {
  while (true) {
    try {
      std::vector<ResolvedServer> addresses = co_await look_up(server);
      ConnectParameters parameters{credentials_, last_zxid_, options_.session_timeout};
      const std::shared_ptr<TlsClient> tls = tls_;  // reconfigure() may replace it
      Task<OpenedConnection> opening =
          open_connection(runtime_.clock, options_.connect_timeout, std::move(addresses), tls.get(),
                          std::move(parameters));
      OpenedConnection opened = co_await std::move(opening);
      if (closing_) throw async::Cancelled();
      if (opened.reply.timeout_ms > 0) {
        server_ = to_string(server);
        adopt(std::move(opened));
        co_return true;
      }
      // Request a new session from the same server.
      if (credentials_.session_id == 0)
        throw ConnectionError(to_string(server) + ": the server opened no session");
      lose_session();
    } catch (const ConnectionError& error) {
      problem_ = error.what();
      co_return false;
    }
  }
}

// Whether the server's data are not those of this session: they were replaced, or it belongs to
// another ensemble. If its transactions are older than the session's latest one, it closes the
// connection without a reply, as without a quorum. It then accepts a new session, whose end is a
// transaction: with the same data it is later than all that this session has seen. Only after the
// timeout: until then the session may live on a server that is out of reach.
Task<bool> Session::has_other_data(Server server) {
  const bool may_live = runtime_.clock.now() < last_received_ + timeout_;
  if (credentials_.session_id == 0 || may_live) co_return false;
  try {
    Task<std::int64_t> asking = ask_latest_transaction(std::move(server));
    const std::int64_t latest = co_await std::move(asking);
    co_return latest > 0 && latest < last_zxid_;
  } catch (const ConnectionError&) {
    co_return false;
  }
}

Task<std::int64_t> Session::ask_latest_transaction(Server server) {
  std::vector<ResolvedServer> addresses = co_await look_up(std::move(server));
  const std::shared_ptr<TlsClient> tls = tls_;  // reconfigure() may replace it
  Task<std::int64_t> asking =
      latest_transaction(runtime_.clock, options_.connect_timeout, std::move(addresses), tls.get(),
                         options_.session_timeout);
  const std::int64_t latest = co_await std::move(asking);
  if (closing_) throw async::Cancelled();
  co_return latest;
}

void Session::adopt(OpenedConnection opened) {
  connection_ = std::move(opened.connection);
  is_broken_ = false;
  received_ = std::move(opened.received);
  credentials_ = std::move(opened.reply.credentials);
  timeout_ = std::chrono::milliseconds(opened.reply.timeout_ms);
  last_received_ = last_sent_ = runtime_.clock.now();
  // Sync first, so that the server catches up with other servers: these may still replicate a write
  // whose outcome is unknown.
  std::vector<Request> first;
  if (options_.digest) first.push_back(authentication(*options_.digest));
  first.emplace_back().frame = sync_request(paths_.to_server("/"));
  for (const std::string& root : watches_.roots()) first.push_back(watch_request(root));
  pipeline_.add_in_front(std::move(first));
  outgoing_.set();
  enter(SessionState::connected);
}

void Session::lose_connection() {
  end_move();
  pipeline_.connection_lost(problem_);
  watches_.lose();
  held_events_.clear();
  // There will be no other connection, so the close request is not sent either.
  if (closing_) return pipeline_.refuse_all(Kind::disconnected);
  if (!pipeline_.has_no_waiting()) blocked_.set();
  enter(SessionState::suspended);
}

void Session::lose_session() {
  credentials_ = {};
  last_zxid_ = 0;
  pipeline_.refuse_all(Kind::session_expired);
  enter(SessionState::expired);
}

void Session::reconfigure(const ZooKeeperOptions& options) {
  ServerList servers(options.servers, runtime_.random);
  if (tls_ && options.tls) tls_ = tls_client(options);
  servers_ = std::move(servers);
  end_move();
  if (state_ != SessionState::connected || closing_) return;
  const bool is_listed = std::ranges::any_of(
      options.servers, [this](const Server& server) { return to_string(server) == server_; });
  if (!is_listed) return scope_.spawn("move to another server", move(move_));
  if (options.verify_hostname && !name_mismatch().empty()) abort_connection(name_mismatch());
}

void Session::end_move() {
  ++move_;
  kept_server_problem_.clear();
}

// Leaves a server that is no longer listed when a listed one responds: a wrong list does not end a
// working connection. Only a new session shows that it responds, because a session that is resumed
// leaves its server. Ends when `number` is not the number of the latest move.
Task<> Session::move(std::uint64_t number) {
  const auto self = shared_from_this();
  ReconnectBackoff backoff(runtime_.random);
  while (number == move_) {
    std::string problem;
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      bool responds = true;
      try {
        Task<std::int64_t> asking = ask_latest_transaction(servers_.next());
        co_await std::move(asking);
      } catch (const ConnectionError& error) {
        responds = false;
        problem += (problem.empty() ? "" : "; ") + std::string(error.what());
      }
      if (number != move_) co_return;
      if (!responds) continue;
      servers_.repeat();
      co_return abort_connection(server_ + ": no longer in the configured servers");
    }
    kept_server_problem_ = server_ + " is no longer configured, and stays in use because no " +
                           "configured server responds: " + problem;
    co_await runtime_.clock.sleep_for(backoff.next());
  }
}

// --- While connected

Task<> Session::serve() {
  async::TaskScope tasks(runtime_, fail_loudly);
  tasks.spawn("write requests", until_lost(write_requests(), tasks));
  tasks.spawn("read replies", until_lost(read_replies(), tasks));
  tasks.spawn("keep alive", until_lost(keep_alive(), tasks));
  co_await tasks.join();
}

Task<> Session::until_lost(Task<> work, async::TaskScope& tasks) {
  const auto self = shared_from_this();
  try {
    co_await std::move(work);
  } catch (const ConnectionError& error) {
    abort_connection(error.what());
  } catch (const MalformedMessage& error) {
    abort_connection(std::string("the server sent ") + error.what());
  } catch (const async::Cancelled&) {
    // Another task has failed, or the store is being closed.
    connection_->close();
  }
  tasks.cancel();
}

// Ends the connection. Keeps the first reason, because later failures are consequences.
void Session::abort_connection(std::string reason) {
  if (!std::exchange(is_broken_, true)) problem_ = std::move(reason);
  connection_->close();
}

Task<> Session::write_requests() {
  while (true) {
    while (!pipeline_.has_no_waiting()) {
      // Also send the requests of this iteration of the loop.
      co_await boost::asio::post(boost::asio::use_awaitable);
      if (is_broken_) co_return;  // leave them for the next connection
      const std::vector<std::shared_ptr<const Request>> sending = pipeline_.send_some();
      std::vector<std::string_view> pieces;
      pieces.reserve(sending.size());
      for (const auto& request : sending) pieces.emplace_back(request->frame);
      last_sent_ = runtime_.clock.now();
      co_await connection_->write(std::move(pieces));
    }
    co_await outgoing_.wait();
  }
}

Task<> Session::read_replies() {
  const async::WaitsFor waits(co_await boost::asio::this_coro::executor, "a message from", server_);
  while (true) {
    while (const auto message = received_.next()) take(*message);
    const std::span<char> space = received_.space();
    received_.filled(co_await connection_->read_some(space));
    last_received_ = runtime_.clock.now();
  }
}

void Session::take(std::string_view message) {
  if (state_ == SessionState::closed) return;
  Reader reader(message);
  const ReplyHeader header = read_reply_header(reader);
  if (header.zxid > 0) last_zxid_ = header.zxid;
  if (header.xid == kPingXid) return;
  if (header.xid != kWatchEventXid) {
    pipeline_.deliver_response(header, reader);
    if (!pipeline_.has_no_waiting()) outgoing_.set();  // reads of a failed multiRead
    deliver_held_events();
    if (ends_connection(header.error)) throw ConnectionError("the server does not own the session");
    return;
  }
  std::optional<WatchEvent> event = read_watch_event(reader);
  if (!event) return;
  event->path = paths_.from_server(event->path);
  held_events_.push_back(*std::move(event));
  deliver_held_events();
}

// A server sends the event of an own write just before the response. The response is delivered
// first, because it tells the writer more than the event. Events keep their order.
void Session::deliver_held_events() {
  while (!held_events_.empty() && !pipeline_.is_changing(held_events_.front().path)) {
    const WatchEvent event = std::move(held_events_.front());
    held_events_.pop_front();
    watches_.notify(event);
  }
}

// Sends pings. A connection without messages for two thirds of the timeout is dead; the last third
// is left to resume the session on another server.
Task<> Session::keep_alive() {
  const async::Duration third = timeout_ / 3;
  while (true) {
    co_await runtime_.clock.sleep_until(std::min(last_received_ + 2 * third, last_sent_ + third));
    const async::Clock::TimePoint now = runtime_.clock.now();
    if (now >= last_received_ + 2 * third) throw ConnectionError("the server does not respond");
    if (now >= last_sent_ + third) {
      last_sent_ = now;
      Request ping;
      ping.is_ping = true;
      ping.frame = ping_request();
      submit(std::move(ping));
    }
  }
}

}  // namespace nodepool::coordination::zookeeper
