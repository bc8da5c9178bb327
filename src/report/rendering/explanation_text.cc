#include "report/rendering/explanation_text.h"

#include <fmt/format.h>

#include "model/node.h"

namespace nodepool::report {

namespace {

using model::json_string;

// The column at which texts with a name begin, so that they line up; longer names precede a space.
constexpr std::size_t kNameEnd = 14;

void render(std::string& text, const Statements& statements, std::size_t indent) {
  for (const Statement& statement : statements) {
    text.append(indent, ' ');
    if (!statement.name.empty()) {
      const std::size_t width = kNameEnd > indent ? kNameEnd - indent - 1 : 0;
      text += fmt::format("{:<{}} ", statement.name, width);
    }
    text.append(statement.text).append("\n");
    render(text, statement.details, indent + 2);
  }
}

std::string json_of(const Statements& statements) {
  std::string text = "[";
  for (const Statement& statement : statements) {
    if (text.size() > 1) text += ", ";
    text += fmt::format(R"({{"key": {}, "name": {}, "text": {}, "details": {}}})",
                        json_string(statement.key).text, json_string(statement.name).text,
                        json_string(statement.text).text, json_of(statement.details));
  }
  return text + "]";
}

}  // namespace

std::string explanation_text(const Explanation& explanation) {
  std::string text;
  render(text, explanation.statements, 0);
  if (explanation.omitted > 0) text += fmt::format("  … and {} more\n", explanation.omitted);
  for (const Explanation& other : explanation.others) {
    text.append("\n").append(explanation_text(other));
  }
  return text;
}

std::string explanation_json(const Explanation& explanation) {
  std::string others;
  for (const Explanation& other : explanation.others) {
    if (!others.empty()) others += ", ";
    others += explanation_json(other);
  }
  return fmt::format(R"({{"statements": {}, "others": [{}], "omitted": {}}})",
                     json_of(explanation.statements), others, explanation.omitted);
}

}  // namespace nodepool::report
