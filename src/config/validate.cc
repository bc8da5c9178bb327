#include "config/validate.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <tuple>

#include "config/check.h"
#include "config/consistency.h"
#include "config/diskimages.h"
#include "config/document.h"
#include "config/nodepool_schema.h"
#include "config/wording.h"
#include "config/yaml.h"

namespace nodepool::config {

namespace {

void append(std::vector<Problem>& problems, std::vector<Problem> more) {
  std::ranges::move(more, std::back_inserter(problems));
}

void add_default_driver(std::string& hint) {
  const std::string separator = hint.empty() ? "" : "; ";
  hint = "without `driver`, the provider is " + in_quotes(kDefaultDriver) + separator + hint;
}

void check_providers(const Section& root, const DriverSchemas& drivers, const DefinedNames& defined,
                     std::vector<Problem>& problems) {
  for (const Section& provider : provider_sections(root)) {
    const CheckOptions options{
        .file = provider.file(), .path = provider.path(), .defined = &defined};
    const std::string driver = driver_of(provider.value(), drivers);
    const auto found = drivers.schemas.find(driver);
    if (found != drivers.schemas.end()) {
      std::vector<Problem> own = check(provider.value(), provider_schema(*found->second), options);
      const bool is_by_default = !provider.has("driver") && driver == kDefaultDriver;
      // Without this, the problems of its keys are hard to understand.
      if (!own.empty() && is_by_default) add_default_driver(own.front().hint);
      append(problems, std::move(own));
      continue;
    }
    problems.push_back(unknown_driver(provider, driver, drivers).problem());
    // Only the common keys of an unknown driver can be checked.
    const Schema common{.fields = common_provider_fields(),
                        .other_keys = OtherKeys{.type = anything()}};
    append(problems, check(provider.value(), common, options));
  }
}

void check_diskimages(const Section& root, std::vector<Problem>& problems) {
  std::vector<Section> entries = root.usable_sections("diskimages");
  std::erase_if(entries, [](const Section& entry) {
    const Value* name = entry.find("name");
    const Value* parent = entry.find("parent");
    return name == nullptr || !name->is_scalar() || (parent != nullptr && !parent->is_scalar());
  });
  const DiskImageFamily family(entries);
  for (const Section& entry : entries) {
    try {
      family.ancestors(entry);
      family.check(entry);
    } catch (const ConfigError& error) {
      problems.push_back(error.problem());
    }
  }
}

// All descendants of an image report its missing parent.
void remove_repeated(std::vector<Problem>& problems) {
  const auto repeated = std::ranges::unique(
      problems, {}, [](const Problem& problem) { return std::tie(problem.mark, problem.message); });
  problems.erase(repeated.begin(), repeated.end());
}

std::vector<Problem> check_document(const Value& document, const std::string& file,
                                    const DriverSchemas& drivers) {
  const Section root(document, nodepool_schema(), file, "");
  const DefinedNames defined = defined_names(root);
  std::vector<Problem> problems =
      check(document, nodepool_schema(), {.file = file, .defined = &defined});
  check_providers(root, drivers, defined, problems);
  append(problems, duplicates(root));
  check_diskimages(root, problems);
  sort_by_position(problems);
  remove_repeated(problems);
  return problems;
}

}  // namespace

std::vector<Problem> validate(std::string_view text, std::string_view file,
                              const Environment& environment, const DriverSchemas& drivers) {
  try {
    const Value document = parse_document(std::string(text), environment, file);
    return check_document(document, std::string(file), drivers);
  } catch (const ConfigError& error) {
    return {error.problem()};
  }
}

std::vector<Problem> unserved_labels(std::string_view text, std::string_view file,
                                     const Environment& environment, const DriverSchemas& drivers) {
  const Value document = parse_document(std::string(text), environment, file);
  const Section root(document, nodepool_schema(), std::string(file), "");
  const std::vector<Section> providers = provider_sections(root);
  if (providers.empty()) return {};
  const DefinedNames defined = defined_names(root);
  std::set<std::string, std::less<>> served;
  for (const Section& provider : providers) {
    const auto found = drivers.schemas.find(driver_of(provider.value(), drivers));
    if (found == drivers.schemas.end()) return {};  // its labels are unknown
    check(provider.value(), provider_schema(*found->second),
          {.defined = &defined, .named_labels = &served});
  }
  std::vector<Problem> problems;
  for (const Section& label : root.usable_sections("labels")) {
    const Value* name = label.find("name");
    if (name == nullptr || served.contains(name->text())) continue;
    problems.push_back(
        label
            .error("name", "no provider in this file offers the label " + in_quotes(name->text()),
                   "requests for it need another launcher that offers the label")
            .problem());
  }
  return problems;
}

std::vector<Problem> absent_certificates(const std::string& path,
                                         const std::optional<std::string>& secure_path,
                                         const Environment& environment) {
  for (const std::optional<std::string>& file : {secure_path, std::optional(path)}) {
    if (!file) continue;
    const Value document = parse_document(read_file(*file), environment, *file);
    if (document.is_null()) continue;
    const Section root(document, secure_schema(), *file, "");  // the section is the same in both
    const auto tls = root.section("zookeeper-tls");
    if (!tls || !tls->value().truthy()) continue;
    std::vector<Problem> problems;
    for (const std::string_view key : {"ca", "cert", "key"}) {
      const std::optional<std::string> certificate = tls->optional_text(key);
      std::error_code unknown;
      if (!certificate || std::filesystem::exists(*certificate, unknown) || unknown) continue;
      problems.push_back(
          tls->error(key, *certificate + " does not exist", "the daemons need it").problem());
    }
    return problems;
  }
  return {};
}

std::vector<Problem> validate_file(const std::string& path, const Environment& environment,
                                   const DriverSchemas& drivers) {
  try {
    return validate(read_file(path), path, environment, drivers);
  } catch (const ConfigError& error) {
    return {error.problem()};
  }
}

}  // namespace nodepool::config
