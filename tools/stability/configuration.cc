#include <string>
#include <string_view>

#include "api/token_file.h"
#include "config/nodepool_schema.h"
#include "config/schema.h"
#include "config/wording.h"
#include "drivers/registry.h"
#include "names.h"

namespace nodepool::stability {

namespace {

using config::Field;
using config::Schema;
using config::Type;

void add_section(Names& names, const Schema& schema, const std::string& path);

// Each type and word that a value may have is a line, because a release may add others.
void add_type(Names& names, const Type& type, const std::string& path) {
  using Kind = Type::Kind;
  switch (type.kind) {
    case Kind::one_of:
      for (const Type& part : type.parts) add_type(names, part, path);
      return;
    case Kind::list:
      names.push_back(path + ": list");
      add_type(names, type.parts.front(), path + "[]");
      return;
    case Kind::mapping:
      names.push_back(path + ": mapping");
      add_type(names, type.parts.front(), path + ".*");
      return;
    case Kind::section:
      names.push_back(path + ": section");
      add_section(names, *type.section, path);
      return;
    default:
      break;
  }
  for (const std::string_view word : type.words) {
    names.push_back(path + ": " + config::in_quotes(word));
  }
  if (type.words.empty()) names.push_back(path + ": " + type_name(type));
}

void add_section(Names& names, const Schema& schema, const std::string& path) {
  for (const Field& field : schema.fields) {
    const std::string key = config::path_below(path, field.key);
    add_type(names, field.type, key);
    if (field.required == config::Required::never) names.push_back(key + ": optional");
  }
  if (schema.other_keys) add_type(names, schema.other_keys->type, path + ".*");
}

}  // namespace

Names configuration_names() {
  Names names;
  add_section(names, config::nodepool_schema(), "");
  add_section(names, config::secure_schema(), "secure file");
  add_section(names, api::token_file_schema(), "token file");
  const driver::DriverRegistry drivers = drivers::all_drivers();
  for (const auto& [driver, schema] : drivers.schemas().schemas) {
    add_section(names, config::provider_schema(*schema), "providers[] of " + driver);
  }
  return names;
}

}  // namespace nodepool::stability
