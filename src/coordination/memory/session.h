#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "async/runtime.h"
#include "coordination/memory/memory_server.h"
#include "coordination/store.h"

namespace nodepool::coordination::memory {

enum class Access { read, write };

// The implementation of a MemoryStore. Shared with tasks and posted calls that may outlive the
// store; these do not touch the server then.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(MemoryServer& server, const async::Runtime& runtime)
      : server_(server), runtime_(runtime) {}

  // Opens a session on the server and replaces the current one, if any.
  void open();

  const Tree& tree() const { return server_.tree(); }
  std::vector<OperationResult> write(const Transaction& transaction);

  // Calls `call` now; returns, or throws its error, in a later iteration of the loop. `what` is for
  // messages.
  static Task<> exchange(std::shared_ptr<Session> self, Access access, std::string what,
                         std::function<void()> call);

  // Like exchange(), with the result of `call`.
  template <typename Call>
  static Task<std::invoke_result_t<Call>> perform(std::shared_ptr<Session> self, Access access,
                                                  std::string what, Call call) {
    std::optional<std::invoke_result_t<Call>> result;
    std::function<void()> keep = [&result, &call] { result.emplace(call()); };
    Task<> exchanging = exchange(std::move(self), access, std::move(what), std::move(keep));
    co_await std::move(exchanging);
    co_return std::move(*result);
  }

  Subscription watch(std::string root, WatchHandler handler);
  Subscription on_session(SessionHandler handler);
  SessionState state() const { return state_; }
  std::int64_t id() const { return id_; }

  static Task<> close(std::shared_ptr<Session> self);

  void suspend();
  void resume();
  void expire();
  void abandon() { gone_ = true; }
  void kill();

 private:
  struct Watch {
    std::string root;
    WatchHandler handler;
  };
  struct Delivery {
    std::weak_ptr<Watch> watch;
    WatchEvent event;
  };

  void require_usable(const std::string& what) const;
  void require_answered(std::uint64_t connection, std::int64_t id, Access access,
                        const std::string& what) const;
  static Task<> next_turn(std::shared_ptr<Session> self);

  void later(std::function<void()> call);
  void enter(SessionState state);
  void renew();
  void changed(const std::vector<WatchEvent>& events);
  void deliver_later(std::vector<Delivery> deliveries);
  void notify(SessionState state);
  void resync();

  MemoryServer& server_;
  const async::Runtime runtime_;
  std::int64_t id_ = 0;
  SessionState state_ = SessionState::connected;  // as the handlers know it
  bool reachable_ = true;                         // the actual state
  bool gone_ = false;                             // the process is dead
  std::uint64_t connection_ = 0;                  // a change loses pending responses
  std::vector<std::weak_ptr<Watch>> watches_;
  std::vector<std::weak_ptr<SessionHandler>> session_handlers_;
};

}  // namespace nodepool::coordination::memory
