#include <csignal>
#include <optional>

#include "async/signals.h"
#include "cli/commands.h"
#include "cli/lease_files.h"
#include "cli/lease_text.h"
#include "cli/waiting.h"

namespace nodepool::cli {

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
  const std::optional<requestor::LeasedNodes> leased =
      co_await obtain_nodes(context, installation, std::move(request), signals, status);
  if (leased) print_lease(context, *leased, command, files);
  co_return status;
}

}  // namespace nodepool::cli
