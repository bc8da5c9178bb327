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

// What is listed and explained, as data: whoever shows it gives it a form.
namespace nodepool::report {

// A moment, in seconds since the epoch.
struct Time {
  double seconds = 0;
};

// A time span.
struct Duration {
  double seconds = 0;
};

// A JSON value says what it is: text, number, truth, list, object; null is nothing.
using Cell = std::variant<model::Json, Time, Duration>;
using Row = std::vector<Cell>;

// How much is listed: what the Python Nodepool does, its `--detail`, or all that there is.
enum class Detail { brief, full, wide };

// What becomes of a value that is wider than the terminal has room for: it is cut; it is not,
// because a part of it would say nothing; or it goes on in another line.
enum class TooWide { cut, kept, wrapped };

struct Column {
  std::string key;     // for programs: it does not change
  std::string header;  // for people; empty: they are not shown it
  // For people: wider cells go on in another line; 0: they may have any width.
  std::size_t widest = 0;
  std::string nothing = {};      // for people, in place of null
  Detail since = Detail::brief;  // with less, it is left out
  bool is_id = false;            // it is, or begins, what tells the rows apart
  TooWide too_wide = TooWide::cut;
};

// Rows of values under named columns.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Adds a row: one value for each column.
  void add(Row row) { rows_.push_back(std::move(row)); }

  // Sorts the rows by the values of these columns, as texts; they must be JSON values.
  void sort_by(const std::vector<std::string_view>& keys);

  // Only these columns, by their keys, in the table's own order; unknown ones count for nothing.
  Table only(const std::set<std::string, std::less<>>& keys) const;

  // Only the columns that belong to so much detail.
  Table with(Detail detail) const;

  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<Row>& rows() const { return rows_; }

 private:
  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace nodepool::report
