#include "config/consistency.h"

#include <algorithm>
#include <map>

#include "config/nodepool_schema.h"
#include "config/wording.h"

namespace nodepool::config {

namespace {

const Schema& common_provider_schema() {
  static const Schema schema{.fields = common_provider_fields()};
  return schema;
}

// The name of a section; empty if it has none.
std::string name_in(const Section& section, std::string_view key) {
  const Value* name = section.find(key);
  return name == nullptr ? std::string() : name->text();
}

}  // namespace

std::vector<Section> provider_sections(const Section& root) {
  std::vector<Section> providers;
  for (const Section& item : root.usable_sections("providers")) {
    const std::string name = name_in(item, "name");
    const std::string path = name.empty() ? item.path() : item.path() + " (" + name + ")";
    providers.emplace_back(item.value(), common_provider_schema(), item.file(), path);
  }
  return providers;
}

DefinedNames defined_names(const Section& root) {
  DefinedNames defined;
  for (const Section& label : root.usable_sections("labels")) {
    defined.labels.insert(name_in(label, "name"));
  }
  for (const Section& image : root.usable_sections("diskimages")) {
    auto& names = image.boolean("abstract") ? defined.abstract_diskimages : defined.diskimages;
    names.insert(name_in(image, "name"));
  }
  return defined;
}

std::vector<Problem> duplicates(const Section& root) {
  struct NamedList {
    std::string_view list;
    std::string_view name;
    std::string_view kind;
  };
  constexpr NamedList kLists[] = {
      {"labels", "name", "label"},
      {"diskimages", "name", "disk image"},
      {"providers", "name", "provider"},
      {"tenant-resource-limits", "tenant-name", "tenant"},
  };
  std::vector<Problem> problems;
  for (const NamedList& named : kLists) {
    std::map<std::string, int> lines;
    for (const Section& section : root.usable_sections(named.list)) {
      const std::string name = name_in(section, named.name);
      if (name.empty()) continue;
      const auto [earlier, is_new] = lines.try_emplace(name, section.value().mark().line);
      if (is_new) continue;
      problems.push_back(section
                             .error(named.name,
                                    "the " + std::string(named.kind) + " " + in_quotes(name) +
                                        " is already defined on line " +
                                        std::to_string(earlier->second),
                                    "the last definition is used")
                             .problem());
    }
  }
  return problems;
}

std::vector<Problem> duplicate_pools(const Section& root) {
  std::vector<Problem> problems;
  for (const Section& provider : provider_sections(root)) {
    const Value* pools = provider.value().find("pools");
    if (pools == nullptr || !pools->is_list()) continue;
    std::map<std::string, int> lines;
    for (std::size_t i = 0; const Value& pool : pools->as_list()) {
      const std::string path = path_of_item(path_below(provider.path(), "pools"), i++);
      const Value* name = pool.is_mapping() ? pool.find("name") : nullptr;
      if (name == nullptr || !name->is_scalar() || name->is_null()) continue;
      const auto [earlier, is_new] = lines.try_emplace(name->text(), pool.mark().line);
      if (is_new) continue;
      problems.push_back({.file = provider.file(),
                          .mark = name->mark(),
                          .path = path_below(path, "name"),
                          .message = "the pool " + in_quotes(name->text()) +
                                     " is already defined on line " +
                                     std::to_string(earlier->second),
                          .hint = "the last definition is used"});
    }
  }
  return problems;
}

ConfigError unknown_driver(const Section& provider, std::string_view driver,
                           const DriverSchemas& drivers) {
  if (!provider.has("driver")) {
    return provider.section_error("has no `driver`: the default is " + in_quotes(kDefaultDriver));
  }
  const std::vector<std::string_view> names = keys_of(drivers.schemas);
  std::string hint = did_you_mean(driver, names);
  if (hint.empty()) hint = "must be " + alternatives(names);
  return provider.error("driver", "unknown driver " + in_quotes(driver), std::move(hint));
}

}  // namespace nodepool::config
