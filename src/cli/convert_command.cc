#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "cli/commands.h"
#include "config/document.h"
#include "config/load.h"
#include "config/yaml.h"
#include "config/zuul/conversion.h"

namespace nodepool::cli {

namespace {

// The variables that are numbers, which YAML needs to be replaced. Others may be secrets, and the
// result is for a repository.
config::Environment numbers_in(const config::Environment& environment) {
  config::Environment numbers;
  for (const auto& [name, value] : environment) {
    const bool is_number =
        !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
    if (is_number) numbers.emplace_back(name, value);
  }
  return numbers;
}

void report_variables(Context& context, const std::string& text, const config::Environment& numbers,
                      const std::string& file) {
  for (config::Problem problem : config::unset_variables(text, numbers, file)) {
    problem.message = "the variable is not replaced: it may be a secret";
    problem.hint.clear();
    context.err << to_string(problem) << '\n';
  }
}

config::Value parse(const std::string& text, const config::Environment& numbers,
                    const std::string& file) {
  try {
    return config::parse_document(text, numbers, file);
  } catch (const config::ConfigError& error) {
    config::Problem problem = error.problem();
    const bool is_variable = std::ranges::any_of(
        config::unset_variables(text, numbers, file),
        [&problem](const config::Problem& unset) { return unset.mark.line == problem.mark.line; });
    if (is_variable) problem.hint = "variables that are no numbers are not replaced; quote it";
    throw config::ConfigError(std::move(problem));
  }
}

}  // namespace

int perform(Context& context, const Arguments& arguments, const ConvertConfig& /*command*/,
            const std::shared_ptr<telemetry::Log>& /*log*/) {
  const config::Environment numbers = numbers_in(context.environment);
  const std::string text = config::read_file(arguments.config);
  const config::Value document = parse(text, numbers, arguments.config);
  const config::Config config = config::load({.path = arguments.config,
                                              .secure_path = arguments.secure,
                                              .environment = numbers,
                                              .drivers = context.drivers.schemas(),
                                              .uses_store = false})
                                    .config;
  report_variables(context, text, numbers, arguments.config);
  const config::zuul::ZuulConversion conversion =
      config::zuul::convert(document, config, context.drivers.schemas(), arguments.config);
  for (const config::Problem& omission : conversion.omissions) {
    context.err << to_string(omission) << '\n';
  }
  if (conversion.objects.as_list().empty()) {
    context.err << fmt::format("nodepool: {}: no label can be converted\n", arguments.config);
    return 1;
  }
  context.out << to_text(conversion);
  return 0;
}

}  // namespace nodepool::cli
