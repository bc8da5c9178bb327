#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/images.h"
#include "json/json.h"

namespace nodepool::cloud {

using json::Json;  // keeps the order of addresses

// A JSON object in the response to a call. Its readers throw CloudError(failed), which names the
// call and the path, for missing values and values of the wrong type. Null counts as missing.
class Element {
 public:
  // `where` names the call and the path: "compute: list servers: servers[3]". Throws if the value
  // is no object.
  Element(Json value, std::string where);

  std::string text(std::string_view key) const;
  std::string text_or(std::string_view key, std::string otherwise = {}) const;
  bool boolean_or(std::string_view key, bool otherwise) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }
  // A number within ±2^53, where a double holds all integers exactly.
  double number(std::string_view key) const;
  std::int64_t integer(std::string_view key) const;
  std::optional<double> optional_number(std::string_view key) const;

  Element object(std::string_view key) const;
  std::optional<Element> optional_object(std::string_view key) const;
  std::vector<Element> list(std::string_view key) const;          // empty if missing
  std::vector<std::string> texts_in(std::string_view key) const;  // a list of texts; may be missing
  // An object whose values are lists of objects, in its order; empty if missing.
  std::vector<std::pair<std::string, std::vector<Element>>> lists(std::string_view key) const;
  // An object whose values are scalars, as text; empty if missing.
  driver::Metadata texts(std::string_view key) const;
  // The text values of this object itself.
  driver::Metadata own_texts() const;

 private:
  const Json* find(std::string_view key) const;
  const Json& at(std::string_view key) const;
  std::string path(std::string_view key) const;
  [[noreturn]] void fail(std::string_view key, std::string_view problem) const;

  Json value_;
  std::string where_;
};

}  // namespace nodepool::cloud
