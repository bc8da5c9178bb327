#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace nodepool::model {

// A JSON value that Nodepool carries without looking into it, as compact JSON text in the form that
// the Python Nodepool writes (", " and ": " between parts, ASCII only).
struct Json {
  std::string text = "null";

  bool is_null() const { return text == "null"; }
  friend bool operator==(const Json&, const Json&) = default;

  // Checks that `text` is JSON and brings it into the canonical form. Throws RecordError.
  static Json parse(std::string_view text);

  // The text of a JSON string; empty if it is something else.
  std::string string_value() const;
};

// Keys of a record that this version does not know, in their order: they are written back.
using UnknownKeys = std::vector<std::pair<std::string, Json>>;

// A record that cannot be understood: one bad record is skipped, and reported with its path by
// whoever read it.
class RecordError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace nodepool::model
