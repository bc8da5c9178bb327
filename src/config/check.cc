#include "config/check.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <regex>
#include <tuple>
#include <utility>

#include "config/duration.h"
#include "config/scalar.h"
#include "config/wording.h"

namespace nodepool::config {

namespace {

using Kind = Type::Kind;
using ValueKind = Value::Kind;

// std::regex recurses for every character. No valid value with a pattern is longer than this.
constexpr std::size_t kLongestMatched = 256;

// Whether the value's kind is right. The content is not checked.
bool has_shape(const Value& value, const Type& type) {
  const ValueKind kind = value.kind();
  switch (type.kind) {
    case Kind::anything:
      return true;
    case Kind::null:
      return kind == ValueKind::null;
    case Kind::boolean:
      return kind == ValueKind::boolean;
    case Kind::integer:
      return kind == ValueKind::integer || kind == ValueKind::boolean;
    case Kind::number:
      return kind == ValueKind::floating;
    case Kind::lenient_number:
      return value.to_number().has_value();
    case Kind::string:
      return kind == ValueKind::string;
    case Kind::duration:
      return kind == ValueKind::integer || kind == ValueKind::string;
    case Kind::list:
      return kind == ValueKind::list;
    case Kind::mapping:
    case Kind::section:
      return kind == ValueKind::mapping;
    case Kind::one_of:
      return std::ranges::any_of(type.parts,
                                 [&](const Type& part) { return has_shape(value, part); });
  }
  std::unreachable();
}

// Whether a daemon converts a value of another kind silently, such as a number where a string is
// expected.
bool is_convertible(const Value& value, const Type& type) {
  switch (type.kind) {
    case Kind::string:
      return value.is_scalar();
    case Kind::number:
      return has_shape(value, lenient_number());
    case Kind::one_of:
      return std::ranges::any_of(type.parts,
                                 [&](const Type& part) { return is_convertible(value, part); });
    default:
      return value.is_null();
  }
}

// A hint how to write a value of the wrong kind. Shows only numbers where a number is expected:
// these are no secrets.
std::string how_to_write(const Value& value, const Type& type) {
  const ValueKind kind = value.kind();
  if (type.kind == Kind::number && kind == ValueKind::integer) {
    return "write `" + value.text() + ".0`";
  }
  if (has_shape(Value::string({}), type) && value.is_scalar()) return "put it in quotes";
  if (kind != ValueKind::string) return {};
  const bool is_scalar_type =
      type.kind == Kind::integer || type.kind == Kind::boolean || type.kind == Kind::number;
  if (is_scalar_type && has_shape(resolve_plain_scalar(value.text()), type)) {
    return "write it without quotes";
  }
  const std::optional<std::chrono::seconds> seconds = parse_duration(value.text());
  if (type.kind == Kind::integer && seconds) {
    return "write the seconds: `" + std::to_string(seconds->count()) + "`";
  }
  return {};
}

class Checker {
 public:
  Checker(const CheckOptions& options, bool strict) : options_(options), strict_(strict) {}

  void check_section(const Value& value, const Schema& schema, const std::string& path, Mark mark);
  std::vector<Problem> take() { return std::move(problems_); }

 private:
  void check_entry(const Value::Entry& entry, const Schema& schema, const std::string& path);
  void check_required(const Value& value, const Schema& schema, const std::string& path);
  void check_rule(const Value& value, const Rule& rule, const std::string& path);
  void check_value(const Value& value, const Type& type, const std::string& path, Mark mark);
  void check_content(const Value& value, const Type& type, const std::string& path, Mark mark);
  void check_alternatives(const Value& value, const Type& type, const std::string& path, Mark mark);
  void check_range(const Value& value, const Type& type, const std::string& path);
  void check_string(const Value& value, const Type& type, const std::string& path);
  void check_duration(const Value& value, const Type& type, const std::string& path);
  void check_label(std::string_view name, const std::string& path, Mark mark);
  void check_diskimage(std::string_view name, const std::string& path, Mark mark);

  void report(const std::string& path, Mark mark, std::string message, std::string hint = {}) {
    problems_.push_back({options_.file, mark, path, std::move(message), std::move(hint)});
  }

