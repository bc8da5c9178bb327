#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "config/zuul/pools.h"

namespace nodepool::config::zuul {

namespace {

Connection openstack_connection(Source& provider) {
  const std::string cloud = provider.use("cloud").text("cloud");
  Connection connection{
      .name = cloud,
      .lines = {"driver=openstack", "cloud=" + cloud, "# client_config_file=/path/to/clouds.yaml"}};
  // Nodepool has the time between calls, Zuul calls per second.
  const double seconds = provider.use("rate").number("rate");
  if (provider.has("rate") && seconds > 0) {
    connection.lines.push_back(fmt::format("rate={:g}", 1 / seconds));
  }
  return connection;
}

void read_openstack_image(Source& source, ZuulImage& image) {
  if (!image.is_built()) {
    const std::string_view key = source.has("image-id") ? "image-id" : "image-name";
    const std::string id = source.has(key) ? source.use(key).text(key) : image.name;
    set(image.settings, "image-id", Value::string(id));
    if (!source.has("image-id")) {
      source.omit_all(
          "Zuul wants the ID of the image, which is not in the file; replace the name in "
          "`image-id`");
    }
  }
  // Zuul's default is true.
  const bool config_drive =
      source.has("config-drive") && source.use("config-drive").boolean("config-drive");
  set(image.settings, "config-drive", Value::boolean(config_drive));
  if (image.is_built()) copy_image_tags(source, "meta", image);
}

std::optional<ZuulLabel> openstack_label(Source& source, const Images& images) {
  std::optional<ZuulLabel> label = label_with_image(source, images);
  if (!label) return std::nullopt;
  if (!source.has("flavor-name")) {
    source.omit("min-ram",
                "Zuul does not choose flavors by memory; add `flavor-name`: the label is left out");
    return std::nullopt;
  }
  if (source.use("min-ram").integer("min-ram") > 0) {
    source.omit("min-ram",
                "Zuul does not choose flavors by memory; `flavor-name` must be a whole name");
  }
  label->flavor = source.use("flavor-name").text("flavor-name");
  source.copy("flavor-name", label->flavor_settings);
  for (const char* key : {"key-name", "userdata", "networks", "host-key-checking"}) {
    source.copy(key, label->settings);
  }
  source.use("volume-size");  // only of a boot volume; Zuul has no default
  if (source.use("boot-from-volume").boolean("boot-from-volume")) {
    source.copy("boot-from-volume", label->settings);
    source.copy_with_default("volume-size", label->settings, "volume-size");
  }
  copy_tags(source, "instance-properties", "dynamic-instance-properties", label->settings);
  source.finish();
  return label;
}

void copy_openstack_limits(Source& pool, ZuulProvider& target) {
  constexpr std::array<std::pair<const char*, const char*>, 5> kLimits{
      {{"max-servers", "instances"},
       {"max-cores", "cores"},
       {"max-ram", "ram"},
       {"max-volumes", "volumes"},
       {"max-volume-gb", "volume-gb"}}};
  for (const auto& [key, resource] : kLimits) {
    if (!pool.has(key)) continue;
    const std::int64_t limit = std::max<std::int64_t>(0, pool.use(key).integer(key));
    const bool is_unlimited = limit == 0 && std::string_view(key).starts_with("max-volume");
    if (is_unlimited) continue;
    set_below(target.settings, "resource-limits", resource, Value::integer(limit));
  }
}

void copy_openstack_pool(Source& pool, ZuulProvider& target) {
  copy_openstack_limits(pool, target);
  Value::Mapping defaults;
  for (const char* key : {"networks", "security-groups", "auto-floating-ip", "host-key-checking"}) {
    pool.copy(key, defaults);
  }
  const std::vector<std::string> zones = pool.use("availability-zones").texts("availability-zones");
  if (zones.size() == 1) set(defaults, "az", Value::string(zones.front()));
  if (zones.size() > 1) {
    pool.omit("availability-zones", "Zuul uses one zone, `az`, or all; the list is left out");
  }
  append_below(target.section, "label-defaults", defaults);
}

}  // namespace

std::vector<ZuulProvider> convert_openstack(Source& provider, const Config& config) {
  ZuulProvider shared = shared_settings(provider);
  shared.connection = openstack_connection(provider);
  provider.copy("region-name", shared.section, "region");
  provider.copy("clean-floating-ips", shared.section, "floating-ip-cleanup");
  provider.copy("port-cleanup-interval", shared.section);
  if (provider.has("diskimages")) {  // Zuul's default is five minutes
    set_below(shared.section, "image-defaults", "import-timeout",
              Value::integer(provider.use("image-upload-timeout").integer("image-upload-timeout")));
  }
  provider.use("nodepool-id");  // has no effect
  const Images images = read_images(provider, config, read_openstack_image);
  return convert_pools(provider, shared, [&](Source& pool, ZuulProvider& target) {
    copy_openstack_pool(pool, target);
    for (Source& source : pool.sources("labels")) {
      if (std::optional<ZuulLabel> label = openstack_label(source, images)) {
        add_label(target, *std::move(label));
      }
    }
  });
}

}  // namespace nodepool::config::zuul
