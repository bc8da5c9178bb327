#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <string_view>
#include <vector>

#include "cli/declaration.h"
#include "cli/manual/completion.h"

namespace nodepool::cli {

namespace {

constexpr std::string_view kZshFunctions = R"zsh(#compdef nodepool
# Completion of nodepool's commands in zsh. Generated from their declarations.

_nodepool_names() {
    local -a names
    names=("${(@f)$(_call_program names nodepool ${1:q} -o name 2>/dev/null)}")
    compadd -a names
}
)zsh";

// For single quotes; characters that are special to _arguments are escaped.
std::string quoted(std::string_view text, std::string_view special) {
  std::string result;
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
      continue;
    }
    if (special.contains(c)) result += '\\';
    result += c;
  }
  return result;
}

std::string zsh_action(const ArgumentValue& value) {
  if (value.is_file) return "_files";
  if (!value.words.empty()) return fmt::format("({})", fmt::join(value.words, " "));
  if (!value.listed_by.empty()) return "_nodepool_names " + value.listed_by;
  return " ";
}

// Specifications for _arguments: '-c[help]:VALUE:_files'.
std::string specifications(const std::vector<Option>& options, std::string_view indent) {
  std::string text;
  for (const Option& option : options) {
    std::string value;
    if (!option.value.is_none()) {
      value = fmt::format(":{}:{}", quoted(option.value.usage(), ":"), zsh_action(option.value));
    }
    for (const std::string& name : names_of(option)) {
      text += fmt::format("{}'{}{}[{}]{}'\n", indent, option.may_repeat ? "*" : "", name,
                          quoted(option.help, "[]\\"), value);
    }
  }
  return text;
}

std::string operand_specifications(const Declaration& declaration, std::string_view indent) {
  using Count = Operand::Count;
  std::string text;
  std::size_t position = 0;
  for (const Operand& operand : declaration.operands) {
    ++position;
    const bool many = operand.count == Count::several || operand.count == Count::any;
    text += fmt::format("{}'{}:{}:{}'\n", indent, many ? "*" : std::to_string(position),
                        quoted(operand.value.usage(), ":"), zsh_action(operand.value));
  }
  return text;
}

std::string zsh_case(const Declaration& declaration, std::string_view name,
                     std::string_view indent) {
  const std::string deeper = std::string(indent) + "    ";
  std::string arguments = specifications(declaration.options, deeper + "    ") +
                          operand_specifications(declaration, deeper + "    ");
  for (std::size_t end = arguments.find('\n'); end != std::string::npos;
       end = arguments.find('\n', end + 3)) {
    arguments.replace(end, 1, " \\\n");
  }
  if (arguments.ends_with(" \\\n")) arguments.erase(arguments.size() - 3);
  if (declaration.name == "help") {
    return fmt::format("{}{}) _describe -t commands command commands ;;\n", indent, name);
  }
  return fmt::format("{}{})\n{}_arguments $common{} ;;\n", indent, name, deeper,
                     arguments.empty() ? "" : " \\\n" + arguments);
}

}  // namespace

std::string zsh_completion() {
  std::string commands;
  std::string cases;
  std::map<std::string, std::string> nested;  // cases below a command
  std::map<std::string, std::vector<std::string>> second_words;
  for (const Declaration& declaration : declarations()) {
    const std::size_t space = declaration.name.find(' ');
    const std::string first = declaration.name.substr(0, space);
    commands += fmt::format("        '{}:{}'\n", first, quoted(declaration.summary, ":\\"));
    if (space == std::string::npos) {
      cases += zsh_case(declaration, first, "        ");
    } else {
      second_words[first].push_back(declaration.name.substr(space + 1));
      nested[first] += zsh_case(declaration, declaration.name.substr(space + 1), "            ");
    }
  }
  for (const auto& [name, below] : nested) {
    cases += fmt::format(
        "        {}) _arguments -C '1: :({})' '*:: :->below'\n            case $words[1] in\n{}"
        "            esac ;;\n",
        name, fmt::join(second_words.at(name), " "), below);
  }
  return std::string(kZshFunctions) + fmt::format(R"zsh(
_nodepool() {{
    local curcontext="$curcontext" state line
    local -a common commands
    common=(
{}        '--help[Print the help of the command]'
    )
    commands=(
{}    )
    _arguments -C $common '--version[Print the version]' '1: :->command' '*:: :->arguments'
    case $state in
    command) _describe -t commands command commands ;;
    arguments)
        case $words[1] in
{}        esac ;;
    esac
}}

_nodepool "$@"
)zsh",
                                                  specifications(common_options(), "        "),
                                                  commands, cases);
}

}  // namespace nodepool::cli
