// A process of processes_test.cc: changes a store until it is killed.
//
//   sqlite_worker STORE ACKNOWLEDGEMENTS
//
// Appends a line to the file ACKNOWLEDGEMENTS for every confirmed change.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>

#include "async/event_loop.h"
#include "async/task_scope.h"
#include "coordination/lock.h"
#include "coordination/sqlite/sqlite_store.h"

namespace nodepool::coordination::sqlite {
namespace {

class Worker {
 public:
  Worker(const async::Runtime& runtime, Store& store, const char* acknowledgements)
      : runtime_(runtime),
        store_(store),
        file_(::open(acknowledgements, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {}

  Task<> register_process() {
    std::string path = "/live/" + std::to_string(::getpid());
    co_await store_.create(std::move(path), "", CreateMode::ephemeral);
  }

  // Counts with versions: the slower process retries.
  Task<> count() {
    while (true) {
      const Entry entry = co_await store_.get("/counter");
      std::string next = std::to_string(std::stoi(entry.data) + 1);
      const std::string line = "counter " + next;
      try {
        co_await store_.set("/counter", std::move(next), entry.stat.version);
        acknowledge(line);
      } catch (const StoreError& error) {
        if (error.kind() != StoreError::Kind::bad_version) throw;
      }
    }
  }

  // Counts without versions: correct only under the lock.
  Task<> count_under_lock() {
    while (true) {
      Lock lock(store_, runtime_.random, "/lock");
      const auto deadline = runtime_.clock.now() + std::chrono::minutes(1);
      co_await lock.acquire(runtime_.clock, deadline);
      const Entry entry = co_await store_.get("/guarded");
      std::string next = std::to_string(std::stoi(entry.data) + 1);
      const std::string line = "guarded " + next;
      co_await store_.set("/guarded", std::move(next), kAnyVersion);
      acknowledge(line);
      co_await lock.release();
    }
  }

  Task<> log_events() {
    while (true) {
      const std::string path =
          co_await store_.create("/events/", "", CreateMode::persistent_sequential);
      acknowledge("event " + path);
    }
  }

 private:
  void acknowledge(std::string line) {
    line += '\n';
    if (::write(file_, line.data(), line.size()) < 0) std::abort();
  }

  async::Runtime runtime_;
  Store& store_;
  int file_;
};

Task<> work(async::Runtime runtime, SqliteOptions options, const char* acknowledgements) {
  Task<std::unique_ptr<Store>> opening = open_store(runtime, std::move(options));
  const std::unique_ptr<Store> store = co_await std::move(opening);
  Worker worker(runtime, *store, acknowledgements);
  async::TaskScope scope(runtime, [](const std::string& name, const std::string& error) {
    std::cerr << "sqlite_worker: " << name << ": " << error << std::endl;
    std::exit(1);
  });
  co_await worker.register_process();
  scope.spawn("count", worker.count());
  scope.spawn("count under lock", worker.count_under_lock());
  scope.spawn("log events", worker.log_events());
  co_await scope.join();
}

}  // namespace
}  // namespace nodepool::coordination::sqlite

int main(int argc, char** argv) {
  using namespace nodepool;
  if (argc != 3) return 2;
  async::EventLoop loop;
  async::SystemClock clock;
  async::Random random = async::Random::from_system();
  coordination::sqlite::SqliteOptions options;
  options.path = argv[1];
  try {
    loop.run(coordination::sqlite::work({loop.executor(), clock, random}, options, argv[2]));
  } catch (const std::exception& error) {
    std::cerr << "sqlite_worker: " << error.what() << std::endl;
    return 1;
  }
}
