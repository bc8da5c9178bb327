#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "report/table.h"

namespace nodepool::report {

// What a table looks like as text.
struct Style {
  bool headers = true;    // false: rows alone, without a frame, "-" for what is empty
  std::size_t width = 0;  // of the terminal: longer cells are cut to fit it; 0: there is none
  bool colours = false;   // of states, for a terminal
};

// A framed table in the style of PrettyTable 0.7, without a newline at its end. Times are local.
// Nothing in it steers a terminal but the colours.
std::string table_text(const Table& table, const Style& style = {});

// What tells the rows apart, one a line, without a newline at its end: ids.
std::string table_names(const Table& table);

// A JSON array of objects in the form of Python's json.dumps. Times are in seconds since the epoch.
std::string table_json(const Table& table);

// A YAML sequence of maps, in block style, with the values of table_json(): strings are quoted, so
// that an id stays one. No newline at its end.
std::string table_yaml(const Table& table);

// What a listing is printed as.
enum class Format { text, wide, json, yaml, names };

// With a newline at its end, unless there is nothing to print. `style` is for text.
std::string table_as(Format format, const Table& table, const Style& style = {});

// What a table shows of a value: nothing for null, the items of a list with commas between them,
// texts and numbers as they are, anything else as Python's repr(). Control characters other than
// the newline become escapes: a record must not steer the operator's terminal.
std::string cell_text(const model::Json& value);

// "2026-11-21 04:40:12.345 +0100", local time with its zone.
std::string time_text(Time time);

// "2026-11-21 04:40:12 +0100"
std::string time_text_in_seconds(Time time);

// "0.004 s", "59.000 s", "0:10:00", "26:00:00".
std::string duration_text(Duration duration);

// Whether the byte is one of a UTF-8 character, and not its first.
bool continues_character(char c);

// How many columns of a terminal the UTF-8 text takes. East Asian wide characters take two.
std::size_t display_width(std::string_view text);

}  // namespace nodepool::report
