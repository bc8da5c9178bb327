#include "json/json.h"

#include <simdjson.h>

#include <bitset>
#include <charconv>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

namespace nodepool::json {

namespace {

// The members of an object in the library's representation. Its emplace() would search for the key.
using Members = std::vector<std::pair<const std::string, Json>>;

Members& members_of(Json& object) {
  return object.get_ref<Json::object_t&>();
}

// Number of members from which keys are indexed. Most objects are smaller.
constexpr std::size_t kIndexedFrom = 64;

// Members reserved for the outermost object, to avoid copies when it grows: keys cannot be moved.
// Records have up to 50.
constexpr std::size_t kExpectedMembers = 48;

// A Bloom filter for the keys of an object.
class SeenKeys {
 public:
  // Adds the key. Returns false if it was certainly not added before.
  bool add(std::string_view key) {
    const std::size_t bit = std::hash<std::string_view>()(key) % bits_.size();
    const bool may_be_known = bits_[bit];
    bits_[bit] = true;
    return may_be_known;
  }

 private:
  std::bitset<512> bits_;
};

struct ValueLimits {
  std::size_t values;
  std::size_t depth;
};

// Builds a value from the events of a parser.
class Builder {
 public:
  explicit Builder(const ValueLimits& limits) : values_left_(limits.values), depth_(limits.depth) {}

  Json take() { return std::move(root_); }

  void put(Json value) { insert(std::move(value)); }

  void open(Json container) {
    if (open_.size() == depth_) throw ParseError("nested too deeply");
    Json& value = insert(std::move(container));
    if (open_.empty() && value.is_object()) members_of(value).reserve(kExpectedMembers);
    open_.push_back({.value = &value});
  }

  void close() { open_.pop_back(); }

  void key(std::string name) {
    Open& object = open_.back();
    Members& members = members_of(*object.value);
    const std::size_t known = object.seen.add(name) ? position_of(object, name) : members.size();
    if (known == members.size()) {
      if (!object.index.empty()) object.index.emplace(name, known);
      members.emplace_back(std::move(name), nullptr);
      if (members.size() == kIndexedFrom) {
        for (const auto& [key, value] : members) object.index.emplace(key, object.index.size());
      }
    }
    object.position = known;
  }

 private:
  // A list or object that is not complete. `value` remains valid: only the innermost one grows.
  struct Open {
    Json* value;
    std::size_t position = 0;  // of the value of the last key
    SeenKeys seen = {};
    std::unordered_map<std::string, std::size_t> index =
        {};  // positions of keys, for large objects
  };

  // Returns the position of the key; the number of members if it is new.
  static std::size_t position_of(const Open& object, const std::string& key) {
    const Members& members = members_of(*object.value);
    if (!object.index.empty()) {
      const auto found = object.index.find(key);
      return found == object.index.end() ? members.size() : found->second;
    }
    std::size_t position = 0;
    while (position < members.size() && members[position].first != key) ++position;
    return position;
  }

  Json& insert(Json value) {
    if (values_left_ == 0) throw ParseError("too many values");
    --values_left_;
    if (open_.empty()) return root_ = std::move(value);
    Open& container = open_.back();
    if (container.value->is_array()) {
      auto& items = container.value->get_ref<Json::array_t&>();
      return items.emplace_back(std::move(value));
    }
    return members_of(*container.value)[container.position].second = std::move(value);
  }

  std::size_t values_left_;
  std::size_t depth_;
  Json root_;
  std::vector<Open> open_;  // the innermost last
};

// What becomes of an integer beyond 64 bits.
enum class LargeIntegers { rounded, kept };

// The library's parser: reports errors with their position, and accepts integers of any size.
class SlowParser final : public nlohmann::json_sax<Json> {
 public:
  SlowParser(Builder& builder, LargeIntegers large) : builder_(builder), large_(large) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(std::int64_t value) override { return put(value); }
  bool number_unsigned(std::uint64_t value) override { return put(value); }
  bool number_float(double value, const std::string& text) override {
    const bool is_integer = text.find_first_of(".eE") == std::string::npos;
    if (!is_integer || large_ == LargeIntegers::rounded) return put(value);
    return put(Json::binary(Json::binary_t::container_type(text.begin(), text.end())));
  }
  bool string(std::string& value) override { return put(std::move(value)); }
  bool binary(Json::binary_t&) override { return false; }  // not in JSON text
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    builder_.key(std::move(name));
    return true;
  }

  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::detail::exception& error) override {
    throw ParseError(error.what());
  }

 private:
  bool put(Json value) {
    builder_.put(std::move(value));
    return true;
  }

  bool open(Json container) {
    builder_.open(std::move(container));
    return true;
  }

  bool close() {
    builder_.close();
    return true;
  }

  Builder& builder_;
  LargeIntegers large_;
};

// simdjson's parser, for objects and lists only: version 3.0 reads long numbers in other texts
// wrongly. Throws simdjson_error.
class FastParser {
 public:
  explicit FastParser(Builder& builder) : builder_(builder) {}

