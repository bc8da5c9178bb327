#include "config/yaml_text.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>

#include "config/scalar.h"

namespace nodepool::config {

namespace {

// Whether YAML 1.1 reads the unquoted text as itself. (yaml-cpp quotes by the rules of YAML 1.2, in
// which `yes` and `1:30` are text.)
bool is_plain_text(const std::string& text) {
  const Value read = resolve_plain_scalar(text);
  return read.is_string() && text != "=" && text != "<<";
}

// Whether the text can be written as its lines. Other control characters, and spaces or empty lines
// at some places, need quotes.
bool is_block_of_lines(const std::string& text) {
  const bool has_odd_end = !text.ends_with('\n') || text.ends_with("\n\n") || text == "\n";
  const bool has_odd_begin = text.starts_with('\n') || text.starts_with(' ');
  return !has_odd_end && !has_odd_begin && !text.contains(" \n") &&
         text.find_first_of("\r\t\x7f\x1b") == std::string::npos;
}

void emit_text(YAML::Emitter& out, const std::string& text) {
  if (!is_plain_text(text)) {
    out << YAML::DoubleQuoted << text;
  } else if (is_block_of_lines(text)) {
    out << YAML::Literal << text.substr(0, text.size() - 1);  // the block ends with a newline
  } else {
    out << text;
  }
}

// In the notation of YAML 1.1, which wants a point: `1.0e+300`, `.inf`.
std::string number_text(double number, std::string text) {
  if (std::isnan(number)) return ".nan";
  if (std::isinf(number)) return number > 0 ? ".inf" : "-.inf";
  if (!text.contains('.')) text.insert(std::min(text.find('e'), text.size()), ".0");
  return text;
}

void emit_key(YAML::Emitter& out, const Value::Entry& entry) {
  out << YAML::Key;
  if (entry.key_kind == Value::Kind::string) {
    emit_text(out, entry.key);
  } else if (entry.key_kind == Value::Kind::null) {
    out << YAML::Null;
  } else {
    out << entry.key;
  }
}

void emit(YAML::Emitter& out, const Value& value) {
  switch (value.kind()) {
    case Value::Kind::list:
      if (value.as_list().empty()) out << YAML::Flow;
      out << YAML::BeginSeq;
      for (const Value& item : value.as_list()) emit(out, item);
      out << YAML::EndSeq;
      return;
    case Value::Kind::mapping:
      if (value.as_mapping().empty()) out << YAML::Flow;
      out << YAML::BeginMap;
      for (const Value::Entry& entry : value.as_mapping()) {
        emit_key(out, entry);
        out << YAML::Value;
        emit(out, entry.value);
      }
      out << YAML::EndMap;
      return;
    case Value::Kind::string:
      return emit_text(out, value.as_string());
    case Value::Kind::null:
      out << YAML::Null;
      return;
    case Value::Kind::boolean:
      out << value.as_boolean();
      return;
    case Value::Kind::floating:
      out << number_text(value.as_floating(), value.text());
      return;
    case Value::Kind::integer:
    case Value::Kind::date:
      out << value.text();
  }
}

}  // namespace

std::string yaml_text(const Value& value) {
  YAML::Emitter out;
  emit(out, value);
  std::string text(out.c_str(), out.size());
  if (!text.ends_with('\n')) text += '\n';
  return text;
}

}  // namespace nodepool::config
