#include <fmt/format.h>

#include "config/zuul/pools.h"

namespace nodepool::config::zuul {

namespace {

Connection azure_connection(Source& provider) {
  // Both read the same JSON file.
  Connection connection{.name = "azure",
                        .lines = {"driver=azure", "shared_credentials_file=" +
                                                      provider.use("auth-path").text("auth-path")}};
  if (provider.has("rate")) {
    connection.lines.push_back("rate=" + provider.use("rate").find("rate")->text());
  }
  return connection;
}

void read_azure_image(Source& source, ZuulImage& image) {
  for (const char* key : {"image-reference", "image-id", "image-filter", "shared-gallery-image",
                          "community-gallery-image", "generate-password"}) {
    source.copy(key, image.settings);
  }
  if (image.is_built()) copy_image_tags(source, "tags", image);
  source.copy("key", image.for_labels, "key-data");
  if (source.has("password")) {
    source.omit("password", "Zuul sets no given password, only a random one: `generate-password`");
  }
}

std::optional<ZuulLabel> azure_label(Source& source, const Images& images) {
  std::optional<ZuulLabel> label = label_with_image(source, images);
  if (!label) return std::nullopt;
  const std::optional<Section> hardware =
      source.use("hardware-profile").section("hardware-profile");
  if (!hardware) throw source.section().error("hardware-profile", "is missing");
  label->flavor = hardware->text("vm-size");
  set(label->flavor_settings, "vm-size", Value::string(label->flavor));
  if (source.use("use-spot").boolean("use-spot")) {
    set(label->flavor_settings, "priority", Value::string("spot"));
    label->flavor += "-spot";
  }
  source.copy("volume-size", label->settings);
  source.copy("user-data", label->settings, "userdata");
  if (source.has("custom-data")) {
    source.omit("custom-data", "Zuul sets user data only; let the image read that");
  }
  copy_tags(source, "tags", "dynamic-tags", label->settings);
  source.finish();
  return label;
}

// The subnet of all pools.
void copy_subnet(Source& provider, ZuulProvider& target) {
  if (provider.has("subnet-id")) {
    provider.use("network");  // overridden
    provider.copy_below("subnet-id", target.section, "label-defaults", "subnet-id");
    return;
  }
  const Value* network = provider.use("network").find("network");
  if (network == nullptr) throw provider.section().error("network", "is missing");
  Value::Mapping name;
  set(name, "network", *network);
  set_below(target.section, "label-defaults", "subnet-reference",
            network->is_mapping() ? *network : Value::mapping(std::move(name)));
}

void copy_azure_pool(Source& provider, Source& pool, ZuulProvider& target) {
  copy_limit(provider, pool, "max-servers", "instances", target);
  Value::Mapping labels;
  copy_closest(provider, pool, "host-key-checking", labels);
  append_below(target.section, "label-defaults", labels);
}

// Zuul has these settings in flavors: `flavor-defaults` lacks `ipv4` and `ipv6`.
Value::Mapping azure_addresses(Source& provider, Source& pool) {
  Value::Mapping addresses;
  copy_closest(provider, pool, "public-ipv4", addresses);
  copy_closest(provider, pool, "public-ipv6", addresses);
  for (const char* key : {"ipv4", "ipv6"}) closest(provider, pool, key).copy(key, addresses);
  return addresses;
}

}  // namespace

std::vector<ZuulProvider> convert_azure(Source& provider, const Config& config) {
  ZuulProvider shared = shared_settings(provider);
  shared.connection = azure_connection(provider);
  provider.copy("location", shared.section, "region");
  provider.copy("resource-group", shared.section);
  copy_subnet(provider, shared);
  provider.copy_below("zuul-public-key", shared.section, "label-defaults", "key-data");
  const Images images = read_images(provider, config, read_azure_image);
  return convert_pools(provider, shared, [&](Source& pool, ZuulProvider& target) {
    copy_azure_pool(provider, pool, target);
    const Value::Mapping addresses = azure_addresses(provider, pool);
    for (Source& source : pool.sources("labels")) {
      std::optional<ZuulLabel> label = azure_label(source, images);
      if (!label) continue;
      label->flavor_settings.insert(label->flavor_settings.end(), addresses.begin(),
                                    addresses.end());
      add_label(target, *std::move(label));
    }
  });
}

}  // namespace nodepool::config::zuul
