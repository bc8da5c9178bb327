#include <fmt/format.h>

#include <ostream>
#include <stdexcept>

#include "cli/commands.h"
#include "cli/rendering/table_text.h"
#include "config/load.h"
#include "program/journal.h"
#include "report/history_listing.h"

namespace nodepool::cli {

int perform(Context& context, const Arguments& arguments, const ShowHistory& command,
            const std::shared_ptr<telemetry::Log>& /*log*/) {
  config::LoadOptions options{arguments.config, arguments.secure, context.environment,
                              context.drivers.schemas()};
  const history::Journal journal = program::journal_of(config::load(options).config);
  const std::vector<history::Entry> entries = history::entries_of(journal, command.id);
  if (entries.empty()) {
    throw std::runtime_error(
        fmt::format("the history in {} has nothing about {}", journal.directory, command.id));
  }
  const report::Table table = report::history_listing(entries);
  context.out << table_as(command.format, table) << '\n';
  return 0;
}

}  // namespace nodepool::cli
