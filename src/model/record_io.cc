#include "model/record_io.h"

#include <algorithm>

namespace nodepool::model {

Json Json::parse(std::string_view text) {
  try {
    return {record_io::dump(json::parse(text))};
  } catch (const json::ParseError& error) {
    throw RecordError(error.what());
  }
}

std::string Json::string_value() const {
  // Lists and objects need not be parsed.
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string::npos || text[start] != '"') return {};
  const auto value = json::parse(text);
  return value.is_string() ? value.get<std::string>() : std::string();
}

namespace record_io {

namespace {

[[noreturn]] void refuse(const char* key, const char* expected, const OrderedJson& value) {
  throw RecordError(std::string("'") + key + "' is " + value.type_name() + ", not " + expected);
}

// Whether a string needs no escapes.
bool is_plain(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; });
}

void dump_string(std::string_view text, std::string& out) {
  if (is_plain(text)) {
    out.append(1, '"').append(text).append(1, '"');
  } else {
    out += OrderedJson(text).dump(-1, ' ', /*ensure_ascii=*/true,
                                  OrderedJson::error_handler_t::replace);
  }
}

void dump_to(const OrderedJson& value, std::string& out) {
  if (value.is_object()) {
    out += '{';
    bool first = true;
    for (const auto& [key, item] : value.items()) {
      if (!std::exchange(first, false)) out += ", ";
      dump_string(key, out);
      out += ": ";
      dump_to(item, out);
    }
    out += '}';
  } else if (value.is_array()) {
    out += '[';
    bool first = true;
    for (const auto& item : value) {
      if (!std::exchange(first, false)) out += ", ";
      dump_to(item, out);
    }
    out += ']';
  } else if (value.is_string()) {
    dump_string(value.get_ref<const std::string&>(), out);
  } else if (value.is_binary()) {
    const auto& digits = value.get_binary();  // of a large integer
    out.append(digits.begin(), digits.end());
  } else {
    out += value.dump();
  }
}

}  // namespace

std::string dump(const OrderedJson& value) {
  std::string text;
  dump_to(value, text);
  return text;
}

Entries parse_object(std::string_view text) {
  if (text.empty()) throw RecordError("the record is empty");
  OrderedJson record;
  try {
    record = json::parse_record(text);
  } catch (const json::ParseError& error) {
    throw RecordError(error.what());
  }
  if (!record.is_object()) throw RecordError("the record must be a JSON object");
  auto& members = record.get_ref<OrderedJson::object_t&>();
  Entries entries;
  entries.reserve(members.size());
  for (auto& [key, value] : members) entries.emplace_back(key, std::move(value));
  return entries;
}

std::optional<OrderedJson> object_at(std::string_view text, std::string_view key) {
  if (!text.contains(key)) return std::nullopt;
  OrderedJson value;
  try {
    value = json::parse(text);
  } catch (const json::ParseError&) {
    return std::nullopt;
  }
  if (!value.is_object()) return std::nullopt;
  const auto found = value.find(key);
  if (found == value.end() || !found->is_object()) return std::nullopt;
  return std::move(*found);
}

Reader::Reader(std::string_view text)
    : entries_(parse_object(text)), taken_(entries_.size(), false) {}

OrderedJson* Reader::find(std::string_view key) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const std::size_t position = (position_ + i) % entries_.size();
    if (taken_[position] || entries_[position].first != key) continue;
    position_ = position;
    return &entries_[position].second;
  }
  return nullptr;
}

OrderedJson Reader::take(const char* key) {
  OrderedJson* const found = find(key);
  if (found == nullptr) return nullptr;
  taken_[position_] = true;
  if (!found->is_binary()) return std::move(*found);
  const auto& digits = found->get_binary();
  return std::stod(std::string(digits.begin(), digits.end()));
}

void Reader::field(const char* key, std::string& value) {
  const OrderedJson found = take(key);
  if (found.is_null()) return;
  if (!found.is_string()) refuse(key, "a string", found);
  value = found.get<std::string>();
}

