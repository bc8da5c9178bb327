#include <fmt/format.h>

#include <csignal>
#include <exception>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include "async/signals.h"
#include "cli/commands.h"
#include "cli/lease_files.h"
#include "cli/lease_text.h"
#include "cli/waiting.h"
#include "requestor/error.h"

namespace nodepool::cli {

namespace {

// Releases a lease that could not be handed over to the user, unless other jobs with its key may
// use it. Says what has become of it.
Task<> drop_lease(Context& context, Installation& installation, std::string id, std::string key) {
  std::string failure;
  if (key.empty()) {
    try {
      co_await installation.release(id, std::nullopt);
    } catch (const async::Cancelled&) {
      throw;
    } catch (const requestor::NoSuchLease&) {
      // It has ended meanwhile.
    } catch (const std::exception& error) {
      failure = fmt::format("could not be released: {}", error.what());
    }
  } else {
    failure = "remains for other jobs with its key";
  }
  context.err << (failure.empty()
                      ? fmt::format("nodepool: lease {} has been released\n", id)
                      : fmt::format("nodepool: lease {0} {1}. Release it with `nodepool release "
                                    "{0}`\n",
                                    id, failure));
}

// Prints the lease and writes its files. The lease of a user who does not get these is dropped.
Task<> hand_over(Context& context, Installation& installation, requestor::LeasedNodes leased,
                 const RequestNodes& command, LeaseFiles& files) {
  std::exception_ptr failure;
  try {
    print_lease(context, leased, command, files);
  } catch (const std::exception&) {
    failure = std::current_exception();
  }
  if (!failure && context.out) co_return;
  co_await drop_lease(context, installation, leased.lease.id, command.key);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

Task<int> perform(Context& context, Installation& installation, RequestNodes command) {
  LeaseFiles files(command.ssh_config, command.inventory);
  Installation::Request request{.labels = command.labels,
                                .timeout = command.timeout,
                                .holder = context.holder(),
                                .lease = command.lease,
                                .key = command.key};
  int status = 0;
  async::Signals signals(context.runtime.executor,
                         async::unless_ignored({SIGINT, SIGTERM, SIGHUP}));
  std::optional<requestor::LeasedNodes> leased =
      co_await obtain_nodes(context, installation, std::move(request), signals, status);
  if (leased) co_await hand_over(context, installation, *std::move(leased), command, files);
  co_return status;
}

}  // namespace nodepool::cli
