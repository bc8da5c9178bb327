#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "report/table.h"

namespace nodepool::report {

// The style of a table as text.
struct Style {
  bool headers = true;       // false: rows only, without a frame, "-" for empty cells
  std::size_t width = 0;     // of the terminal, to which cells are cut; 0: unlimited
  bool colours = false;      // of states, for a terminal
  bool is_terminal = false;  // tabs are printed as blanks
};

// A framed table in the style of PrettyTable 0.7, without a newline at its end. Times are local.
// Cells wider than 2000 columns exceed their column; after 16 KiB they are cut. Contains no control
// sequences except for colours.
std::string table_text(const Table& table, const Style& style = {});

// The ids of the rows, one a line, without a newline at its end.
std::string table_names(const Table& table);

// A JSON array of objects in the form of Python's json.dumps. Times are in seconds since the epoch.
std::string table_json(const Table& table);

// A row of the table as one of these objects.
std::string row_json(const Table& table, const Row& row);

// A YAML sequence of maps, in block style, with the values of table_json(). Strings are quoted, so
// that ids stay strings. No newline at its end.
std::string table_yaml(const Table& table);

// The output format of a listing.
enum class Format { text, wide, json, yaml, names };

// With a newline at its end, unless it is empty. `style` is for text.
std::string table_as(Format format, const Table& table, const Style& style = {});

// The value as a table shows it: null as empty, the items of a list with commas between them, texts
// and numbers as they are, anything else as Python's repr(). Control characters other than newline
// and tab are escaped, so that a record cannot control the operator's terminal.
std::string cell_text(const model::Json& value);

// "2026-11-21 04:40:12.345 +0100", local time with its zone.
std::string time_text(Time time);

// "2026-11-21 04:40:12 +0100"
std::string time_text_in_seconds(Time time);

// "0.004 s", "59.000 s", "0:10:00", "26:00:00".
std::string duration_text(Duration duration);

// Whether the byte continues a UTF-8 character.
bool continues_character(char c);

// The columns of a terminal that the UTF-8 text takes. East Asian wide characters take two, a tab
// one, as in PrettyTable.
std::size_t display_width(std::string_view text);

}  // namespace nodepool::report