void Reader::field(const char* key, std::optional<std::string>& value) {
  if (!has(key)) return;
  const OrderedJson found = take(key);
  if (found.is_null()) {
    value.reset();
  } else if (found.is_string()) {
    value = found.get<std::string>();
  } else {
    refuse(key, "a string", found);
  }
}

void Reader::field(const char* key, SharedText& value) {
  if (!has(key)) return;
  std::optional<std::string> text;
  field(key, text);
  value = std::move(text);
}

void Reader::field(const char* key, double& value) {
  const OrderedJson found = take(key);
  if (found.is_null()) return;
  if (!found.is_number()) refuse(key, "a number", found);
  value = found.get<double>();
}

void Reader::field(const char* key, std::optional<double>& value) {
  if (!has(key)) return;
  const OrderedJson found = take(key);
  if (found.is_null()) {
    value.reset();
  } else if (found.is_number()) {
    value = found.get<double>();
  } else {
    refuse(key, "a number", found);
  }
}

void Reader::field(const char* key, std::int64_t& value) {
  const OrderedJson found = take(key);
  if (found.is_null()) return;
  if (!found.is_number()) refuse(key, "a number", found);
  value = found.get<std::int64_t>();
}

void Reader::field(const char* key, std::optional<std::int64_t>& value) {
  if (!has(key)) return;
  const OrderedJson found = take(key);
  if (found.is_null()) {
    value.reset();
  } else if (found.is_number()) {
    value = found.get<std::int64_t>();
  } else {
    refuse(key, "a number", found);
  }
}

void Reader::field(const char* key, bool& value) {
  const OrderedJson found = take(key);
  if (found.is_null()) return;
  if (!found.is_boolean()) refuse(key, "true or false", found);
  value = found.get<bool>();
}

void Reader::field(const char* key, std::vector<std::string>& value) {
  const OrderedJson found = take(key);
  if (found.is_null()) return;
  if (!found.is_array()) refuse(key, "a list", found);
  value.clear();
  for (const OrderedJson& item : found) {
    if (!item.is_string()) refuse(key, "a list of strings", found);
    value.push_back(item.get<std::string>());
  }
}

void Reader::field(const char* key, std::map<std::string, std::string>& value) {
  const OrderedJson found = take(key);
  if (found.is_null()) return;
  if (!found.is_object()) refuse(key, "an object", found);
  value.clear();
  for (const auto& [name, item] : found.items()) {
    if (!item.is_string()) refuse(key, "an object of strings", found);
    value.emplace(name, item.get<std::string>());
  }
}

void Reader::field(const char* key, Json& value) {
  const OrderedJson* const found = find(key);
  if (found == nullptr) return;
  taken_[position_] = true;
  value.text = found->is_null() ? "null" : dump(*found);
}

UnknownKeys Reader::rest() const {
  UnknownKeys keys;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (!taken_[i]) keys.emplace_back(entries_[i].first, Json{dump(entries_[i].second)});
  }
  return keys;
}

void Writer::begin(std::string_view key) {
  if (text_.size() > 1) text_ += ", ";
  dump_string(key, text_);
  text_ += ": ";
}

void Writer::field(std::string_view key, std::string_view value) {
  begin(key);
  dump_string(value, text_);
}

void Writer::field(std::string_view key, double value) {
  begin(key);
  text_ += OrderedJson(value).dump();
}

void Writer::field(std::string_view key, std::int64_t value) {
  begin(key);
  text_ += std::to_string(value);
}

void Writer::field(std::string_view key, bool value) {
  begin(key);
  text_ += value ? "true" : "false";
}

void Writer::field(std::string_view key, const std::vector<std::string>& value) {
  begin(key);
  dump_to(value, text_);
}

void Writer::field(std::string_view key, const std::map<std::string, std::string>& value) {
  begin(key);
  dump_to(value, text_);
}

void Writer::field(std::string_view key, const Json& value) {
  begin(key);
  text_ += value.text;
}

std::string Writer::text() {
  for (const auto& [key, value] : rest_) field(key, value);
  return text_ + '}';
}

}  // namespace record_io

}  // namespace nodepool::model
