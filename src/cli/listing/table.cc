#include "cli/listing/table.h"

#include <algorithm>

#include "model/node.h"

namespace nodepool::cli {

namespace {

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

}  // namespace

std::string Table::text() const {
  std::vector<TextRow> rows;
  TextRow headers;
  for (const Column& column : columns_) headers.push_back({column.header});
  rows.push_back(std::move(headers));
  for (const auto& row : rows_) {
    TextRow cells;
    for (const model::Json& value : row) cells.push_back(split_lines(cell_text(value)));
    rows.push_back(std::move(cells));
  }
  std::vector<std::size_t> widths(columns_.size());
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

std::string Table::json() const {
  std::string text = "[";
  for (const auto& row : rows_) {
    if (text.size() > 1) text += ", ";
    text += '{';
    for (std::size_t column = 0; column < row.size(); ++column) {
      if (column > 0) text += ", ";
      text += model::json_string(columns_[column].key).text + ": " + row[column].text;
    }
    text += '}';
  }
  return text + "]";
}

}  // namespace nodepool::cli