  const CheckOptions& options_;
  bool strict_;
  std::vector<Problem> problems_;
};

bool is_given(const Value& section, std::string_view key) {
  const Value* value = section.find(key);
  return value != nullptr && !value->is_null();
}

void Checker::check_section(const Value& value, const Schema& schema, const std::string& path,
                            Mark mark) {
  if (!value.is_mapping()) {
    report(path, mark, "must be a mapping, not " + std::string(describe(value.kind())));
    return;
  }
  for (const Value::Entry& entry : value.as_mapping()) check_entry(entry, schema, path);
  if (!strict_) return;
  check_required(value, schema, path);
  for (const Rule& rule : schema.rules) check_rule(value, rule, path);
}

void Checker::check_entry(const Value::Entry& entry, const Schema& schema,
                          const std::string& path) {
  const Field* field = entry.key_kind == ValueKind::string ? schema.find(entry.key) : nullptr;
  const std::string entry_path = path_below(path, entry.key);
  if (field == nullptr) {
    if (schema.other_keys && entry.key_kind == ValueKind::string) {
      check_value(entry.value, schema.other_keys->type, entry_path, entry.mark);
      return;
    }
    std::vector<std::string_view> keys;
    for (const Field& known : schema.fields) keys.push_back(known.key);
    report(path, entry.mark, "unknown key " + in_quotes(entry.key), did_you_mean(entry.key, keys));
    return;
  }
  if (field->accepted == Accepted::by_daemons && strict_) {
    report(path, entry.mark, "the key " + in_quotes(entry.key) + " is not allowed here",
           "only the daemons accept it");
  }
  if (!field->deprecated.empty() && !strict_) {
    report(path, entry.mark, "the key " + in_quotes(entry.key) + " is deprecated",
           std::string(field->deprecated));
  }
  check_value(entry.value, field->type, entry_path, entry.mark);
}

void Checker::check_required(const Value& value, const Schema& schema, const std::string& path) {
  for (const Field& field : schema.fields) {
    if (field.required == Required::never || value.find(field.key) != nullptr) continue;
    report(path, value.mark(), "the key " + in_quotes(field.key) + " is missing");
  }
}

void Checker::check_rule(const Value& value, const Rule& rule, const std::string& path) {
  std::vector<std::string_view> given;
  for (const std::string_view key : rule.keys) {
    if (is_given(value, key)) given.push_back(key);
  }
  if (rule.kind == Rule::Kind::excludes) {
    if (given.empty() || given.front() != rule.keys.front()) return;
    for (const std::string_view key : std::vector(given.begin() + 1, given.end())) {
      report(path, value.find(key)->mark(),
             in_quotes(key) + " cannot be combined with " + in_quotes(rule.keys.front()));
    }
    return;
  }
  if (given.empty() && rule.kind != Rule::Kind::at_most_one) {
    report(path, value.mark(), "one of the keys " + alternatives(rule.keys) + " is required");
  }
  if (given.size() > 1 && rule.kind != Rule::Kind::at_least_one) {
    report(path, value.find(given[1])->mark(),
           "only one of the keys " + alternatives(given) + " is allowed");
  }
}

void Checker::check_value(const Value& value, const Type& type, const std::string& path,
                          Mark mark) {
  if (has_shape(value, type)) {
    check_content(value, type, path, value.is_null() ? mark : value.mark());
  } else if (!strict_ && (value.is_null() || is_convertible(value, type))) {
    // The daemons convert it, so there is nothing to warn of.
  } else if (value.is_null()) {
    // A missing value has no position, so report the key's.
    report(path, mark, "has no value", "set a value or remove the key");
  } else {
    report(path, value.mark(),
           "must be " + expected(type) + ", not " + std::string(describe(value.kind())),
           how_to_write(value, type));
  }
}

void Checker::check_content(const Value& value, const Type& type, const std::string& path,
                            Mark mark) {
  switch (type.kind) {
    case Kind::integer:
      check_range(value, type, path);
      break;
    case Kind::string:
      check_string(value, type, path);
      break;
    case Kind::duration:
      check_duration(value, type, path);
      break;
    case Kind::list:
      for (std::size_t i = 0; const Value& item : value.as_list()) {
        check_value(item, type.parts[0], path_of_item(path, i++), item.mark());
      }
      break;
    case Kind::mapping:
      for (const Value::Entry& entry : value.as_mapping()) {
        if (strict_ && entry.key_kind != ValueKind::string) {
          report(path, entry.mark, "the key " + in_quotes(entry.key) + " must be a string",
                 "put it in quotes");
        }
        check_value(entry.value, type.parts[0], path_below(path, entry.key), entry.mark);
      }
      break;
    case Kind::section:
      check_section(value, *type.section, path, mark);
      break;
    case Kind::one_of:
      check_alternatives(value, type, path, mark);
      break;
    case Kind::anything:
    case Kind::null:
    case Kind::boolean:
    case Kind::number:
    case Kind::lenient_number:
      break;
  }
}

// Reports the problems of the alternative that has the fewest.
void Checker::check_alternatives(const Value& value, const Type& type, const std::string& path,
                                 Mark mark) {
  std::vector<Problem> before = std::exchange(problems_, {});
  std::vector<Problem> fewest;
  std::size_t fewest_count = std::numeric_limits<std::size_t>::max();
  for (const Type& part : type.parts) {
    if (!has_shape(value, part)) continue;
    check_content(value, part, path, mark);
    std::vector<Problem> found = std::exchange(problems_, {});
    if (found.size() < fewest_count) {
      fewest_count = found.size();
      fewest = std::move(found);
    }
  }
  problems_ = std::move(before);
  std::ranges::move(fewest, std::back_inserter(problems_));
}

void Checker::check_range(const Value& value, const Type& type, const std::string& path) {
  const std::int64_t number =
      value.kind() == ValueKind::boolean ? value.as_boolean() : value.as_integer();
  if ((!type.minimum || number >= *type.minimum) && (!type.maximum || number <= *type.maximum)) {
    return;
  }
  std::string range;
  if (type.minimum && type.maximum) {
    range = "between " + std::to_string(*type.minimum) + " and " + std::to_string(*type.maximum);
  } else if (type.minimum) {
    range = "at least " + std::to_string(*type.minimum);
  } else {
    range = "at most " + std::to_string(*type.maximum);
  }
  report(path, value.mark(), "must be " + range);
}

void Checker::check_string(const Value& value, const Type& type, const std::string& path) {
  const std::string& text = value.as_string();
  if (!type.words.empty() && std::ranges::find(type.words, text) == type.words.end()) {
    report(path, value.mark(), "must be " + alternatives(type.words),
           did_you_mean(text, type.words));
  }
  if (!type.pattern.empty() && (text.size() > kLongestMatched ||
                                !std::regex_match(text, std::regex(std::string(type.pattern))))) {
    report(path, value.mark(), "must be " + std::string(type.meaning));
  }
  if (options_.defined == nullptr) return;
  switch (type.refers) {
    case Type::Refers::to_nothing:
      break;
    case Type::Refers::to_label:
      check_label(text, path, value.mark());
      break;
    case Type::Refers::to_labels_by_space:
      for (const std::string& name : words_of(text)) check_label(name, path, value.mark());
      break;
    case Type::Refers::to_diskimage:
      check_diskimage(text, path, value.mark());
      break;
  }
}

void Checker::check_duration(const Value& value, const Type& type, const std::string& path) {
  if (!value.is_string() || parse_duration(value.as_string())) return;
  report(path, value.mark(), "must be " + expected(type));
}

void Checker::check_label(std::string_view name, const std::string& path, Mark mark) {
  const auto& labels = options_.defined->labels;
  if (options_.named_labels != nullptr) options_.named_labels->emplace(name);
  if (labels.contains(name)) return;
  std::string hint = did_you_mean(name, {labels.begin(), labels.end()});
  if (hint.empty()) hint = "add it to the top-level `labels`";
  report(path, mark, "the label " + in_quotes(name) + " is not defined", std::move(hint));
}

void Checker::check_diskimage(std::string_view name, const std::string& path, Mark mark) {
  const DefinedNames& defined = *options_.defined;
  if (defined.diskimages.contains(name)) return;
  if (defined.abstract_diskimages.contains(name)) {
    report(path, mark, "the disk image " + in_quotes(name) + " is abstract",
           "use an image that is not abstract");
    return;
  }
  const auto& diskimages = defined.diskimages;
  std::string hint = did_you_mean(name, {diskimages.begin(), diskimages.end()});
  if (hint.empty()) hint = "add it to the top-level `diskimages`";
  report(path, mark, "the disk image " + in_quotes(name) + " is not defined", std::move(hint));
}

std::vector<Problem> run(const Value& value, const Schema& schema, const CheckOptions& options,
                         bool strict) {
  Checker checker(options, strict);
  checker.check_section(value, schema, options.path, value.mark());
  return checker.take();
}

}  // namespace

std::vector<Problem> check(const Value& value, const Schema& schema, const CheckOptions& options) {
  return run(value, schema, options, true);
}

std::vector<Problem> check_leniently(const Value& value, const Schema& schema,
                                     const CheckOptions& options) {
  return run(value, schema, options, false);
}

void sort_by_position(std::vector<Problem>& problems) {
  std::ranges::sort(problems, {}, [](const Problem& problem) {
    return std::tie(problem.file, problem.mark, problem.path, problem.message);
  });
}

}  // namespace nodepool::config
