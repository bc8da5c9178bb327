#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "async/runtime.h"
#include "config/config.h"
#include "config/environment.h"
#include "coordination/store.h"
#include "coordination/store_use.h"
#include "driver/driver.h"

namespace nodepool::cli {

// The environment of the program. All references outlive the command.
struct Context {
  std::vector<std::string> arguments;  // without the program's name
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool err_is_terminal = false;  // show progress
  bool out_is_terminal = false;  // fit listings to its width
  // The current number of columns of the terminal; 0: unknown.
  std::function<std::size_t()> terminal_width = [] { return std::size_t{0}; };
  config::Environment environment;  // of commands that are run, and for the configuration
  std::string identity;             // the user: "ada@build1"
  std::string hostname;             // of this host, as its daemons register: "build1"
  async::EventLoop& loop;
  async::Runtime runtime;
  const driver::DriverRegistry& drivers;
  // Opens a store: the chosen one, with these servers if it is ZooKeeper. May throw.
  std::function<async::Task<std::unique_ptr<coordination::Store>>(
      config::StoreChoice, config::ZooKeeper, coordination::StoreUse)>
      open_store;

  // The holder of the leases that this program makes: "nodepool:ada@build1".
  std::string holder() const { return "nodepool:" + identity; }
};

// The user and the host of this process, as "ada@build1".
std::string process_identity();

// The host of this process, without a look-up of its name.
std::string process_hostname();

// The number of columns of the terminal on standard output; 0 if there is none.
std::size_t terminal_width();

// Performs the command in the arguments; returns the exit status, which is not 0 if Context::out
// could not be written. Errors are printed on Context::err.
int run(Context& context);

}  // namespace nodepool::cli
