#include "cli/arguments.h"

#include <algorithm>
#include <map>
#include <memory>
#include <ostream>

#include <CLI/CLI.hpp>

#include "cli/argument_normalizer.h"
#include "cli/declaration.h"

namespace nodepool::cli {

namespace {

constexpr int kUsageError = 2;
constexpr const char* kCommonOptions = "Options of all commands";
constexpr const char* kVersionHelp = "Print the version and exit";

// Adds to the usage what the parser does not know: `-- COMMAND...` of `run` and `ssh`.
class Formatter final : public CLI::Formatter {
 public:
  Formatter() {
    column_width(26);
    label("Positionals", "Arguments");
    label("SUBCOMMAND", "COMMAND");
  }

  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string help = CLI::Formatter::make_help(app, std::move(name), mode);
    while (help.contains("\n\n\n")) help = CLI::detail::find_and_replace(help, "\n\n\n", "\n\n");
    return CLI::detail::rtrim(help) + "\n";
  }

  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = CLI::Formatter::make_usage(app, std::move(name));
    CLI::detail::trim(usage);
    for (const Declaration& declaration : declarations()) {
      if (!declaration.read_rest || declaration.name != app->get_name()) continue;
      usage += declaration.is_rest_required ? " -- COMMAND..." : " [-- COMMAND...]";
    }
    return usage + "\n";
  }
};

// The CLI11 parser of the declared commands, and its result.
class Parser {
 public:
  explicit Parser(std::string_view version)
      : version_("Nodepool version: " + std::string(version)),
        app_("Provide machines on demand.", "nodepool") {
    app_.require_subcommand(0, 1);
    app_.formatter(formatter_);
    app_.set_version_flag("-V,--version", version_, kVersionHelp);
    for (const Option& option : common_options()) add(app_, option, "Options");
    for (const Declaration& declaration : declarations()) add(declaration);
    app_.footer("`nodepool help COMMAND` shows the help of a command.");
  }

  std::variant<Arguments, Exit> parse(const std::vector<std::string>& given, std::ostream& out,
                                      std::ostream& err) {
    try {
      NormalizedArguments normalized = normalize_arguments(given);
      std::ranges::reverse(normalized.words);  // as CLI11 wants it
      app_.parse(std::move(normalized.words));
      if (command_ != nullptr) read(*command_, normalized.rest);
    } catch (const CLI::CallForVersion& version) {
      out << version.what() << '\n';
      return Exit{0};
    } catch (const CLI::CallForHelp&) {
      out << app_.help();
      return Exit{0};
    } catch (const CLI::ExtrasError& error) {
      const bool has_rest = command_ != nullptr && command_->read_rest;
      const std::string hint = has_rest ? "; write -- before the command" : "";
      return usage_error(chosen(), error.what() + hint, err);
    } catch (const CLI::ParseError& error) {
      return usage_error(chosen(), error.what(), err);
    } catch (const UsageError& error) {
      return usage_error(error.command(), error.what(), err);
    }
    if (command_ == nullptr) {
      out << app_.help();
      return Exit{1};
    }
    return arguments_;
  }

 private:
  void add(const Declaration& declaration) {
    const std::size_t space = declaration.name.find(' ');
    CLI::App* parent = &app_;
    if (space != std::string::npos) {
      const std::string name = declaration.name.substr(0, space);
      parent = parents_[name];
      if (parent == nullptr) {
        parent = app_.add_subcommand(name, declaration.summary);
        set_up(*parent, declaration);
        parent->require_subcommand(1);
        parents_[name] = parent;
      }
    }
    CLI::App* command = parent->add_subcommand(
        declaration.name.substr(space == std::string::npos ? 0 : space + 1), declaration.summary);
    set_up(*command, declaration);
    for (const Operand& operand : declaration.operands) add(*command, operand);
    for (const Option& option : declaration.options) add(*command, option, "Options");
    for (const Option& option : declaration.options) {
      if (!option.needs.empty()) {
        command->get_option(names_of(option).back())->needs(command->get_option(option.needs));
      }
    }
    for (const Option& option : common_options()) add(*command, option, kCommonOptions);
    command->footer(declaration.notes);
    // Before the options are read: they are written into the command.
    command->preparse_callback([this, &declaration](std::size_t /*left*/) {
      command_ = &declaration;
      if (declaration.command) arguments_.command = *declaration.command;
      arguments_.store_use = declaration.store_use;
    });
  }

