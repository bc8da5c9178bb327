#include "config/zuul/source.h"

#include <algorithm>
#include <map>
#include <utility>

#include "config/wording.h"

namespace nodepool::config::zuul {

namespace {

// What Zuul does instead of the keys that it has for no driver.
std::string advice(std::string_view key) {
  static const std::map<std::string_view, std::string_view> advices{
      {"console-log", "Zuul does not log consoles"},
      {"image-name-format", "Zuul chooses the names of uploads"},
      {"max-concurrency",
       "Zuul does not limit concurrent launches; `rate` of the connection limits the calls"},
      {"node-attributes",
       "Zuul's nodes have no attributes; use variables of the nodeset or the job"},
      {"pause", "Zuul has no pauses; do not run the job that builds the image"},
      {"post-upload-hook", "Zuul runs no hook; validate the image in a job"},
      {"priority", "Zuul prefers the provider with the lowest usage"},
      {"resource-group-location", "Zuul does not create the resource group; it must exist"},
      {"use-internal-ip", "Zuul connects to the public address if there is one"},
      {"validate", "Zuul validates images in a job, triggered by `image-validate`"},
  };
  const auto found = advices.find(key);
  return std::string(found == advices.end() ? "Zuul has no such setting" : found->second);
}

Value typed(const Section& section, const Type& type, std::string_view key) {
  switch (type.kind) {
    case Type::Kind::boolean:
      return Value::boolean(section.boolean(key));
    case Type::Kind::integer:
      return Value::integer(section.integer(key));
    case Type::Kind::duration:
      return Value::integer(section.seconds(key));
    case Type::Kind::string:
      return Value::string(section.text(key));
    case Type::Kind::list: {
      if (type.parts.front().kind != Type::Kind::string) return *section.find(key);
      Value::List items;
      for (std::string& item : section.texts(key)) items.push_back(Value::string(std::move(item)));
      return Value::list(std::move(items));
    }
    default:
      return *section.find(key);
  }
}

}  // namespace

void set(Value::Mapping& mapping, std::string_view key, Value value) {
  const auto present = std::ranges::find(mapping, key, &Value::Entry::key);
  if (present != mapping.end()) {
    present->value = std::move(value);
  } else {
    mapping.push_back({.key = std::string(key), .value = std::move(value)});
  }
}

void set_below(Value::Mapping& mapping, std::string_view parent, std::string_view key,
               Value value) {
  const auto present = std::ranges::find(mapping, parent, &Value::Entry::key);
  Value::Mapping below = present == mapping.end() ? Value::Mapping() : present->value.as_mapping();
  set(below, key, std::move(value));
  set(mapping, parent, Value::mapping(std::move(below)));
}

void append_below(Value::Mapping& mapping, std::string_view parent, const Value::Mapping& entries) {
  for (const Value::Entry& entry : entries) set_below(mapping, parent, entry.key, entry.value);
}

const Section& Source::use(std::string_view key) {
  used_.emplace(key);
  return section_;
}

void Source::copy(std::string_view key, Value::Mapping& target, std::string_view as) {
  // A daemon accepts keys that the schema does not list; they have no effect.
  if (has(key) && section_.schema().find(key) != nullptr) copy_with_default(key, target, as);
}

void Source::copy_with_default(std::string_view key, Value::Mapping& target, std::string_view as) {
  set(target, as, typed(use(key), section_.schema().find(key)->type, key));
}

void Source::copy_below(std::string_view key, Value::Mapping& target, std::string_view parent,
                        std::string_view as) {
  Value::Mapping copied;
  copy(key, copied, as);
  append_below(target, parent, copied);
}

std::vector<Source> Source::sources(std::string_view key) {
  std::vector<Source> sources;
  for (Section& below : use(key).sections(key)) sources.emplace_back(std::move(below), *omissions_);
  return sources;
}

void Source::omit(std::string_view key, std::string message) {
  omissions_->add(use(key).error(key, std::move(message)).problem());
}

void Source::omit_all(std::string message) const {
  omissions_->add(section_.section_error(std::move(message)).problem());
}

void Source::finish() {
  for (const Value::Entry& entry : section_.value().as_mapping()) {
    if (used_.contains(entry.key)) continue;
    const Field* field = section_.schema().find(entry.key);
    const bool is_default = field != nullptr && default_of(*field) == entry.value;
    if (is_default || !entry.value.truthy()) continue;
    omissions_->add({.file = section_.file(),
                     .mark = entry.mark,
                     .path = section_.path_of(entry.key),
                     .message = advice(entry.key)});
  }
}

}  // namespace nodepool::config::zuul
