#include "config/reference.h"

#include <utility>
#include <vector>

#include "config/wording.h"

namespace nodepool::config {

namespace {

// A nested section with its path.
struct Nested {
  const Schema* schema;
  std::string path;
};

void find_nested(const Type& type, const std::string& path, std::vector<Nested>& nested) {
  if (type.section) nested.push_back({type.section.get(), path});
  const bool is_list = type.kind == Type::Kind::list;
  const bool is_mapping = type.kind == Type::Kind::mapping;
  const std::string below = path + (is_list ? "[]" : is_mapping ? ".*" : "");
  for (const Type& part : type.parts) find_nested(part, below, nested);
}

// Table cells end at a bar.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string default_text(const Field& field) {
  if (field.required != Required::never) return "**required**";
  if (field.default_value.empty()) return std::string(field.default_note);
  return in_quotes(field.default_value);
}

std::string meaning(const Field& field) {
  std::string text(field.description);
  if (!field.deprecated.empty()) text += " **Deprecated:** " + std::string(field.deprecated) + ".";
  if (field.accepted == Accepted::by_daemons) {
    text += " Accepted by daemons for compatibility; `config-validate` rejects it.";
  }
  return text;
}

std::string row(const Field& field) {
  std::string type = type_name(field.type);
  if (!field.unit.empty()) type += ", " + std::string(field.unit);
  return "| " + in_quotes(field.key) + " | " + cell(type) + " | " + cell(default_text(field)) +
         " | " + cell(meaning(field)) + " |\n";
}

std::string rule_text(const Rule& rule) {
  switch (rule.kind) {
    case Rule::Kind::exactly_one:
      return "Exactly one of " + alternatives(rule.keys) + " is required.";
    case Rule::Kind::at_least_one:
      return "At least one of " + alternatives(rule.keys) + " is required.";
    case Rule::Kind::at_most_one:
      return "Only one of " + alternatives(rule.keys) + " is allowed.";
    case Rule::Kind::excludes:
      return in_quotes(rule.keys.front()) + " cannot be combined with " +
             alternatives({rule.keys.begin() + 1, rule.keys.end()}) + ".";
  }
  std::unreachable();
}

}  // namespace

std::string reference_markdown(const Schema& schema, std::string_view path, int heading_level) {
  std::string text;
  const std::string title = path.empty() ? "Top level" : in_quotes(path);
  text += std::string(static_cast<std::size_t>(heading_level), '#') + " " + title + "\n\n";
  if (!schema.description.empty()) text += std::string(schema.description) + "\n\n";
  for (const Rule& rule : schema.rules) text += rule_text(rule) + "\n\n";

  text += "| Key | Type | Default | Meaning |\n|---|---|---|---|\n";
  std::vector<Nested> nested;
  for (const Field& field : schema.fields) {
    text += row(field);
    find_nested(field.type, path_below(path, field.key), nested);
  }
  if (schema.other_keys) {
    text += "| any other | " + cell(type_name(schema.other_keys->type)) + " | | " +
            cell(schema.other_keys->description) + " |\n";
  }
  text += "\n";

  for (const Nested& below : nested) {
    // A section without own keys is documented by its driver.
    if (below.schema->fields.empty()) continue;
    text += reference_markdown(*below.schema, below.path, heading_level);
  }
  return text;
}

}  // namespace nodepool::config
