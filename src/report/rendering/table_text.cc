#include "report/rendering/table_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "model/node.h"
#include "report/rendering/fitting.h"

namespace nodepool::report {

namespace {

using model::Json;

// The bytes of a cell that are shown.
constexpr std::size_t kLongestCell = std::size_t{16} << 10U;

// Wider cells do not widen their column: one value of a record would add as many blanks to each
// row.
constexpr std::size_t kWidestCell = 2000;

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

// Wraps the line at spaces, or inside a word that is too long.
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

// The names of an object's members, each with the colon.
std::vector<std::string> json_keys(const Table& table) {
  std::vector<std::string> keys;
  for (const Column& column : table.columns()) {
    keys.push_back(model::json_string(column.key).text + ": ");
  }
  return keys;
}

void append_object(std::string& text, const std::vector<std::string>& keys, const Row& row) {
  text += '{';
  for (std::size_t column = 0; column < row.size(); ++column) {
    if (column > 0) text += ", ";
    text.append(keys[column]).append(json_of(row[column]));
  }
  text += '}';
}

// Wraps each line of the text.
std::string wrapped(const std::string& text, std::size_t widest) {
  std::string all;
  for (const std::string& line : split_lines(text)) {
    for (const std::string& part : wrap(line, widest)) all.append(part).append("\n");
  }
  all.pop_back();
  return all;
}

// The cell as shown: lines with '\n' between them.
std::string shown(const Column& column, const Cell& cell) {
  std::string text = text_of(column, cell);
  if (text.size() > kLongestCell) {
    std::size_t end = kLongestCell;
    while (end > 0 && continues_character(text[end])) --end;
    text.replace(end, std::string::npos, "…");
  }
  return column.widest == 0 ? text : wrapped(text, column.widest);
}

using TextRow = std::vector<std::string>;

// The cells of the columns for people.
struct TextTable {
  std::vector<const Column*> columns;
  std::vector<TextRow> rows;  // the headers first, if they are shown
};

std::size_t widest_line(const std::string& cell) {
  if (!cell.contains('\n')) return display_width(cell);
  std::size_t widest = 0;
  for (const std::string& line : split_lines(cell)) widest = std::max(widest, display_width(line));
  return widest;
}

std::string rule(const std::vector<std::size_t>& widths) {
  std::string text = "+";
  for (const std::size_t width : widths) text.append(width + 2, '-').append("+");
  return widths.empty() ? "++" : text;
}

// Builds the lines of a table.
class Lines {
 public:
  Lines(const TextTable& table, const Style& style) : table_(table), style_(style) {
    std::vector<ColumnWidth> natural(table.columns.size());
    for (std::size_t i = 0; i < natural.size(); ++i) {
      const Column& column = *table.columns[i];
      natural[i].is_fixed = column.is_id || column.too_wide == TooWide::kept;
    }
    for (const TextRow& row : table.rows) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        const std::size_t width = widest_line(row[i]);
        if (width > kWidestCell && style.width == 0) continue;
        natural[i].width = std::max(natural[i].width, width);
      }
    }
    const std::size_t unlimited = std::numeric_limits<std::size_t>::max();
    widths_ = fitted(std::move(natural), style.width == 0 ? unlimited : style.width);
  }

  const std::vector<std::size_t>& widths() const { return widths_; }

  void append(std::string& text, const TextRow& row, bool is_header) const {
    if (style_.width == 0) return append_row(text, row, is_header);
    TextRow narrow = row;
    for (std::size_t i = 0; i < narrow.size(); ++i) {
      if (table_.columns[i]->too_wide != TooWide::wrapped) continue;
      narrow[i] = wrapped(narrow[i], widths_[i]);
    }
    append_row(text, narrow, is_header);
  }

 private:
  void append_row(std::string& text, const TextRow& row, bool is_header) const {
    const auto has_lines = [](const std::string& cell) { return cell.contains('\n'); };
    if (std::ranges::none_of(row, has_lines)) return append_line(text, row, is_header);
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 1;
    for (const std::string& cell : row) {
      height = std::max(height, cells.emplace_back(split_lines(cell)).size());
    }
    for (std::size_t line = 0; line < height; ++line) {
      TextRow parts;
      for (const auto& lines : cells) {
        parts.push_back(line < lines.size() ? lines[line] : std::string());
      }
      if (line > 0) text += '\n';
      append_line(text, parts, is_header);
    }
  }