  void read(std::string_view text) {
    const simdjson::padded_string padded(text);
    simdjson::ondemand::parser parser;
    simdjson::ondemand::document document = parser.iterate(padded);
    if (document.type() == json_type::object) {
      read_object(document.get_object());
    } else {
      read_array(document.get_array());
    }
    if (document.current_location().error() != simdjson::OUT_OF_BOUNDS) {
      throw simdjson::simdjson_error(simdjson::TAPE_ERROR);
    }
  }

 private:
  using json_type = simdjson::ondemand::json_type;
  using number_type = simdjson::ondemand::number_type;

  // NOLINTBEGIN(misc-no-recursion): the builder limits it.
  void read_object(simdjson::ondemand::object object) {
    builder_.open(Json::object());
    for (simdjson::ondemand::field field : object) {
      builder_.key(std::string(std::string_view(field.unescaped_key())));
      read_value(field.value());
    }
    builder_.close();
  }

  void read_array(simdjson::ondemand::array array) {
    builder_.open(Json::array());
    for (simdjson::ondemand::value item : array) read_value(item);
    builder_.close();
  }

  void read_value(simdjson::ondemand::value value) {
    switch (json_type(value.type())) {
      case json_type::object:
        return read_object(value.get_object());
      case json_type::array:
        return read_array(value.get_array());
      case json_type::string:
        return builder_.put(std::string_view(value.get_string()));
      case json_type::number:
        return read_number(value);
      case json_type::boolean:
        return builder_.put(bool(value.get_bool()));
      case json_type::null:
        if (!bool(value.is_null())) throw simdjson::simdjson_error(simdjson::N_ATOM_ERROR);
        return builder_.put(nullptr);
    }
  }
  // NOLINTEND(misc-no-recursion)

  // Not by get_number(): with it simdjson 3.0 reads a number of more than 19 digits as 0.
  void read_number(simdjson::ondemand::value value) {
    if (number_type(value.get_number_type()) == number_type::floating_point_number) {
      return builder_.put(double(value.get_double()));
    }
    const simdjson::simdjson_result<std::uint64_t> natural = value.get_uint64();
    if (natural.error() == simdjson::SUCCESS) return builder_.put(natural.value_unsafe());
    builder_.put(std::int64_t(value.get_int64()));
  }

  Builder& builder_;
};

Json parse_within(std::string_view text, const ValueLimits& limits, LargeIntegers large) {
  try {
    Builder builder(limits);
    FastParser(builder).read(text);
    return builder.take();
  } catch (const simdjson::simdjson_error&) {
    Builder builder(limits);
    SlowParser parser(builder, large);
    Json::sax_parse(text, &parser);
    return builder.take();
  }
}

constexpr std::size_t kEscapeSize = 6;  // of "\ud83d"

// The UTF-16 code unit of the escape at the start of `text`; nothing: there is none.
std::optional<unsigned> escaped_unit(std::string_view text) {
  if (text.size() < kEscapeSize || !text.starts_with("\\u")) return std::nullopt;
  unsigned unit = 0;
  const char* const end = text.data() + kEscapeSize;
  const auto [stop, error] = std::from_chars(text.data() + 2, end, unit, 16);
  return error == std::errc() && stop == end ? std::optional(unit) : std::nullopt;
}

// The text with U+FFFD for each escape of a surrogate without its other half.
std::string replace_lone_surrogates(std::string text) {
  const auto unit_at = [&text](std::size_t at) {
    return at < text.size() ? escaped_unit(std::string_view(text).substr(at)).value_or(0) : 0;
  };
  const auto is_high = [](unsigned unit) { return unit >= 0xd800 && unit <= 0xdbff; };
  const auto is_low = [](unsigned unit) { return unit >= 0xdc00 && unit <= 0xdfff; };
  std::size_t at = text.find('\\');
  while (at != std::string::npos) {
    const unsigned unit = unit_at(at);
    std::size_t size = unit == 0 ? 2 : kEscapeSize;
    if (is_high(unit) && is_low(unit_at(at + kEscapeSize))) {
      size = 2 * kEscapeSize;
    } else if (is_high(unit) || is_low(unit)) {
      text.replace(at, kEscapeSize, "\\ufffd");
    }
    at = text.find('\\', at + size);
  }
  return text;
}

}  // namespace

Json parse(std::string_view text) {
  return parse_within(
      text, {.values = kFreeValues + text.size() / kBytesPerValue, .depth = kMaximumDepth},
      LargeIntegers::rounded);
}

Json parse_record(std::string_view text) {
  const ValueLimits limits{.values = kMaximumRecordValues, .depth = kMaximumRecordDepth};
  try {
    return parse_within(text, limits, LargeIntegers::kept);
  } catch (const ParseError&) {
    const std::string readable = replace_lone_surrogates(std::string(text));
    if (readable == text) throw;
    return parse_within(readable, limits, LargeIntegers::kept);
  }
}

std::string to_text(const Json& value) {
  return value.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace nodepool::json
