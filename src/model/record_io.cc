#include "model/record_io.h"

namespace nodepool::model {

Json Json::parse(std::string_view text) {
  try {
    return {record_io::dump(record_io::OrderedJson::parse(text))};
  } catch (const nlohmann::json::exception& error) {
    throw RecordError(error.what());
  }
}

namespace record_io {

namespace {

// Records come from other programs: deeper nesting than any of them writes would only serve to
// exhaust the stack.
constexpr int kMaximumDepth = 100;

[[noreturn]] void refuse(const char* key, const char* expected, const OrderedJson& value) {
  throw RecordError(std::string("'") + key + "' is " + value.type_name() + ", not " + expected);
}

void dump_to(const OrderedJson& value, std::string& out) {
  if (value.is_object()) {
    out += '{';
    bool first = true;
    for (const auto& [key, item] : value.items()) {
      if (!std::exchange(first, false)) out += ", ";
      out += OrderedJson(key).dump(-1, ' ', /*ensure_ascii=*/true);
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
  } else {
    out += value.dump(-1, ' ', /*ensure_ascii=*/true, OrderedJson::error_handler_t::replace);
  }
}

}  // namespace

std::string dump(const OrderedJson& value) {
  std::string text;
  dump_to(value, text);
  return text;
}

OrderedJson parse_object(std::string_view text) {
  if (text.empty()) throw RecordError("the record is empty");
  const auto limit_depth = [](int depth, OrderedJson::parse_event_t, OrderedJson&) {
    if (depth > kMaximumDepth) throw RecordError("nested too deeply");
    return true;
  };
  try {
    OrderedJson object = OrderedJson::parse(text, limit_depth);
    if (!object.is_object()) throw RecordError("the record is no JSON object");
    return object;
  } catch (const nlohmann::json::exception& error) {
    throw RecordError(error.what());
  }
}

OrderedJson Reader::take(const char* key) {
  const auto found = object_.find(key);
  if (found == object_.end()) return nullptr;
  OrderedJson value = std::move(*found);
  object_.erase(found);
  return value;
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
  if (!has(key)) return;
  value.text = dump(take(key));
}

UnknownKeys Reader::rest() const {
  UnknownKeys keys;
  for (const auto& [key, value] : object_.items()) keys.emplace_back(key, Json{dump(value)});
  return keys;
}

void Writer::field(const char* key, const Json& value) {
  object_[key] = OrderedJson::parse(value.text);
}

void Writer::unknown(const UnknownKeys& keys) {
  for (const auto& [key, value] : keys) object_[key] = OrderedJson::parse(value.text);
}

}  // namespace record_io

}  // namespace nodepool::model
