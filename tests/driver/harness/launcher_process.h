#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "async/event_loop.h"
#include "async/task_scope.h"
#include "async/thread_pool.h"
#include "coordination/lock_sweeper.h"
#include "driver/driver.h"
#include "tests/driver/harness/installation.h"

namespace nodepool::driver::harness {

// Something that has been started: how it ended, if it has.
struct Job {
  bool ended = false;
  std::exception_ptr error;  // null: it went well

  // Rethrows the error, if any. The job must have ended.
  void result() const;
  // What it failed with; empty if it went well, or has not ended.
  std::string failure() const;
};

// A launcher's process, as far as a provider sees it: tables that follow the store, and the
// provider. Its destructor is its death, wherever it stands: its loop, and with it all suspended
// tasks, goes without running again.
class LauncherProcess {
 public:
  using MakeProvider = std::function<std::unique_ptr<Provider>(ProviderContext context)>;
  // Called before each write of a node's record by its launch; may throw.
  using BeforeSave = std::function<void(const model::Node& node)>;

  // Called when nothing can run, before time passes, as soon as the provider has been made: serves
  // what has come over its sockets, and returns whether there may be something to run now.
  using WaitForWire = std::function<bool()>;

  // Starts it; returns when the tables are complete and the provider has been started. By default
  // the provider has no sockets.
  LauncherProcess(
      Installation& installation, MakeProvider make_provider,
      WaitForWire wait_for_wire = [] { return false; });
  ~LauncherProcess();
  LauncherProcess(const LauncherProcess&) = delete;
  LauncherProcess& operator=(const LauncherProcess&) = delete;

  Provider& provider() { return *provider_; }

  // As the launcher does when its configuration has changed: another one takes its place.
  void replace_provider();

  // Begin, or go on with, the launch of a node whose record exists; in the end the record is
  // written as ready, failed or aborted, as the launcher does. The second one begins anything.
  std::shared_ptr<Job> launch(const std::string& node_id, BeforeSave before_save = {});
  std::shared_ptr<Job> begin(Task<> task);

  // As the launcher does with a node that is given up: writes it as deleting, has the machine taken
  // back, removes the record.
  std::shared_ptr<Job> reclaim(const std::string& node_id);

  // Runs a task, and everything else, until it has ended; time passes as it has to. Returns its
  // result, or throws.
  void run(Task<> task);
  template <typename T>
  T run(Task<T> task) {
    std::optional<T> result;
    auto keep = [](Task<T> inner, std::optional<T>& out) -> Task<> {
      out.emplace(co_await std::move(inner));
    };
    Task<> keeping = keep(std::move(task), result);
    run(std::move(keeping));
    return std::move(*result);
  }

  // Runs until the job has ended. Throws std::runtime_error if nothing can end it any more.
  void run_until_ended(const Job& job);

  // Runs one continuation of a task; if none can run, time passes up to the next timer, but not
  // while a call is under way on a thread. Returns false if there is nothing left that could
  // happen.
  bool step();

  // Runs what can run without time passing.
  void settle();
  // Lets time pass, from one timer to the next.
  void pass(async::Duration duration);

  // The store drops this process's session, and gives it another one.
  void lose_session() { store_.expire_for_tests(); }

  // The store is out of reach, and back in the same session.
  void cut_off() { store_.suspend_for_tests(); }
  void reconnect() { store_.resume_for_tests(); }

  // Cancels everything that has been begun, and waits for its end: an orderly stop.
  void cancel();

 private:
  class Launch;

  std::unique_ptr<Provider> new_provider();
  bool wait_for_wire();
  bool wait_for_thread();
  Task<> launch_node(std::string node_id, BeforeSave before_save);
  Task<> reclaim_node(std::string node_id);
  Task<model::Node> read(std::string node_id);

  Installation& installation_;
  MakeProvider make_provider_;
  WaitForWire wait_for_wire_;
  async::EventLoop loop_;
  async::Runtime runtime_;
  coordination::MemoryStore store_;
  coordination::LockSweeper lock_sweeper_;
  telemetry::Logger log_;
  model::NodeTable nodes_;
  model::ImageTable images_;
  async::ThreadPool threads_{1, "test"};
  std::unique_ptr<Provider> provider_;
  std::shared_ptr<const int> in_use_ =
      std::make_shared<int>();  // a copy for each call of provider_
  async::TaskScope followers_;
  std::unique_ptr<async::TaskScope> jobs_;
};

}  // namespace nodepool::driver::harness
