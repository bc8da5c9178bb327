#include "config/zuul/pools.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "config/wording.h"

namespace nodepool::config::zuul {

namespace {

constexpr std::int64_t kWinrmPort = 5986;

ZuulImage read_image(Source& source, const DiskImage* built, ReadImage read) {
  ZuulImage image{.name = source.use("name").text("name")};
  // The schemas of some drivers have these keys only at the top level.
  if (built != nullptr) {
    image.diskimage = built->name;
    set(image.settings, "username", Value::string(built->username));
    set(image.settings, "python-path", Value::string(built->python_path));
    if (built->shell_type) set(image.settings, "shell-type", Value::string(*built->shell_type));
  } else {
    set(image.settings, "python-path", Value::string("auto"));
  }
  for (const char* key : {"username", "python-path", "shell-type"}) {
    source.copy(key, image.settings);
  }
  copy_connection_type(source, image.settings);
  source.copy("connection-port", image.settings);
  const bool has_winrm = source.section().optional_text("connection-type") == "winrm";
  if (has_winrm && !source.has("connection-port")) {
    set(image.settings, "connection-port", Value::integer(kWinrmPort));
  }
  read(source, image);
  source.finish();
  return image;
}

// The names of the request's attributes in Nodepool's format and in Zuul's.
constexpr std::array kAttributes{
    std::pair<std::string_view, std::string_view>{"{request.id}", "{request_id}"},
    std::pair<std::string_view, std::string_view>{"{request.labels[", "{labels["},
    std::pair<std::string_view, std::string_view>{"{request.labels}", "{labels}"},
    std::pair<std::string_view, std::string_view>{"{request.event_id}", "{zuul_event_id}"},
    std::pair<std::string_view, std::string_view>{"{request.tenant_name}", "{tenant_name}"}};

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// A text that Python's str.format() leaves as it is.
std::string escaped(std::string text) {
  replace_all(text, "{", "{{");
  replace_all(text, "}", "}}");
  return text;
}

std::string with_zuuls_names(std::string text) {
  for (const auto& [ours, theirs] : kAttributes) replace_all(text, ours, theirs);
  return text;
}

}  // namespace

ZuulProvider shared_settings(Source& provider) {
  ZuulProvider shared;
  provider.use("driver");
  provider.use("name");
  provider.copy("launch-timeout", shared.section);
  provider.copy("launch-retries", shared.section, "launch-attempts");
  provider.copy_below("boot-timeout", shared.section, "label-defaults", "boot-timeout");
  return shared;
}

std::vector<ZuulProvider> convert_pools(
    Source& provider, const ZuulProvider& shared,
    const std::function<void(Source& pool, ZuulProvider& target)>& convert) {
  std::vector<ZuulProvider> converted;
  std::vector<Source> pools = provider.sources("pools");
  for (Source& pool : pools) {
    ZuulProvider target = shared;
    target.name = name_of(provider, pool, pools.size());
    pool.use("name");
    convert(pool, target);
    pool.finish();
    converted.push_back(std::move(target));
  }
  provider.finish();
  return converted;
}

std::string name_of(const Source& provider, const Source& pool, std::size_t pools) {
  const std::string name = provider.section().text("name");
  return pools == 1 ? name : name + "-" + pool.section().text("name");
}

Source& closest(Source& provider, Source& pool, std::string_view key) {
  provider.use(key);
  return pool.has(key) ? pool : provider;
}

void copy_closest(Source& provider, Source& pool, std::string_view key, Value::Mapping& target) {
  closest(provider, pool, key).copy_with_default(key, target, key);
}

void copy_limit(Source& provider, Source& pool, std::string_view key, std::string_view resource,
                ZuulProvider& target) {
  Value::Mapping limits;
  closest(provider, pool, key).copy(key, limits, resource);
  for (const Value::Entry& limit : limits) {
    const auto number = std::max<std::int64_t>(0, limit.value.as_integer());
    set_below(target.settings, "resource-limits", resource, Value::integer(number));
  }
}

void copy_connection_type(Source& source, Value::Mapping& target) {
  if (!source.has("connection-type")) return;
  const std::string type = source.use("connection-type").text("connection-type");
  if (type == "winrm") {
    set(target, "connection-type", Value::string(type));
  } else if (type != "ssh") {
    source.omit("connection-type",
                "Zuul connects by `ssh` or `winrm`; set `ansible_connection` in the job");
  }
}

Images read_images(Source& provider, const Config& config, ReadImage read) {
  Images images;
  for (Source& source : provider.sources("diskimages")) {
    const DiskImage& built =
        find_diskimage(config, source.section(), "name", source.section().text("name"));
    images.built.insert_or_assign(built.name, read_image(source, &built, read));
  }
  for (Source& source : provider.sources("cloud-images")) {
    ZuulImage image = read_image(source, nullptr, read);
    std::string name = image.name;
    images.in_cloud.insert_or_assign(std::move(name), std::move(image));
  }
  return images;
}

std::optional<ZuulLabel> label_with_image(Source& source, const Images& images) {
  const bool is_built = source.has("diskimage");
  const std::string_view key = is_built ? "diskimage" : "cloud-image";
  const auto& candidates = is_built ? images.built : images.in_cloud;
  const auto image = candidates.find(source.use(key).optional_text(key).value_or(""));
  if (image == candidates.end()) {
    source.omit(key, "the provider has no such image; the label is left out");
    return std::nullopt;
  }
  return ZuulLabel{.name = source.use("name").text("name"),
                   .settings = image->second.for_labels,
                   .image = image->second};
}

void add_label(ZuulProvider& provider, ZuulLabel label) {
  std::erase_if(provider.labels, [&](const ZuulLabel& other) { return other.name == label.name; });
  provider.labels.push_back(std::move(label));
}

void copy_image_tags(Source& source, std::string_view key, ZuulImage& target) {
  if (source.has(key)) set(target.settings, "tags", text_mapping(source.use(key).text_map(key)));
}

void copy_tags(Source& source, std::string_view key, std::string_view dynamic_key,
               Value::Mapping& target) {
  std::map<std::string, std::string> tags;
  for (auto& [name, text] : source.use(key).text_map(key)) tags[name] = escaped(text);
  for (auto& [name, text] : source.use(dynamic_key).text_map(dynamic_key)) {
    std::string translated = with_zuuls_names(text);
    if (translated.find("{request.") == std::string::npos) {
      tags[name] = std::move(translated);
    } else {
      source.omit(dynamic_key,
                  fmt::format("tag {}: Zuul's requests have no such attribute", in_quotes(name)));
    }
  }
  if (!tags.empty()) set(target, "tags", text_mapping(tags));
}

Value text_mapping(const std::map<std::string, std::string>& texts) {
  Value::Mapping mapping;
  for (const auto& [key, text] : texts) set(mapping, key, Value::string(text));
  return Value::mapping(std::move(mapping));
}

}  // namespace nodepool::config::zuul