  void append_line(std::string& text, const TextRow& cells, bool is_header) const {
    if (style_.headers && !cells.empty()) text += '|';
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const bool is_last = i + 1 == cells.size();
      std::size_t width = display_width(cells[i]);
      if (style_.headers) text += ' ';
      if (width > widths_[i] && style_.width > 0) {
        const std::string part = cut(cells[i], widths_[i]);
        width = display_width(part);
        append_cell(text, i, part, is_header);
      } else {
        append_cell(text, i, cells[i], is_header);
      }
      const std::size_t blanks = widths_[i] - std::min(width, widths_[i]);
      if (style_.headers) {
        text.append(blanks + 1, ' ').append("|");
      } else if (!is_last) {
        text.append(blanks + 2, ' ');
      }
    }
  }

  void append_cell(std::string& text, std::size_t column, const std::string& cell,
                   bool is_header) const {
    const bool is_state = style_.colours && !is_header && table_.columns[column]->key == "state";
    const std::string_view colour = is_state ? colour_of_state(cell) : std::string_view();
    if (colour.empty()) {
      text += cell;
    } else {
      text.append("\x1b[").append(colour).append("m").append(cell).append("\x1b[0m");
    }
  }

  const TextTable& table_;
  const Style& style_;
  std::vector<std::size_t> widths_;
};

TextTable text_table(const Table& table, const Style& style) {
  const std::vector<Column>& columns = table.columns();
  TextTable text;
  text.rows.reserve(table.rows().size() + 1);
  TextRow headers;
  for (const Column& column : columns) {
    if (column.header.empty()) continue;
    text.columns.push_back(&column);
    headers.push_back(column.header);
  }
  if (style.headers) text.rows.push_back(std::move(headers));
  for (const Row& row : table.rows()) {
    TextRow& cells = text.rows.emplace_back();
    cells.reserve(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (columns[i].header.empty()) continue;
      cells.push_back(shown(columns[i], row[i]));
      // So that splitting a line at blanks yields every column.
      if (!style.headers && cells.back().empty()) cells.back() = "-";
      // On a terminal, a tab would take more columns than display_width() says.
      if (style.is_terminal) std::ranges::replace(cells.back(), '\t', ' ');
    }
  }
  return text;
}

std::string rows_alone(const TextTable& table, const Lines& lines) {
  std::string text;
  for (const TextRow& row : table.rows) {
    if (!text.empty()) text += '\n';
    lines.append(text, row, /*is_header=*/false);
  }
  return text;
}

}  // namespace

std::string table_text(const Table& table, const Style& style) {
  const TextTable cells = text_table(table, style);
  const Lines lines(cells, style);
  if (!style.headers) return rows_alone(cells, lines);
  const std::string ruled = rule(lines.widths());
  std::string text = ruled + '\n';
  text.reserve((ruled.size() + 1) * (cells.rows.size() + 3));
  lines.append(text, cells.rows.front(), /*is_header=*/true);
  if (lines.widths().empty()) text += "||";
  text.append("\n").append(ruled);
  for (std::size_t i = 1; i < cells.rows.size(); ++i) {
    text += '\n';
    lines.append(text, cells.rows[i], /*is_header=*/false);
  }
  return text.append("\n").append(ruled);
}

std::string table_names(const Table& table) {
  std::string text;
  for (const Row& row : table.rows()) {
    if (!text.empty()) text += '\n';
    bool is_first = true;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (!table.columns()[i].is_id) continue;
      if (!is_first) text += '/';
      text += text_of(table.columns()[i], row[i]);
      is_first = false;
    }
  }
  return text;
}

std::string table_json(const Table& table) {
  const std::vector<std::string> keys = json_keys(table);
  std::string text = "[";
  for (const Row& row : table.rows()) {
    if (text.size() > 1) text += ", ";
    append_object(text, keys, row);
  }
  return text + "]";
}

std::string row_json(const Table& table, const Row& row) {
  std::string text;
  append_object(text, json_keys(table), row);
  return text;
}

std::string table_as(Format format, const Table& table, const Style& style) {
  std::string text;
  switch (format) {
    case Format::json:
      text = table_json(table);
      break;
    case Format::yaml:
      text = table_yaml(table);
      break;
    case Format::names:
      text = table_names(table);
      break;
    case Format::text:
    case Format::wide:
      text = table_text(table, style);
      break;
  }
  if (!text.empty()) text += '\n';
  return text;
}

}  // namespace nodepool::report
