#include <fmt/format.h>

#include <ostream>
#include <stdexcept>

#include "cli/commands.h"
#include "cli/explanation/explanation.h"
#include "program/journal.h"

namespace nodepool::cli {

Task<int> perform(Session& session, Explain command) {
  const model::NodeTable* nodes = co_await session.nodes();
  const model::RequestTable* requests = co_await session.requests();
  const model::ComponentTable* components = co_await session.components();
  const history::Journal journal = program::journal_of(session.config());
  const Knowledge knowledge{session.now(),
                            *nodes,
                            *requests,
                            components->pools(),
                            session.config(),
                            [&journal](const std::string& id) { return history::entries_of(journal, id); }};
  std::vector<std::string> lines;
  if (const model::NodeRequest* request = requests->find(command.subject)) {
    lines = explain_request(knowledge, *request);
  } else if (const model::Node* node = nodes->find(command.subject)) {
    lines = explain_node(knowledge, *node);
  } else if (session.config().labels.contains(command.subject)) {
    lines = explain_label(knowledge, command.subject);
  } else {
    throw std::runtime_error(fmt::format(
        "there is no request, node or label {}; `nodepool history {}` tells of what is gone",
        command.subject, command.subject));
  }
  for (const std::string& line : lines) session.context().out << line << '\n';
  co_return 0;
}

}  // namespace nodepool::cli
