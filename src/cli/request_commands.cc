#include <csignal>
#include <optional>
#include <ostream>
#include <stdexcept>

#include "async/signals.h"
#include "cli/commands.h"
#include "cli/lease_files.h"
#include "cli/lease_length.h"
#include "cli/lease_text.h"
#include "cli/waiting.h"
#include "requestor/lease.h"

namespace nodepool::cli {

namespace {

// The result of a request.
struct Result {
  std::optional<Answer> answer;
  std::optional<requestor::LeasedNodes> leased;
};

Task<> request_and_lease(Session& session, RequestNodes command, std::chrono::seconds length,
                         Result& result) {
  result.answer = co_await request_and_wait(session, command.labels, command.timeout);
  if (result.answer->result.kind != requestor::Result::Kind::fulfilled) co_return;
  requestor::LeaseTerms terms{.duration = length, .holder = holder_of(session.context())};
  result.leased = co_await requestor::accept_with_lease(
      session.runtime(), session.store(), result.answer->result.request, std::move(terms));
}

}  // namespace

Task<int> perform(Session& session, RequestNodes command) {
  const std::chrono::seconds length = lease_length(session.config(), command.lease);
  if (!command.key.empty()) throw std::runtime_error("--key needs the request API (--url)");
  LeaseFiles files(command.ssh_config, command.inventory);
  async::Signals signals(session.runtime().executor, {SIGINT, SIGTERM, SIGHUP});
  Result result;
  Task<> requesting = request_and_lease(session, command, length, result);
  const std::optional<int> interrupted = co_await signals.until_next(std::move(requesting));
  Context& context = session.context();
  if (result.leased) {
    print_lease(context, *result.leased, command, files);
    co_return 0;
  }
  if (interrupted) {
    context.err << "nodepool: interrupted; the request has been withdrawn\n";
    co_return 128 + *interrupted;
  }
  context.err << "nodepool: " << explain(*result.answer) << '\n';
  co_return result.answer->result.kind == requestor::Result::Kind::failed ? kNoNodes : kTimedOut;
}

}  // namespace nodepool::cli
