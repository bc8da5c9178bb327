#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "report/table.h"

namespace nodepool::cli {

// A framed table in the style of PrettyTable 0.7, without a newline at its end. Times are local.
std::string table_text(const report::Table& table);

// A JSON array of objects in the form of Python's json.dumps. Times are in seconds since the epoch.
std::string table_json(const report::Table& table);

// A YAML sequence of maps, in block style, with the values of table_json(): strings are quoted, so
// that an id stays one. No newline at its end.
std::string table_yaml(const report::Table& table);

// What a listing is printed as.
enum class Format { text, json, yaml };

std::string table_as(Format format, const report::Table& table);

// What a table shows of a value: nothing for null, the items of a list with commas between them,
// texts and numbers as they are, anything else as Python's repr(). Control characters other than
// the newline become escapes: a record must not steer the operator's terminal.
std::string cell_text(const model::Json& value);

// "2026-11-21 04:40:12.345", local time.
std::string time_text(report::Time time);

// "0.004 s", "59.000 s", "0:10:00", "26:00:00".
std::string duration_text(report::Duration duration);

// How many columns of a terminal the UTF-8 text takes. East Asian wide characters take two.
std::size_t display_width(std::string_view text);

}  // namespace nodepool::cli
