#include "cli/rendering/explanation_text.h"

#include <fmt/format.h>

namespace nodepool::cli {

namespace {

using report::Explanation;
using report::Statement;
using report::Statements;

// What texts begin behind, where they have a name: so that they stand below each other.
constexpr std::size_t kNameEnd = 14;

void render(std::string& text, const Statements& statements, std::size_t indent) {
  for (const Statement& statement : statements) {
    text.append(indent, ' ');
    if (!statement.name.empty()) {
      text += fmt::format("{:<{}}", statement.name, kNameEnd - indent);
    }
    text.append(statement.text).append("\n");
    render(text, statement.details, indent + 2);
  }
}

}  // namespace

std::string explanation_text(const Explanation& explanation) {
  std::string text;
  render(text, explanation.statements, 0);
  for (const Explanation& other : explanation.others) {
    text.append("\n").append(explanation_text(other));
  }
  if (explanation.not_shown > 0) text += fmt::format("\n… and {} more\n", explanation.not_shown);
  return text;
}

}  // namespace nodepool::cli
