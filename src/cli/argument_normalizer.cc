#include "cli/argument_normalizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/wording.h"
#include "program/options.h"

namespace nodepool::cli {

namespace {

// Options that CLI11 adds itself.
constexpr const char* kHelp = "--help";
constexpr const char* kVersion = "--version";

// A "did you mean" for the end of an error message; empty if nothing is similar.
std::string suggestion(std::string_view given, const std::vector<std::string>& known) {
  const std::string question = config::did_you_mean(given, {known.begin(), known.end()});
  return question.empty() ? "" : "; " + question;
}

class ArgumentNormalizer {
 public:
  NormalizedArguments run(const std::vector<std::string>& given) {
    for (std::size_t i = 0; i < given.size(); ++i) {
      const std::string& word = given[i];
      if (word == "--" && command_ != nullptr) {
        const auto rest = given.begin() + static_cast<std::ptrdiff_t>(i);
        if (command_->read_rest) {
          result_.rest.assign(rest + 1, given.end());
        } else {
          result_.words.insert(result_.words.end(), rest, given.end());
        }
        break;
      }
      const bool takes_next =
          word.size() > 1 && word.starts_with('-') ? add_option(word) : add(word);
      if (takes_next && i + 1 < given.size()) result_.words.push_back(given[++i]);
    }
    if (wants_help_) result_.words.emplace_back(kHelp);
    return std::move(result_);
  }

 private:
  // Adds a word that is no option. Returns false: it takes no value.
  bool add(const std::string& word) {
    if (command_ == nullptr && word == "help" && name_.empty()) {
      wants_help_ = true;
      return false;
    }
    result_.words.push_back(word);
    if (command_ != nullptr) return false;
    name_ += name_.empty() ? word : " " + word;
    std::vector<std::string> names;
    bool is_prefix = false;
    for (const Declaration& declaration : declarations()) {
      if (declaration.name == name_) command_ = &declaration;
      is_prefix = is_prefix || declaration.name.starts_with(name_ + " ");
      names.push_back(declaration.name);
    }
    if (command_ != nullptr || is_prefix) return false;
    throw UsageError({}, "unknown command '" + name_ + "'" + suggestion(name_, names));
  }

  // Adds an option. Returns whether the next word is its value.
  bool add_option(const std::string& word) {
    if (!word.starts_with("--")) {
      result_.words.push_back(word);
      const Option* option = word.size() == 2 ? find(word) : nullptr;
      return option != nullptr && !option->value.is_none();
    }
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string name = completed(word.substr(0, equals));
    result_.words.push_back(name + word.substr(equals));
    const Option* option = find(name);
    return option != nullptr && !option->value.is_none() && equals == word.size();
  }

  const Option* find(std::string_view name) const {
    for (const auto* options : {own_options(), &common_options()}) {
      for (const Option& option : *options) {
        if (has_name(option, name)) return &option;
      }
    }
    return nullptr;
  }

  const std::vector<Option>* own_options() const {
    static const std::vector<Option> kNone;
    return command_ == nullptr ? &kNone : &command_->options;
  }

  // The full name of a long option. The command's own options have precedence over the common ones.
  std::string completed(const std::string& given) const {
    std::vector<std::string> own = long_names(*own_options());
    std::vector<std::string> common = long_names(common_options());
    common.insert(common.end(), {kHelp, kVersion});
    for (const auto* names : {&own, &common}) {
      const std::vector<std::string> matches = program::names_meant_by(given, *names);
      if (matches.size() > 1) {
        throw UsageError(
            name_, fmt::format("option {} is ambiguous: {}", given, fmt::join(matches, " or ")));
      }
      if (matches.size() == 1) return matches.front();
    }
    std::vector<std::string> all = own;
    all.insert(all.end(), common.begin(), common.end());
    throw UsageError(name_, "unknown option " + given + suggestion(given, all));
  }

  static std::vector<std::string> long_names(const std::vector<Option>& options) {
    std::vector<std::string> all;
    for (const Option& option : options) {
      for (std::string& name : names_of(option)) {
        if (name.starts_with("--")) all.push_back(std::move(name));
      }
    }
    return all;
  }

  NormalizedArguments result_;
  std::string name_;  // of the command, as far as it has been read
  const Declaration* command_ = nullptr;
  bool wants_help_ = false;
};

}  // namespace

NormalizedArguments normalize_arguments(const std::vector<std::string>& given) {
  return ArgumentNormalizer().run(given);
}

}  // namespace nodepool::cli
