#include "report/table.h"

#include <algorithm>

namespace nodepool::report {

void Table::sort_by(const std::vector<std::string_view>& keys) {
  std::vector<std::size_t> positions;
  for (const std::string_view key : keys) {
    const auto column = std::ranges::find(columns_, key, &Column::key);
    positions.push_back(static_cast<std::size_t>(column - columns_.begin()));
  }
  std::ranges::sort(rows_, [&positions](const Row& one, const Row& other) {
    for (const std::size_t position : positions) {
      const std::string& left = std::get<model::Json>(one.at(position)).text;
      const std::string& right = std::get<model::Json>(other.at(position)).text;
      if (left != right) return left < right;
    }
    return false;
  });
}

Table Table::with(Detail detail) const {
  std::set<std::string, std::less<>> keys;
  for (const Column& column : columns_) {
    if (column.since <= detail) keys.insert(column.key);
  }
  return keys.size() == columns_.size() ? *this : only(keys);
}

Table Table::only(const std::set<std::string, std::less<>>& keys) const {
  std::vector<Column> columns;
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (!keys.contains(columns_[i].key)) continue;
    columns.push_back(columns_[i]);
    positions.push_back(i);
  }
  Table chosen(std::move(columns));
  for (const Row& row : rows_) {
    Row& cells = chosen.rows_.emplace_back();
    for (const std::size_t position : positions) cells.push_back(row[position]);
  }
  return chosen;
}

}  // namespace nodepool::report
