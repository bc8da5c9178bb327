#include "config/zuul/conversion.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <set>

#include "config/nodepool_schema.h"
#include "config/wording.h"
#include "config/yaml_text.h"
#include "config/zuul/names.h"
#include "config/zuul/provider.h"

namespace nodepool::config::zuul {

namespace {

using Convert = std::vector<ZuulProvider> (*)(Source& provider, const Config& config);

const std::map<std::string_view, Convert>& conversions() {
  static const std::map<std::string_view, Convert> conversions{{"aws", convert_aws},
                                                               {"azure", convert_azure},
                                                               {"kubernetes", convert_kubernetes},
                                                               {"openshift", convert_openshift},
                                                               {"openstack", convert_openstack},
                                                               {"static", convert_static}};
  return conversions;
}

// Adds what the provider becomes.
void convert_provider(const ProviderSection& provider, const Config& config,
                      const DriverSchemas& drivers, Omissions& omissions,
                      std::vector<ZuulProvider>& converted) {
  const Schema schema = provider_schema(*drivers.schemas.at(provider.driver));
  Source source(Section(provider.value, schema, provider.file, provider.path), omissions);
  const auto conversion = conversions().find(provider.driver);
  if (conversion != conversions().end()) {
    std::ranges::move(conversion->second(source, config), std::back_inserter(converted));
  } else if (provider.driver == "metastatic") {
    convert_metastatic(source, converted);
  } else {
    source.omit_all(fmt::format("Zuul has no driver {}; leave the provider to Nodepool",
                                in_quotes(provider.driver)));
  }
}

std::vector<ZuulProvider> convert_providers(const Config& config, const DriverSchemas& drivers,
                                            Omissions& omissions) {
  std::vector<ZuulProvider> converted;
  // Metastatic providers last: they extend those that have their backing labels.
  for (const bool are_metastatic : {false, true}) {
    for (const ProviderSection& provider : config.providers) {
      if ((provider.driver == "metastatic") != are_metastatic) continue;
      convert_provider(provider, config, drivers, omissions, converted);
    }
  }
  std::erase_if(converted, [](const ZuulProvider& provider) { return provider.labels.empty(); });
  return converted;
}

Value object(std::string_view kind, Value::Mapping content) {
  Value::Mapping object;
  set(object, kind, Value::mapping(std::move(content)));
  return Value::mapping(std::move(object));
}

// A mapping that begins with the name.
Value::Mapping named(const std::string& name) {
  Value::Mapping mapping;
  set(mapping, "name", Value::string(name));
  return mapping;
}

void append(Value::Mapping& target, const Value::Mapping& entries) {
  for (const Value::Entry& entry : entries) set(target, entry.key, entry.value);
}

// The kinds of all images by name: built by Zuul in one provider at least, or not.
std::map<std::string, bool> image_kinds(const std::vector<ZuulProvider>& providers) {
  std::map<std::string, bool> kinds;
  for (const ZuulProvider& provider : providers) {
    for (const ZuulLabel& label : provider.labels)
      kinds[label.image.name] |= label.image.is_built();
  }
  return kinds;
}

const char* type_of_image(bool is_built) {
  return is_built ? "zuul" : "cloud";
}

// In a section. `is_built`: the kind of the image in other sections, and usually in this one.
Value image_of(const ZuulLabel& label, bool is_built) {
  Value::Mapping image = named(label.image.name);
  if (label.image.is_built() != is_built) {
    set(image, "type", Value::string(type_of_image(label.image.is_built())));
  }
  append(image, label.image.settings);
  return Value::mapping(std::move(image));
}

Value list_of_values(const std::map<std::string, Value>& values) {
  const auto items = values | std::views::values;
  return Value::list({items.begin(), items.end()});
}

Value section_object(const ZuulProvider& provider, const std::map<std::string, bool>& kinds) {
  // Those of one name are the same (unify_names).
  std::map<std::string, Value> images;
  std::map<std::string, Value> flavors;
  for (const ZuulLabel& label : provider.labels) {
    images.emplace(label.image.name, image_of(label, kinds.at(label.image.name)));
    Value::Mapping flavor = named(label.flavor);
    append(flavor, label.flavor_settings);
    flavors.emplace(label.flavor, Value::mapping(std::move(flavor)));
  }
  Value::Mapping section = named(provider.name);
  set(section, "connection", Value::string(provider.connection.name));
  append(section, provider.section);
  set(section, "images", list_of_values(images));
  set(section, "flavors", list_of_values(flavors));
  return object("section", std::move(section));
}

Value provider_object(const ZuulProvider& provider) {
  Value::List labels;
  for (const ZuulLabel& label : provider.labels) {
    Value::Mapping settings = named(label.name);
    append(settings, label.settings);
    labels.push_back(Value::mapping(std::move(settings)));
  }
  Value::Mapping content = named(provider.name);
  set(content, "section", Value::string(provider.name));
  append(content, provider.settings);
  set(content, "labels", Value::list(std::move(labels)));
  return object("provider", std::move(content));
}

Value label_object(const ZuulLabel& label, const Config& config) {
  Value::Mapping content = named(label.name);
  set(content, "image", Value::string(label.image.name));
  set(content, "flavor", Value::string(label.flavor));
  const auto settings = config.labels.find(label.name);
  if (settings != config.labels.end()) {
    const config::Label& numbers = settings->second;
    if (numbers.min_ready > 0) set(content, "min-ready", Value::integer(numbers.min_ready));
    if (numbers.max_ready_age > 0) {
      set(content, "max-ready-age", Value::integer(numbers.max_ready_age));
    }
  }
  return object("label", std::move(content));
}

Value all_objects(const std::vector<ZuulProvider>& providers, const Config& config) {
  const std::map<std::string, bool> kinds = image_kinds(providers);
  Value::List objects;
  for (const auto& [name, is_built] : kinds) {
    Value::Mapping image = named(name);
    set(image, "type", Value::string(type_of_image(is_built)));
    objects.push_back(object("image", std::move(image)));
  }
  std::set<std::string> flavors;
  std::map<std::string, ZuulLabel> labels;
  for (const ZuulProvider& provider : providers) {
    for (const ZuulLabel& label : provider.labels) {
      flavors.insert(label.flavor);
      labels.emplace(label.name, label);
    }
  }
  for (const std::string& flavor : flavors) objects.push_back(object("flavor", named(flavor)));
  for (const auto& [name, label] : labels) objects.push_back(label_object(label, config));
  for (const ZuulProvider& provider : providers) objects.push_back(section_object(provider, kinds));
  for (const ZuulProvider& provider : providers) objects.push_back(provider_object(provider));
  return Value::list(std::move(objects));
}

void report_labels(const Section& root, const std::vector<ZuulProvider>& providers,
                   Omissions& omissions) {
  for (const Section& label : root.sections("labels")) {
    const std::string name = label.text("name");
    const bool is_served = std::ranges::any_of(
        providers, [&](const ZuulProvider& provider) { return provider.find(name) != nullptr; });
    if (is_served) continue;
    const std::string message =
        fmt::format("label {} is left out: no converted provider has it", in_quotes(name));
    omissions.add(label.section_error(message).problem());
  }
}

void report_diskimages(const Section& root, const std::vector<ZuulProvider>& providers,
                       Omissions& omissions) {
  std::map<std::string, std::set<std::string>> names;  // of Zuul's images, by Nodepool's
  for (const ZuulProvider& provider : providers) {
    for (const ZuulLabel& label : provider.labels) {
      if (label.image.is_built()) names[label.image.diskimage].insert(label.image.name);
    }
  }
  for (const Section& image : root.sections("diskimages")) {
    for (const std::string& name : names[image.text("name")]) {
      const std::string message =
          fmt::format("Zuul builds images in jobs; write one with `image-build-name: {}`", name);
      omissions.add(image.section_error(message).problem());
    }
  }
}

std::vector<std::string> connection_lines(const std::vector<ZuulProvider>& providers) {
  std::vector<std::string> lines;
  std::set<std::string> written;
  for (const ZuulProvider& provider : providers) {
    if (!written.insert(provider.connection.name).second) continue;
    lines.push_back(fmt::format("[connection {}]", provider.connection.name));
    std::ranges::copy(provider.connection.lines, std::back_inserter(lines));
  }
  return lines;
}

}  // namespace

ZuulConversion convert(const Value& document, const Config& config, const DriverSchemas& drivers,
                       const std::string& file) {
  Omissions omissions;
  std::vector<ZuulProvider> providers = convert_providers(config, drivers, omissions);
  separate_names(providers);
  unify_connections(providers);
  unify_names(providers);
  const Section root(document, nodepool_schema(), file, "");
  report_labels(root, providers, omissions);
  report_diskimages(root, providers, omissions);
  if (root.has("tenant-resource-limits")) {
    omissions.add(root.error("tenant-resource-limits",
                             "Zuul limits providers, not tenants: give each tenant providers with "
                             "`resource-limits`")
                      .problem());
  }
  return {.objects = all_objects(providers, config),
          .connections = connection_lines(providers),
          .omissions = omissions.problems()};
}

std::string to_text(const ZuulConversion& conversion) {
  std::string text =
      "# Written by `nodepool convert --to zuul`. The objects belong into a config project of "
      "Zuul's\n"
      "# tenants, these connections, with their credentials, into zuul.conf:\n#\n";
  for (std::string line : conversion.connections) {
    std::ranges::replace(line, '\n', ' ');  // nothing of it leaves the comment
    text += "#   " + line + "\n";
  }
  return text + "\n" + yaml_text(conversion.objects);
}

}  // namespace nodepool::config::zuul
