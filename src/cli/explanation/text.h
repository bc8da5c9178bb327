#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nodepool::cli {

// The lines of an explanation, as they grow.
class Text {
 public:
  void line(std::string text) { lines_.push_back(std::move(text)); }
  // "  name        value"; nothing if there is no value.
  void fact(std::string_view name, const std::string& value);
  std::vector<std::string> lines() && { return std::move(lines_); }

 private:
  std::vector<std::string> lines_;
};

// Seconds as "0:01:05", "26:00:00"; less than none as none.
std::string duration_text(double seconds);

}  // namespace nodepool::cli
