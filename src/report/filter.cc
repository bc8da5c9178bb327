#include "report/filter.h"

#include <algorithm>
#include <string_view>

#include "json/json.h"

namespace nodepool::report {

namespace {

bool is_text(const json::Json& value, const std::string& text) {
  if (value.is_string()) return value.get_ref<const std::string&>() == text;
  return !value.is_null() && value.dump() == text;
}

bool has_one_of(const Cell& cell, const std::vector<std::string>& texts) {
  const auto* json = std::get_if<model::Json>(&cell);
  if (json == nullptr) return false;
  const json::Json value = json::parse(json->text);
  return std::ranges::any_of(texts, [&value](const std::string& text) {
    if (!value.is_array()) return is_text(value, text);
    return std::ranges::any_of(value, [&](const json::Json& item) { return is_text(item, text); });
  });
}

}  // namespace

Table matching(const Table& table, const Filters& filters) {
  Table chosen(table.columns());
  for (const Row& row : table.rows()) {
    const bool matches = std::ranges::all_of(filters, [&](const auto& filter) {
      const auto column = std::ranges::find(table.columns(), filter.first, &Column::key);
      if (column == table.columns().end()) return false;
      return has_one_of(row.at(static_cast<std::size_t>(column - table.columns().begin())),
                        filter.second);
    });
    if (matches) chosen.add(row);
  }
  return chosen;
}

}  // namespace nodepool::report
