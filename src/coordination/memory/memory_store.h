#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "coordination/memory/memory_server.h"
#include "coordination/store.h"

namespace nodepool::coordination {

namespace memory {
class Session;
}

// One session on a MemoryServer. A simulated process is an event loop with its own MemoryStore.
//
// An operation acts on the tree when it is awaited and returns in a later iteration of the loop. In
// between, other processes see its effects and can change them. Wall times come from the runtime's
// clock.
class MemoryStore final : public Store {
 public:
  MemoryStore(MemoryServer& server, const async::Runtime& runtime);
  // Kills the session unless it is closed. The event loop must outlive the store.
  ~MemoryStore() override;
  MemoryStore(const MemoryStore&) = delete;
  MemoryStore& operator=(const MemoryStore&) = delete;

  Task<std::string> create(std::string path, std::string data, CreateMode mode) override;
  Task<Entry> get(std::string path) override;
  Task<std::optional<Stat>> exists(std::string path) override;
  Task<Stat> set(std::string path, std::string data, std::int32_t expected) override;
  Task<> remove(std::string path, std::int32_t expected) override;
  Task<std::vector<std::string>> children(std::string path) override;
  Task<std::vector<OperationResult>> commit(Transaction transaction) override;
  Subscription watch(std::string root, WatchHandler handler) override;
  Subscription on_session(SessionHandler handler) override;
  SessionState session_state() const override;
  std::int64_t session_id() const override;
  Task<> close() override;

  // Failures of a session, for tests.

  // Cuts the connection. Pending responses are lost, so pending writes have an unknown outcome.
  void suspend_for_tests();

  // Restores the connection: with the same session if the server still has it.
  void resume_for_tests();

  // The server ends the session: its ephemeral nodes vanish at once. The store notices it now, or
  // when it is resumed, and opens a new session.
  void expire_for_tests();

  // The process dies: tasks that wait for the store never resume, and the session's ephemeral nodes
  // vanish.
  void kill_for_tests();

  // Like kill, but the ephemeral nodes remain until the server's end_session() is called.
  void abandon_for_tests();

 private:
  std::shared_ptr<memory::Session> session_;
};

}  // namespace nodepool::coordination
