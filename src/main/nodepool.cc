// The command line program: arguments and wiring.

#include <unistd.h>

#include <iostream>
#include <stdexcept>

#include "cli/context.h"
#include "coordination/sqlite/sqlite_store.h"
#include "drivers/registry.h"

namespace {

using nodepool::async::Task;
using nodepool::config::StoreChoice;
using nodepool::coordination::Store;

Task<std::unique_ptr<Store>> open_store(nodepool::async::Runtime runtime, StoreChoice choice) {
  if (choice.kind == StoreChoice::Kind::zookeeper) {
    throw std::runtime_error(
        "this release cannot use ZooKeeper: write `store: sqlite:///path/to/nodepool.db` into the "
        "configuration, or leave `zookeeper-servers` out");
  }
  nodepool::coordination::sqlite::SqliteOptions options;
  options.path = choice.sqlite_path;
  return nodepool::coordination::sqlite::open_store(runtime, std::move(options));
}

}  // namespace

int main(int argc, char** argv) {
  nodepool::async::EventLoop loop;
  nodepool::async::SystemClock clock;
  nodepool::async::Random random = nodepool::async::Random::from_system();
  const nodepool::async::Runtime runtime{loop.executor(), clock, random};
  const nodepool::driver::DriverRegistry drivers = nodepool::drivers::all_drivers();
  nodepool::cli::Context context{
      .arguments = {argv + 1, argv + argc},
      .in = std::cin,
      .out = std::cout,
      .err = std::cerr,
      .err_is_terminal = ::isatty(STDERR_FILENO) != 0,
      .environment = nodepool::config::process_environment(),
      .identity = nodepool::cli::process_identity(),
      .loop = loop,
      .runtime = runtime,
      .drivers = drivers,
      .open_store = [&runtime](StoreChoice choice) { return open_store(runtime, choice); },
  };
  return nodepool::cli::run(context);
}
