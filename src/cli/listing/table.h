#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "model/record.h"

namespace nodepool::cli {

struct Column {
  std::string key;     // in JSON
  std::string header;  // in text
  // In text, wider cells go on in another line; 0: they may have any width.
  std::size_t widest = 0;
};

// Rows of JSON values under named columns, to be shown to people or to programs.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Adds a row: one value for each column.
  void add(std::vector<model::Json> row) { rows_.push_back(std::move(row)); }

  // A framed table in the style of PrettyTable 0.7, without a newline at its end.
  std::string text() const;

  // A JSON array of objects in the form of Python's json.dumps.
  std::string json() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<model::Json>> rows_;
};

// What a table shows of a value: nothing for null, the items of a list with commas between them,
// texts and numbers as they are, anything else as Python's repr(). Control characters other than
// the newline become escapes: a record must not steer the operator's terminal.
std::string cell_text(const model::Json& value);

// How many columns of a terminal the UTF-8 text takes. East Asian wide characters take two.
std::size_t display_width(std::string_view text);

}  // namespace nodepool::cli
