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

// What a MemoryStore is made of; shared with the tasks and posted calls that may be left when the
// store is gone. None of those touches the server then.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(MemoryServer& server, const async::Runtime& runtime)
      : server_(server), runtime_(runtime) {}

  // Opens a session on the server, in place of the present one if there is one.
  void open();

  const Tree& tree() const { return server_.tree(); }
  std::vector<OperationResult> write(const Transaction& transaction);

  // Calls `call` now; returns, or throws its error, at a later turn of the loop. `what` is for
  // messages.
  static Task<> exchange(std::shared_ptr<Session> self, Access access, std::string what,
                         std::function<void()> call);

  // As exchange(), with the result of `call`.
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
  void tell(SessionState state);
  void resync();

  MemoryServer& server_;
  const async::Runtime runtime_;
  std::int64_t id_ = 0;
  SessionState state_ = SessionState::connected;  // as the process has been told
  bool reachable_ = true;                         // as it is
  bool gone_ = false;                             // the process is dead
  std::uint64_t connection_ = 0;                  // what is under way is lost when this changes
  std::vector<std::weak_ptr<Watch>> watches_;
  std::vector<std::weak_ptr<SessionHandler>> session_handlers_;
};

}  // namespace nodepool::coordination::memory
