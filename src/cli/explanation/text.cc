#include "cli/explanation/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace nodepool::cli {

void Text::fact(std::string_view name, const std::string& value) {
  if (!value.empty()) line(fmt::format("  {:<12}{}", name, value));
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::max(0.0, std::floor(seconds)));
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace nodepool::cli
