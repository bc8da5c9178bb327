#include <fmt/format.h>

#include <ostream>

#include "cli/commands.h"
#include "config/document.h"
#include "config/load.h"
#include "config/yaml.h"
#include "config/zuul/conversion.h"

namespace nodepool::cli {

namespace {

void report_variables(Context& context, const std::string& text, const std::string& file) {
  for (config::Problem problem : config::unset_variables(text, {}, file)) {
    problem.message = "the reference to a variable is not replaced; Zuul would take it literally";
    problem.hint.clear();
    context.err << to_string(problem) << '\n';
  }
}

}  // namespace

int perform(Context& context, const Arguments& arguments, const ConvertConfig& /*command*/,
            const std::shared_ptr<telemetry::Log>& /*log*/) {
  // They may hold secrets, and the result is for a repository.
  const config::Environment no_variables;
  const std::string text = config::read_file(arguments.config);
  const config::Value document = config::parse_document(text, no_variables, arguments.config);
  const config::Config config = config::load({.path = arguments.config,
                                              .secure_path = arguments.secure,
                                              .environment = no_variables,
                                              .drivers = context.drivers.schemas()})
                                    .config;
  report_variables(context, text, arguments.config);
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