  void set_up(CLI::App& app, const Declaration& declaration) {
    app.formatter(formatter_);
    app.group(std::string(heading(declaration.group)));
    app.set_version_flag("-V,--version", version_, kVersionHelp)->group(kCommonOptions);
  }

  // Passes the given values on, one by one.
  std::function<bool(const std::vector<std::string>&)> reader(const std::string& name,
                                                              const Read& read) {
    return [this, name, &read](const std::vector<std::string>& given) {
      for (const std::string& value : given) {
        try {
          read(arguments_, value);
        } catch (const BadValue& error) {
          throw CLI::ValidationError(name, error.what());
        }
      }
      return true;
    };
  }

  void add(CLI::App& app, const Operand& operand) {
    using Count = Operand::Count;
    CLI::Option* added =
        app.add_option(operand.value.name, reader(operand.value.name, operand.read), operand.help);
    added->type_name("");
    const bool needed = operand.count == Count::one || operand.count == Count::several;
    const bool many = operand.count == Count::several || operand.count == Count::any;
    added->expected(1, many ? CLI::detail::expected_max_vector_size : 1);
    added->allow_extra_args(many)->required(needed);
  }

  void add(CLI::App& app, const Option& option, const std::string& group) {
    if (option.value.is_none()) {
      const Read& read = option.read;
      app.add_flag_function(
             option.names, [this, &read](std::int64_t) { read(arguments_, {}); }, option.help)
          ->group(group);
      return;
    }
    const std::string name = names_of(option).back();
    CLI::Option* added = app.add_option(option.names, reader(name, option.read), option.help);
    added->type_name(option.value.usage())->expected(1)->group(group);
    added->required(option.is_required)->allow_extra_args(false);
    if (option.may_repeat) {
      added->take_all();
    } else {
      added->take_last();
    }
    if (!option.value.words.empty()) added->check(one_of(option.value.words));
  }

  static CLI::Validator one_of(const std::vector<std::string>& words) {
    return {[&words](const std::string& given) {
              if (std::ranges::find(words, given) != words.end()) return std::string();
              return "'" + given + "' is not one of " + CLI::detail::join(words, ", ");
            },
            ""};
  }

  void read(const Declaration& declaration, const std::vector<std::string>& rest) {
    for (const std::string& word : rest) declaration.read_rest(arguments_, word);
    if (declaration.is_rest_required && rest.empty())
      throw UsageError(declaration.name, "-- COMMAND is missing");
    const std::string validation_error =
        declaration.validation_error ? declaration.validation_error(arguments_) : std::string();
    if (!validation_error.empty()) throw UsageError(declaration.name, validation_error);
  }

  // The name of the given command, as far as it was recognized.
  std::string chosen() const {
    std::string name;
    for (auto below = app_.get_subcommands(); !below.empty();
         below = below.front()->get_subcommands()) {
      name += (name.empty() ? "" : " ") + below.front()->get_name();
    }
    return name;
  }

  Exit usage_error(const std::string& command, const std::string& error, std::ostream& err) {
    const CLI::App* app = &app_;
    std::string name = "nodepool";
    for (const std::string& part : CLI::detail::split(command, ' ')) {
      if (part.empty()) continue;
      app = app->get_subcommand(part);
      name += " " + part;
    }
    err << formatter_->make_usage(app, name) << name << ": error: " << error << '\n';
    return {kUsageError};
  }

  std::string version_;
  std::shared_ptr<Formatter> formatter_ = std::make_shared<Formatter>();
  CLI::App app_;
  std::map<std::string, CLI::App*> parents_;  // of commands below others
  Arguments arguments_;
  const Declaration* command_ = nullptr;  // the given one
};

}  // namespace

std::variant<Arguments, Exit> parse_arguments(const std::vector<std::string>& arguments,
                                              std::string_view version, std::ostream& out,
                                              std::ostream& err) {
  return Parser(version).parse(arguments, out, err);
}

}  // namespace nodepool::cli
