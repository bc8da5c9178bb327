#include "coordination/memory/session.h"

#include <exception>

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "async/live_tasks.h"
#include "async/parking.h"
#include "coordination/path.h"

namespace nodepool::coordination::memory {

namespace asio = boost::asio;
using Kind = StoreError::Kind;

void Session::open() {
  server_.end_session(id_);
  id_ = server_.open_session([weak = weak_from_this()](const std::vector<WatchEvent>& events) {
    if (const auto self = weak.lock()) self->changed(events);
  });
}

std::vector<OperationResult> Session::write(const Transaction& transaction) {
  const double now = runtime_.clock.wall_seconds();
  return server_.commit(id_, transaction, static_cast<std::int64_t>(now * 1000));
}

Task<> Session::exchange(std::shared_ptr<Session> self, Access access, std::string what,
                         std::function<void()> call) {
  const std::uint64_t connection = self->connection_;
  const std::int64_t id = self->id_;
  bool sent = false;
  std::exception_ptr failure;
  try {
    self->require_usable(what);
    sent = true;
    call();
  } catch (...) {
    failure = std::current_exception();
  }
  const async::WaitsFor waits(co_await asio::this_coro::executor,
                              access == Access::read ? "store: read" : "store: write", what);
  co_await next_turn(self);
  if (sent) self->require_answered(connection, id, access, what);
  if (failure) std::rethrow_exception(failure);
}

Task<> Session::next_turn(std::shared_ptr<Session> self) {
  co_await asio::post(asio::use_awaitable);
  if (!self->gone_) co_return;
  async::ParkedTask forever(co_await asio::this_coro::executor);
  co_await forever.park_through_cancellation();
}

void Session::require_usable(const std::string& what) const {
  if (gone_ || state_ == SessionState::closed) throw store_error(Kind::closed, what);
  if (!reachable_ || state_ == SessionState::suspended) {
    throw store_error(Kind::disconnected, what);
  }
  if (state_ == SessionState::expired || !server_.has_session(id_)) {
    throw store_error(Kind::session_expired, what);
  }
}

void Session::require_answered(std::uint64_t connection, std::int64_t id, Access access,
                               const std::string& what) const {
  if (connection == connection_) return;
  const bool known_to_be_lost = id != id_ || (reachable_ && !server_.has_session(id_));
  if (known_to_be_lost) throw store_error(Kind::session_expired, what);
  throw store_error(access == Access::read ? Kind::disconnected : Kind::unknown_outcome, what);
}

Subscription Session::watch(std::string root, WatchHandler handler) {
  require_valid_path(root);
  const auto watch = std::make_shared<Watch>(std::move(root), std::move(handler));
  std::erase_if(watches_, [](const auto& weak) { return weak.expired(); });
  watches_.push_back(watch);
  // While the server is unreachable, the watch is not set. The connection brings its resync.
  if (reachable_) deliver_later({{watch, {WatchEvent::Kind::resync, {}}}});
  return watch;
}

Subscription Session::on_session(SessionHandler handler) {
  const auto subscription = std::make_shared<SessionHandler>(std::move(handler));
  std::erase_if(session_handlers_, [](const auto& weak) { return weak.expired(); });
  session_handlers_.push_back(subscription);
  return subscription;
}

Task<> Session::close(std::shared_ptr<Session> self) {
  if (!self->gone_ && self->state_ != SessionState::closed) {
    self->server_.end_session(self->id_);
    self->state_ = SessionState::closed;
    self->later([&session = *self] { session.notify(SessionState::closed); });
  }
  co_await next_turn(self);
}

void Session::suspend() {
  if (!reachable_) return;
  reachable_ = false;
  ++connection_;
  later([this] { enter(SessionState::suspended); });
}

void Session::resume() {
  if (reachable_) return;
  reachable_ = true;
  if (!server_.has_session(id_)) {
    renew();
    return;
  }
  resync();
  later([this] { enter(SessionState::connected); });
}

void Session::expire() {
  server_.end_session(id_);
  ++connection_;
  if (reachable_) renew();
}

void Session::kill() {
  if (gone_) return;
  gone_ = true;
  server_.end_session(id_);
}

// Reports the loss of the session and opens another.
void Session::renew() {
  later([this] { enter(SessionState::expired); });
  later([this] {
    if (state_ == SessionState::closed) return;
    open();
    resync();
    enter(SessionState::connected);
  });
}

// Calls in a later iteration of the loop, unless the process is dead by then.
void Session::later(std::function<void()> call) {
  if (gone_) return;  // and possibly the loop
  asio::post(runtime_.executor, [self = shared_from_this(), call = std::move(call)] {
    if (!self->gone_) call();
  });
}

void Session::enter(SessionState state) {
  if (state_ == SessionState::closed) return;
  state_ = state;
  notify(state);
}

void Session::notify(SessionState state) {
  const auto handlers = session_handlers_;  // a handler may register another
  for (const auto& weak : handlers) {
    if (const auto handler = weak.lock()) (*handler)(state);
  }
}

void Session::changed(const std::vector<WatchEvent>& events) {
  if (!reachable_ || gone_) return;
  std::vector<Delivery> deliveries;
  for (const WatchEvent& event : events) {
    for (const auto& weak : watches_) {
      const auto watch = weak.lock();
      if (watch && is_within(event.path, watch->root)) deliveries.emplace_back(watch, event);
    }
  }
  deliver_later(std::move(deliveries));
}

void Session::resync() {
  std::vector<Delivery> deliveries;
  deliveries.reserve(watches_.size());
  for (const auto& watch : watches_) {
    deliveries.emplace_back(watch, WatchEvent{WatchEvent::Kind::resync, {}});
  }
  deliver_later(std::move(deliveries));
}

void Session::deliver_later(std::vector<Delivery> deliveries) {
  if (deliveries.empty()) return;
  later([this, connection = connection_, deliveries = std::move(deliveries)] {
    for (const Delivery& delivery : deliveries) {
      const bool lost = connection != connection_;
      if (lost || gone_ || state_ == SessionState::closed) return;
      if (const auto watch = delivery.watch.lock()) watch->handler(delivery.event);
    }
  });
}

}  // namespace nodepool::coordination::memory
