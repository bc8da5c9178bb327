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
// An operation acts on the tree when it is awaited and answers at a later turn of the loop: until
// then the caller does not know, while other processes see and change what it did. Wall times come
// from the runtime's clock.
class MemoryStore final : public Store {
 public:
  MemoryStore(MemoryServer& server, const async::Runtime& runtime);
  // A store that has not been closed is killed. It must go before its event loop does.
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

  // What happens to a session in the field, at a test's command.

  // Cuts the connection. Answers under way are lost: a write's outcome is unknown then.
  void suspend_for_tests();

  // Restores the connection: with the same session if the server still has it.
  void resume_for_tests();

  // The server drops the session: its ephemeral nodes vanish at once. The store learns of it now,
  // or when it is resumed, and opens a new session.
  void expire_for_tests();

  // The process dies: nothing of this session is ever heard of again, tasks that wait for it never
  // resume, its ephemeral nodes vanish.
  void kill_for_tests();

  // As kill, but nobody has noticed yet: the ephemeral nodes stay until the server is told to
  // end_session().
  void abandon_for_tests();

 private:
  std::shared_ptr<memory::Session> session_;
};

}  // namespace nodepool::coordination
