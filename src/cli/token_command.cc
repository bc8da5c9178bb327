#include <ostream>

#include "api/token_file.h"
#include "cli/commands.h"

namespace nodepool::cli {

int perform(Context& context, const Arguments& /*arguments*/, const CreateToken& command,
            const std::shared_ptr<telemetry::Log>& /*log*/) {
  const std::string token = api::new_token();
  const api::TokenEntry entry{.name = command.name,
                              .scope = command.scope,
                              .hash = api::hash_of(token),
                              .tenant = command.tenant,
                              .labels = command.labels,
                              .priorities = command.priorities,
                              .max_nodes = command.max_nodes,
                              .max_lease = command.max_lease,
                              .expires = command.expires};
  const std::string lines = api::to_yaml(entry);
  // Validates the entry as the launcher does.
  api::Tokens::parse("tokens:\n" + lines, "token-create");
  context.out << "Token: " << token << "\n\nEntry for the token file, below `tokens:`\n\n" << lines;
  return 0;
}

}  // namespace nodepool::cli
