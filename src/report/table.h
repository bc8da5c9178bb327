#pragma once

#include <cstddef>
#include <string>
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

struct Column {
  std::string key;     // for programs: it does not change
  std::string header;  // for people; empty: they are not shown it
  // For people: wider cells go on in another line; 0: they may have any width.
  std::size_t widest = 0;
  std::string nothing = {};  // for people, in place of null
};

// Rows of values under named columns.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Adds a row: one value for each column.
  void add(Row row) { rows_.push_back(std::move(row)); }

  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<Row>& rows() const { return rows_; }

 private:
  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace nodepool::report
