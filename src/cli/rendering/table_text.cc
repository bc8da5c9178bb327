#include "cli/rendering/table_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "model/node.h"

namespace nodepool::cli {

namespace {

using model::Json;
using report::Cell;
using report::Column;
using report::Duration;
using report::Time;

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t start = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', start)) {
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  lines.push_back(text.substr(start));
  return lines;
}

bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

// Cuts the line where it would be wider: at a space, or in a word that is too long for a line.
std::vector<std::string> wrap(std::string_view line, std::size_t widest) {
  std::vector<std::string> parts;
  std::size_t space = 0;  // the last one; 0: none
  std::size_t width = 0;
  for (std::size_t i = 0; i < line.size();) {
    std::size_t next = i + 1;
    while (next < line.size() && continues_character(line[next])) ++next;
    width += display_width(line.substr(i, next - i));
    if (line[i] == ' ') space = i;
    if (width <= widest || i == 0) {
      i = next;
      continue;
    }
    parts.emplace_back(line.substr(0, space > 0 ? space : i));
    line.remove_prefix(space > 0 ? space + 1 : i);
    space = width = i = 0;
  }
  parts.emplace_back(line);
  return parts;
}

std::string text_of(const Column& column, const Cell& cell) {
  if (const auto* time = std::get_if<Time>(&cell)) return time_text(*time);
  if (const auto* duration = std::get_if<Duration>(&cell)) return duration_text(*duration);
  const Json& value = std::get<Json>(cell);
  return value.is_null() ? column.nothing : cell_text(value);
}

std::string json_of(const Cell& cell) {
  if (const auto* time = std::get_if<Time>(&cell)) return fmt::format("{:.3f}", time->seconds);
  if (const auto* duration = std::get_if<Duration>(&cell)) {
    return fmt::format("{:.3f}", duration->seconds);
  }
  return std::get<Json>(cell).text;
}

std::vector<std::string> lines_of(const Column& column, const Cell& cell) {
  std::vector<std::string> lines = split_lines(text_of(column, cell));
  if (column.widest == 0) return lines;
  std::vector<std::string> wrapped;
  for (const std::string& line : lines) {
    for (std::string& part : wrap(line, column.widest)) wrapped.push_back(std::move(part));
  }
  return wrapped;
}

// One row of text: each cell is a number of lines.
using TextRow = std::vector<std::vector<std::string>>;

std::string rule(const std::vector<std::size_t>& widths) {
  std::string text = "+";
  for (const std::size_t width : widths) text.append(width + 2, '-').append("+");
  return text;
}

std::string render(const TextRow& row, const std::vector<std::size_t>& widths) {
  std::size_t height = 1;
  for (const auto& cell : row) height = std::max(height, cell.size());
  std::string text;
  for (std::size_t line = 0; line < height; ++line) {
    if (line > 0) text += '\n';
    text += '|';
    for (std::size_t column = 0; column < row.size(); ++column) {
      const std::string part = line < row[column].size() ? row[column][line] : std::string();
      text.append(" ").append(part);
      text.append(widths[column] - display_width(part) + 1, ' ').append("|");
    }
  }
  return text;
}

// The headers and all rows, without the columns that people are not shown.
std::vector<TextRow> text_rows(const report::Table& table) {
  const std::vector<Column>& columns = table.columns();
  std::vector<TextRow> rows(1);
  for (const Column& column : columns) {
    if (!column.header.empty()) rows.front().push_back({column.header});
  }
  for (const report::Row& row : table.rows()) {
    TextRow& cells = rows.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (!columns[i].header.empty()) cells.push_back(lines_of(columns[i], row[i]));
    }
  }
  return rows;
}

}  // namespace

std::string table_text(const report::Table& table) {
  const std::vector<TextRow> rows = text_rows(table);
  std::vector<std::size_t> widths(rows.front().size());
  for (const TextRow& row : rows) {
    for (std::size_t column = 0; column < row.size(); ++column) {
      for (const std::string& line : row[column]) {
        widths[column] = std::max(widths[column], display_width(line));
      }
    }
  }
  const std::string ruled = rule(widths);
  std::string text = ruled + '\n' + render(rows.front(), widths) + '\n' + ruled;
  for (std::size_t i = 1; i < rows.size(); ++i) text.append("\n").append(render(rows[i], widths));
  return text.append("\n").append(ruled);
}

std::string table_json(const report::Table& table) {
  std::string text = "[";
  for (const auto& row : table.rows()) {
    if (text.size() > 1) text += ", ";
    text += '{';
    for (std::size_t column = 0; column < row.size(); ++column) {
      if (column > 0) text += ", ";
      text += model::json_string(table.columns()[column].key).text + ": " + json_of(row[column]);
    }
    text += '}';
  }
  return text + "]";
}

std::string table_as(Format format, const report::Table& table) {
  switch (format) {
    case Format::json:
      return table_json(table);
    case Format::yaml:
      return table_yaml(table);
    case Format::text:
      break;
  }
  return table_text(table);
}

}  // namespace nodepool::cli
