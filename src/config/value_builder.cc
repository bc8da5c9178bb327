#include "config/value_builder.h"

#include <ranges>
#include <utility>

#include "config/wording.h"
#include "config/yaml.h"

namespace nodepool::config {

namespace {

// The size of a copy of a value.
struct Size {
  std::size_t values = 0;
  std::size_t text = 0;  // bytes
};

void add_size(const Value& value, Size& size) {
  ++size.values;
  if (value.is_list()) {
    for (const Value& item : value.as_list()) add_size(item, size);
  } else if (value.is_mapping()) {
    for (const Value::Entry& entry : value.as_mapping()) {
      size.text += entry.key.size();
      add_size(entry.value, size);
    }
  } else if (value.is_string()) {
    size.text += value.as_string().size();
  } else if (value.kind() == Value::Kind::date) {
    size.text += value.as_date().size();
  }
}

}  // namespace

int ValueBuilder::Entries::put(Value::Entry entry) {
  const int line = entry.mark.line;
  return std::exchange(place_of(std::move(entry)).line, line);
}

// Puts the entry into its place, which is valid until the next call.
ValueBuilder::Entries::Place& ValueBuilder::Entries::place_of(Value::Entry entry) {
  // `1` and `"1"` are different keys with the same text.
  std::string identity = std::to_string(static_cast<int>(entry.key_kind)) + entry.key;
  const auto [found, is_new] =
      places_.try_emplace(std::move(identity), Place{.index = entries_.size()});
  if (is_new) {
    entries_.push_back(std::move(entry));
  } else {
    entries_[found->second.index] = std::move(entry);
  }
  return found->second;
}

ConfigError ValueBuilder::error(Mark mark, std::string message, std::string hint) const {
  return ConfigError(
      {.file = file_, .mark = mark, .message = std::move(message), .hint = std::move(hint)});
}

void ValueBuilder::add_scalar(Value value, std::size_t anchor) {
  add(std::move(value), anchor);
}

void ValueBuilder::add_merge_key(Mark mark) {
  if (!open_.empty() && open_.back().is_mapping && !open_.back().awaits_value) {
    open_.back().awaits_merge = true;
  } else {
    add(Value::string("<<", mark), 0);
  }
}

void ValueBuilder::add_alias(std::size_t anchor, Mark mark) {
  const auto found = anchors_.find(anchor);
  if (found == anchors_.end()) throw error(mark, "this alias is inside its own anchor");
  count_copies(found->second, mark);
  add(found->second, 0);
}

void ValueBuilder::begin_list(Mark mark, std::size_t anchor) {
  begin({.is_mapping = false, .mark = mark, .anchor = anchor});
}

void ValueBuilder::begin_mapping(Mark mark, std::size_t anchor) {
  begin({.is_mapping = true, .mark = mark, .anchor = anchor});
}

void ValueBuilder::begin(Open open) {
  if (open_.size() >= kMaxDepth) {
    throw error(open.mark, "lists and mappings are nested more than " + std::to_string(kMaxDepth) +
                               " levels deep");
  }
  open_.push_back(std::move(open));
}

void ValueBuilder::end_collection() {
  Open done = std::move(open_.back());
  open_.pop_back();
  if (!done.is_mapping) {
    add(Value::list(std::move(done.items), done.mark), done.anchor);
    return;
  }
  // Merged keys come first, so that the mapping's own keys replace them.
  Entries entries;
  for (Value::Entry& entry : done.merged) entries.put_merged(std::move(entry));
  for (Value::Entry& entry : done.entries) put_own(std::move(entry), entries);
  add(Value::mapping(entries.take(), done.mark), done.anchor);
}

void ValueBuilder::put_own(Value::Entry entry, Entries& entries) {
  constexpr std::size_t kMostRepeated = 100;
  const Mark mark = entry.mark;
  std::string key = in_quotes(entry.key);
  const int line = entries.put(std::move(entry));
  if (line == 0 || repeated_keys_.size() >= kMostRepeated) return;
  repeated_keys_.push_back(
      {.file = file_,
       .mark = mark,
       .message = "the key " + std::move(key) + " is already set on line " + std::to_string(line),
       .hint = "only the last one is used"});
}

void ValueBuilder::add(Value value, std::size_t anchor) {
  if (++values_ > kMaxValues) {
    throw error(value.mark(),
                "there are more than " + std::to_string(kMaxValues) + " keys and values");
  }
  if (anchor != 0) remember(anchor, value);
  if (open_.empty()) {
    root_ = std::move(value);
  } else if (open_.back().is_mapping) {
    add_to(open_.back(), std::move(value));
  } else {
    open_.back().items.push_back(std::move(value));
  }
}

void ValueBuilder::add_to(Open& mapping, Value value) {
  if (mapping.awaits_merge) {
    mapping.awaits_merge = false;
    merge(mapping, value);
  } else if (mapping.awaits_value) {
    mapping.awaits_value = false;
    mapping.entries.back().value = std::move(value);
  } else {
    if (!value.is_scalar()) {
      throw error(value.mark(),
                  std::string(describe(value.kind())) + " cannot be the key of a mapping",
                  "text with { or [ needs quotes");
    }
    mapping.awaits_value = true;
    mapping.entries.push_back(
        {.key = value.text(), .value = {}, .mark = value.mark(), .key_kind = value.kind()});
  }
}

void ValueBuilder::merge(Open& mapping, const Value& value) {
  const Mark mark = value.mark();
  const auto append = [&](const Value& source) {
    if (!source.is_mapping()) {
      throw error(mark, "`<<` requires a mapping, not " + std::string(describe(source.kind())));
    }
    const Value::Mapping& entries = source.as_mapping();
    mapping.merged.insert(mapping.merged.end(), entries.begin(), entries.end());
  };
  if (!value.is_list()) {
    append(value);
    return;
  }
  // The first of several mappings takes precedence, so it is added last.
  for (const Value& source : value.as_list() | std::views::reverse) append(source);
}

void ValueBuilder::remember(std::size_t anchor, const Value& value) {
  // An anchor's value is a copy: a hundred anchors around one large list are a hundred lists.
  count_copies(value, value.mark());
  anchors_.insert_or_assign(anchor, value);
}

void ValueBuilder::count_copies(const Value& value, Mark mark) {
  Size size;
  add_size(value, size);
  copied_ += size.values;
  copied_text_ += size.text;
  if (copied_ > kMaxAliased) {
    throw error(
        mark, "anchors and aliases expand to more than " + std::to_string(kMaxAliased) + " values");
  }
  if (copied_text_ > kMaxAliasedText) {
    throw error(mark, "anchors and aliases expand to more than " +
                          std::to_string(kMaxAliasedText >> 20) + " MiB of text");
  }
}

}  // namespace nodepool::config
