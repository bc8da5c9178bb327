#pragma once

#include <string>
#include <utility>
#include <vector>

#include "async/event_loop.h"
#include "async/runtime.h"
#include "async/task_scope.h"
#include "coordination/memory/memory_store.h"

namespace nodepool::coordination {

// A simulated process: its own loop and its own session. Its destruction is like a crash.
struct Process {
  Process(MemoryServer& server, async::Clock& clock, async::Random& random)
      : runtime{loop.executor(), clock, random},
        scope(runtime, [this](const std::string& name,
                              const std::string& error) { errors.push_back(name + ": " + error); }),
        store(server, runtime) {}

  // Runs everything that is ready.
  void poll() {
    while (loop.poll()) {
    }
  }

  template <typename T>
  T run(Task<T> task) {
    return loop.run(std::move(task));
  }
  void run(Task<> task) { loop.run(std::move(task)); }

  std::vector<std::string> errors;  // of the scope's tasks
  async::EventLoop loop;
  async::Runtime runtime;
  async::TaskScope scope;
  MemoryStore store;
};

}  // namespace nodepool::coordination
