#include "config/document.h"

#include <algorithm>
#include <utility>

#include "config/wording.h"
#include "config/yaml.h"

namespace nodepool::config {

namespace {

bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}

// The name in a reference `%(NAME)` at the start of `text`; empty if there is none.
std::string_view variable_at(std::string_view text) {
  constexpr std::size_t kBegin = 2;
  const auto is_part = [](char c) { return is_upper(c) || (c >= '0' && c <= '9') || c == '_'; };
  const std::size_t end = text.find(')', kBegin);
  if (end == std::string_view::npos) return {};
  const std::string_view name = text.substr(kBegin, end - kBegin);
  return !name.empty() && is_upper(name.front()) && std::ranges::all_of(name, is_part)
             ? name
             : std::string_view();
}

// Whether the text after `line` is in a comment.
bool is_in_comment(std::string_view line) {
  return line.starts_with('#') || line.contains(" #") || line.contains("\t#");
}

Problem unset(std::string_view name, Mark mark, std::string_view file) {
  const bool is_known = name.starts_with(kVariablePrefix);
  return {.file = std::string(file),
          .mark = mark,
          .message = "the variable " + in_quotes(name) +
                     (is_known ? " is not set in the environment" : " is not substituted"),
          .hint = is_known ? "the reference stays as it is"
                           : "only names that begin with `NODEPOOL_` are"};
}

std::vector<Problem> unset_in(std::string_view text, std::string_view file) {
  std::vector<Problem> problems;
  for (int line_number = 1; !text.empty(); ++line_number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    for (std::size_t at = line.find("%("); at != std::string_view::npos;
         at = line.find("%(", at + 1)) {
      const std::string_view name = variable_at(line.substr(at));
      if (name.empty() || is_in_comment(line.substr(0, at))) continue;
      problems.push_back(unset(name, {line_number, static_cast<int>(at) + 1}, file));
    }
  }
  return problems;
}

}  // namespace

Value parse_document(std::string text, const Environment& environment, std::string_view file,
                     std::vector<Problem>* repeated_keys) {
  const std::string filled_in = substitute(std::move(text), environment, file);
  try {
    return parse_yaml(filled_in, file, repeated_keys);
  } catch (const ConfigError& error) {
    Problem problem = error.problem();
    const std::vector<Problem> variables = unset_in(filled_in, file);
    const auto reason = std::ranges::find(variables, problem.mark.line,
                                          [](const Problem& p) { return p.mark.line; });
    if (reason == variables.end()) throw;
    problem.hint = reason->message;
    throw ConfigError(std::move(problem));
  }
}

std::vector<Problem> unset_variables(const std::string& text, const Environment& environment,
                                     std::string_view file) {
  return unset_in(substitute(text, environment, file), file);
}

}  // namespace nodepool::config
