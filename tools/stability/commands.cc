#include <fmt/format.h>

#include <ranges>
#include <string>
#include <string_view>

#include "cli/declaration.h"
#include "main/daemon_programs.h"
#include "names.h"
#include "program/options.h"

namespace nodepool::stability {

namespace {

using cli::ArgumentValue;
using cli::Declaration;
using cli::Operand;

std::string_view text_of(Operand::Count count) {
  switch (count) {
    case Operand::Count::one:
      return "one";
    case Operand::Count::optional:
      return "optional";
    case Operand::Count::several:
      return "several";
    case Operand::Count::any:
      return "any number";
  }
  return "";
}

void add_words(Names& names, const std::string& argument, const ArgumentValue& value) {
  for (const std::string& word : value.words) names.push_back(argument + " " + word);
}

void add_options(Names& names, const std::string& command,
                 const std::vector<cli::Option>& options) {
  for (const cli::Option& option : options) {
    for (const std::string& name : names_of(option)) {
      const std::string argument = command + " " + name;
      names.push_back(argument + (option.value.is_none() ? ": without a value" : ": with a value"));
      add_words(names, argument, option.value);
    }
  }
}

void add_command(Names& names, const Declaration& declaration) {
  const std::string command = "nodepool " + declaration.name;
  names.push_back(command);
  int number = 0;
  for (const Operand& operand : declaration.operands) {
    const std::string argument = fmt::format("{} operand {}", command, ++number);
    names.push_back(fmt::format("{}: {}", argument, text_of(operand.count)));
    add_words(names, argument, operand.value);
  }
  add_options(names, command, declaration.options);
  if (declaration.read_rest) names.push_back(command + " -- COMMAND");
}

void add_daemon(Names& names, const program::Program& program) {
  for (const program::OptionHelp& option : describe_options(program)) {
    for (const auto part : std::views::split(option.names, ',')) {
      names.push_back(fmt::format("{} {}: {}", program.name, std::string_view(part),
                                  option.value.empty() ? "without a value" : "with a value"));
    }
  }
}

}  // namespace

Names command_names() {
  Names names;
  add_options(names, "nodepool", cli::common_options());
  for (const Declaration& declaration : cli::declarations()) add_command(names, declaration);
  add_daemon(names, launcher_program());
  BuilderChoices choices;
  add_daemon(names, builder_program(choices));
  return names;
}

}  // namespace nodepool::stability
