#include "cli/explanations.h"

#include <ostream>
#include <utility>

#include "cli/each.h"
#include "report/rendering/explanation_text.h"

namespace nodepool::cli {

namespace {

// The progress of printing several explanations.
struct Printed {
  bool json = false;
  bool is_first = true;
};

Task<int> explain_and_print(Context& context, std::string subject, const Explaining& explain,
                            Printed& printed) {
  Task<report::Explanation> explaining = explain(std::move(subject));
  const report::Explanation explanation = co_await std::move(explaining);
  if (printed.json) {
    context.out << (printed.is_first ? "" : ", ") << report::explanation_json(explanation);
  } else {
    context.out << (printed.is_first ? "" : "\n") << report::explanation_text(explanation);
  }
  printed.is_first = false;
  co_return 0;
}

}  // namespace

Task<int> print_explanations(Context& context, std::vector<std::string> subjects, bool json,
                             Explaining explain) {
  Printed printed{.json = json};
  const Act act = [&context, &explain, &printed](std::string subject) {
    return explain_and_print(context, std::move(subject), explain, printed);
  };
  if (json) context.out << '[';
  const int status = co_await for_each(context, std::move(subjects), act);
  if (json) context.out << "]\n";
  co_return status;
}

}  // namespace nodepool::cli
