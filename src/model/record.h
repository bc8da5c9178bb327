#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace nodepool::model {

// An opaque JSON value, as JSON text in the form that the Python Nodepool writes (", " and ": "
// between parts, ASCII only).
struct Json {
  std::string text = "null";

  bool is_null() const { return text == "null"; }
  friend bool operator==(const Json&, const Json&) = default;

  // Validates JSON text and converts it into this form. Throws RecordError.
  static Json parse(std::string_view text);

  // The value of a JSON string; empty for other values.
  std::string string_value() const;
};

// Unknown keys of a record, in their order. They are preserved on write.
using UnknownKeys = std::vector<std::pair<std::string, Json>>;

// An invalid record. Readers skip it and log its path.
class RecordError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace nodepool::model
