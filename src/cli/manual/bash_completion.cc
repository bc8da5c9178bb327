#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <string_view>
#include <vector>

#include "cli/declaration.h"
#include "cli/manual/completion.h"

namespace nodepool::cli {

namespace {

// Functions that add to COMPREPLY, which bash offers.
constexpr std::string_view kBashFunctions =
    R"bash(# Completion of nodepool's commands in bash. Generated from their declarations.

# Offers the lines of the input that begin with the typed word.
_nodepool_offer() {
    local line
    while IFS= read -r line; do
        [[ $line == "$current"* ]] && COMPREPLY+=("$(printf '%q' "$line")")
    done
}

_nodepool_words() { _nodepool_offer < <(printf '%s\n' "$@"); }
_nodepool_names() { _nodepool_offer < <(nodepool "${common[@]}" "$1" -o name 2>/dev/null); }
_nodepool_files() { compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$current"); }
)bash";

std::string quoted_words(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  quoted.reserve(words.size());
  for (const std::string& word : words) quoted.push_back("'" + word + "'");
  return fmt::format("{}", fmt::join(quoted, " "));
}

// The shell command that completes such a value; empty if there is none.
std::string completing(const ArgumentValue& value) {
  if (value.is_file) return "_nodepool_files";
  if (!value.words.empty()) return "_nodepool_words " + quoted_words(value.words);
  if (!value.listed_by.empty()) return "_nodepool_names " + value.listed_by;
  return {};
}

std::vector<std::string> all_names(const std::vector<Option>& options) {
  std::vector<std::string> all;
  for (const Option& option : options) {
    for (std::string& name : names_of(option)) all.push_back(std::move(name));
  }
  return all;
}

// Lines of a `case` on the previous word.
std::string cases_of_values(const std::vector<Option>& options, std::string_view indent) {
  std::string text;
  for (const Option& option : options) {
    if (option.value.is_none()) continue;
    const std::string completion = completing(option.value);
    text += fmt::format("{}{}) {}return ;;\n", indent, fmt::join(names_of(option), "|"),
                        completion.empty() ? "" : completion + "; ");
  }
  return text;
}

std::string command_case(const Declaration& declaration) {
  std::vector<std::string> words = all_names(declaration.options);
  words.emplace_back("--help");
  std::string text = fmt::format("    '{}')\n", declaration.name);
  const std::string values = cases_of_values(declaration.options, "            ");
  if (!values.empty()) text += "        case $previous in\n" + values + "        esac\n";
  text += fmt::format(
      "        if [[ $current == -* ]]; then _nodepool_words {} \"${{options[@]}}\"; return; fi\n",
      quoted_words(words));
  std::string operands;
  std::set<std::string> known;
  for (const Operand& operand : declaration.operands) {
    const std::string completion = completing(operand.value);
    if (!completion.empty() && known.insert(completion).second) {
      operands += "        " + completion + "\n";
    }
  }
  if (declaration.name == "help") operands = "        _nodepool_words \"${commands[@]}\"\n";
  return text + operands + "        ;;\n";
}

}  // namespace

std::string bash_completion() {
  std::set<std::string> first_words;
  std::set<std::string> parents;
  std::string commands;
  for (const Declaration& declaration : declarations()) {
    const std::size_t space = declaration.name.find(' ');
    first_words.insert(declaration.name.substr(0, space));
    if (space != std::string::npos) {
      const std::string parent = declaration.name.substr(0, space);
      commands += fmt::format("    '{}') _nodepool_words '{}' ;;\n", parent,
                              declaration.name.substr(space + 1));
      parents.insert(parent);
    }
    commands += command_case(declaration);
  }
  std::string taking;
  for (const Option& option : common_options()) {
    if (option.value.is_none()) continue;
    taking += fmt::format("{}{}", taking.empty() ? "" : "|", fmt::join(names_of(option), "|"));
  }
  std::string text(kBashFunctions);
  text += fmt::format(R"bash(
_nodepool() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
    local command= word i
    local -a common=() options=({}) commands=({})
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${{COMP_WORDS[i]}}
        case $word in
        --) return ;;
        {}) common+=("$word" "${{COMP_WORDS[i+1]}}"); ((i++)) ;;
        -*) ;;
        *)
            case $command in
            '') command=$word ;;
            {}) command="$command $word" ;;
            esac
            ;;
        esac
    done
    case $previous in
{}    esac
    case $command in
    '') _nodepool_words "${{commands[@]}}" "${{options[@]}}" --help --version ;;
{}    esac
}}
complete -F _nodepool nodepool
)bash",
                      quoted_words(all_names(common_options())),
                      quoted_words({first_words.begin(), first_words.end()}), taking,
                      fmt::join(parents, "|"), cases_of_values(common_options(), "    "), commands);
  return text;
}

}  // namespace nodepool::cli
