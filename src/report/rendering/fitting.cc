#include "report/rendering/fitting.h"

#include <algorithm>
#include <array>
#include <utility>

#include "report/rendering/table_text.h"

namespace nodepool::report {

namespace {

constexpr std::size_t kNarrowest = 6;
constexpr std::size_t kFrame = 3;  // "| " before a cell, and " " after it

}  // namespace

std::vector<std::size_t> fitted(std::vector<ColumnWidth> columns, std::size_t available) {
  std::size_t total = 1;
  for (const ColumnWidth& column : columns) total += column.width + kFrame;
  while (total > available) {
    ColumnWidth* widest = nullptr;
    for (ColumnWidth& column : columns) {
      if (column.is_fixed || column.width <= kNarrowest) continue;
      if (widest == nullptr || column.width > widest->width) widest = &column;
    }
    if (widest == nullptr) break;
    --widest->width;
    --total;
  }
  std::vector<std::size_t> widths;
  widths.reserve(columns.size());
  for (const ColumnWidth& column : columns) widths.push_back(column.width);
  return widths;
}

std::string cut(std::string_view line, std::size_t width) {
  if (display_width(line) <= width) return std::string(line);
  std::size_t end = 0;  // of what is kept
  std::size_t taken = 0;
  while (end < line.size()) {
    std::size_t next = end + 1;
    while (next < line.size() && continues_character(line[next])) ++next;
    taken += display_width(line.substr(end, next - end));
    if (taken + 1 > width) break;
    end = next;
  }
  return std::string(line.substr(0, end)) + "…";
}

std::string_view colour_of_state(std::string_view state) {
  constexpr std::string_view kGreen = "32";
  constexpr std::string_view kYellow = "33";
  constexpr std::string_view kRed = "31";
  constexpr std::string_view kMagenta = "35";
  constexpr std::string_view kCyan = "36";
  constexpr std::string_view kFaint = "2";
  constexpr std::array<std::pair<std::string_view, std::string_view>, 16> kColours = {
      {{"ready", kGreen},
       {"fulfilled", kGreen},
       {"in-use", kCyan},
       {"init", kYellow},
       {"building", kYellow},
       {"testing", kYellow},
       {"requested", kYellow},
       {"pending", kYellow},
       {"uploading", kYellow},
       {"hold", kMagenta},
       {"paused", kMagenta},
       {"failed", kRed},
       {"aborted", kRed},
       {"used", kFaint},
       {"deleting", kFaint},
       {"deleted", kFaint}}};
  const auto* const found =
      std::ranges::find(kColours, state, &decltype(kColours)::value_type::first);
  return found == kColours.end() ? std::string_view() : found->second;
}

}  // namespace nodepool::report
