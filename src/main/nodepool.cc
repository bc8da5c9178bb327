// The command line program: arguments and wiring.

#include <unistd.h>

#include <iostream>
#include <utility>

#include "async/supervisor.h"
#include "cli/context.h"
#include "drivers/registry.h"
#include "program/open_store.h"

int main(int argc, char** argv) {
  if (const auto status = nodepool::async::supervise_if_asked(argc, argv)) return *status;
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
      .out_is_terminal = ::isatty(STDOUT_FILENO) != 0,
      .terminal_width = nodepool::cli::terminal_width,
      .environment = nodepool::config::process_environment(),
      .identity = nodepool::cli::process_identity(),
      .hostname = nodepool::cli::process_hostname(),
      .loop = loop,
      .runtime = runtime,
      .drivers = drivers,
      .open_store =
          [&runtime](nodepool::config::StoreChoice choice, nodepool::config::ZooKeeper zookeeper,
                     nodepool::coordination::StoreUse use) {
            return nodepool::program::open_store(runtime, std::move(choice), std::move(zookeeper),
                                                 use);
          },
  };
  return nodepool::cli::run(context);
}
