#include "report/rendering/status_text.h"

#include <fmt/format.h>

#include "model/record.h"

namespace nodepool::report {

namespace {

std::string status_text(const Status& status, const Style& style) {
  std::string text = fmt::format("Nodepool: {}\n", to_string(status.level));
  for (const StatusSection& section : status.sections) {
    if (section.table.rows().empty()) continue;
    text += fmt::format("\n{}\n{}\n", section.title, table_text(section.table, style));
  }
  return text;
}

std::string status_json(const Status& status) {
  std::string text = fmt::format(R"({{"status": "{}")", to_string(status.level));
  for (const StatusSection& section : status.sections) {
    text += fmt::format(R"(, "{}": {})", section.key, table_json(section.table));
  }
  return text + "}\n";
}

std::string status_yaml(const Status& status) {
  std::string text = fmt::format("status: {}\n", to_string(status.level));
  for (const StatusSection& section : status.sections) {
    const bool is_empty = section.table.rows().empty();
    text +=
        section.key + (is_empty ? std::string(": []\n") : ":\n" + table_yaml(section.table) + "\n");
  }
  return text;
}

}  // namespace

std::string status_as(Format format, const Status& status, const Style& style) {
  switch (format) {
    case Format::json:
      return status_json(status);
    case Format::yaml:
      return status_yaml(status);
    case Format::text:
    case Format::wide:
    case Format::names:
      break;
  }
  return status_text(status, style);
}

}  // namespace nodepool::report
