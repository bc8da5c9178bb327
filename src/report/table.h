#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "model/record.h"

// Listings as data, independent of the output format.
namespace nodepool::report {

// A moment, in seconds since the epoch.
struct Time {
  double seconds = 0;
};

// A time span.
struct Duration {
  double seconds = 0;
};

// The JSON value may be null: no value.
using Cell = std::variant<model::Json, Time, Duration>;
using Row = std::vector<Cell>;

// How much is listed: as the Python Nodepool does, as its `--detail`, or everything.
enum class Detail { brief, full, wide };

// What happens to a value that is too wide for the terminal: it is cut, kept (as a part of it would
// be useless), or wrapped.
enum class TooWide { cut, kept, wrapped };

struct Column {
  std::string key;     // for programs: stable
  std::string header;  // for people; empty: for programs only
  // For people: wider cells are wrapped; 0: unlimited.
  std::size_t widest = 0;
  std::string nothing = {};      // for people: shown for null
  Detail since = Detail::brief;  // the least detail that includes it
  bool is_id = false;            // is part of the key of the rows
  TooWide too_wide = TooWide::cut;
};

// Rows of values under named columns.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Adds a row: one value for each column.
  void add(Row row) { rows_.push_back(std::move(row)); }

  // Sorts the rows by these columns, as texts. Their cells must be JSON values.
  void sort_by(const std::vector<std::string_view>& keys);

  // The table with these columns only, in its own order. Ignores unknown keys.
  Table only(const std::set<std::string, std::less<>>& keys) const;

  // The table with the columns of this detail only.
  Table with(Detail detail) const;

  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<Row>& rows() const { return rows_; }

 private:
  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace nodepool::report
