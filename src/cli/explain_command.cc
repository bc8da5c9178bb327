#include <ostream>
#include <utility>

#include "cli/commands.h"
#include "cli/each.h"
#include "report/rendering/explanation_text.h"

namespace nodepool::cli {

namespace {

Task<int> explain_and_print(Context& context, Installation& installation, std::string subject,
                            const Explain& command, bool& is_first) {
  const report::Explanation explanation =
      co_await installation.explain(std::move(subject), command.online);
  if (command.json) {
    context.out << (is_first ? "" : ", ") << report::explanation_json(explanation);
  } else {
    context.out << (is_first ? "" : "\n") << report::explanation_text(explanation);
  }
  is_first = false;
  co_return 0;
}

}  // namespace

Task<int> perform(Context& context, Installation& installation, Explain command) {
  bool is_first = true;
  const Act act = [&context, &installation, &command, &is_first](std::string subject) {
    return explain_and_print(context, installation, std::move(subject), command, is_first);
  };
  if (command.json) context.out << '[';
  const int status = co_await for_each(context, command.subjects, act);
  if (command.json) context.out << "]\n";
  co_return status;
}

}  // namespace nodepool::cli
