#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <string>
#include <variant>

#include "json/json.h"
#include "report/rendering/table_text.h"

namespace nodepool::report {

namespace {

void emit(YAML::Emitter& out, const json::Json& value) {
  if (value.is_structured() && value.empty()) out << YAML::Flow;
  if (value.is_object()) {
    out << YAML::BeginMap;
    for (const auto& [key, below] : value.items()) {
      out << YAML::Key << key << YAML::Value;
      emit(out, below);
    }
    out << YAML::EndMap;
  } else if (value.is_array()) {
    out << YAML::BeginSeq;
    for (const json::Json& item : value) emit(out, item);
    out << YAML::EndSeq;
  } else if (value.is_string()) {
    out << YAML::DoubleQuoted << value.get<std::string>();
  } else if (value.is_null()) {
    out << YAML::Null;
  } else {
    out << value.dump();  // a number or a truth value: as in JSON
  }
}

void emit(YAML::Emitter& out, const Cell& cell) {
  if (const auto* time = std::get_if<Time>(&cell)) {
    out << fmt::format("{:.3f}", time->seconds);
  } else if (const auto* duration = std::get_if<Duration>(&cell)) {
    out << fmt::format("{:.3f}", duration->seconds);
  } else {
    emit(out, json::parse(std::get<model::Json>(cell).text));
  }
}

}  // namespace

std::string table_yaml(const Table& table) {
  YAML::Emitter out;
  out << YAML::BeginSeq;
  for (const Row& row : table.rows()) {
    out << YAML::BeginMap;
    for (std::size_t column = 0; column < row.size(); ++column) {
      out << YAML::Key << table.columns()[column].key << YAML::Value;
      emit(out, row[column]);
    }
    out << YAML::EndMap;
  }
  out << YAML::EndSeq;
  return out.c_str();
}

}  // namespace nodepool::report
