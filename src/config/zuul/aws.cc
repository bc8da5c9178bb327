#include "config/wording.h"
#include "config/zuul/pools.h"

namespace nodepool::config::zuul {

namespace {

Connection aws_connection(Source& provider) {
  Connection connection{.name = "aws", .lines = {"driver=aws"}};
  if (provider.has("profile-name")) {
    connection.name = provider.use("profile-name").text("profile-name");
    connection.lines.push_back("# access_key_id and secret_access_key of the profile " +
                               in_quotes(connection.name));
  }
  if (provider.has("rate")) {
    connection.lines.push_back("rate=" + provider.use("rate").find("rate")->text());
  }
  return connection;
}

Value image_filters(Source& image) {
  Value::List filters;
  for (Source& source : image.sources("image-filters")) {
    Value::Mapping filter;
    source.copy("name", filter);
    source.copy("Name", filter, "name");
    source.copy("values", filter);
    source.copy("Values", filter, "values");
    filters.push_back(Value::mapping(std::move(filter)));
  }
  return Value::list(std::move(filters));
}

void read_aws_image(Source& source, ZuulImage& image) {
  source.copy("image-id", image.settings);
  if (source.has("image-filters")) set(image.settings, "image-filters", image_filters(source));
  for (const char* key : {"volume-size", "iops", "throughput", "architecture", "ena-support",
                          "import-method", "imds-support", "volume-type"}) {
    source.copy(key, image.settings);
  }
  // Zuul's labels have a default that hides the image's type.
  source.copy("volume-type", image.for_labels);
  if (image.is_built()) copy_image_tags(source, "tags", image);
}

// Whether the label has an instance type or a fleet.
bool copy_aws_flavor(Source& source, ZuulLabel& label) {
  if (source.has("fleet")) {
    label.flavor = label.name;
    source.copy("fleet", label.flavor_settings);
  } else if (source.has("instance-type")) {
    label.flavor = source.use("instance-type").text("instance-type");
    source.copy("instance-type", label.flavor_settings);
  } else {
    source.omit_all("Zuul needs an instance type or a fleet; the label is left out");
    return false;
  }
  const bool is_spot = source.use("use-spot").boolean("use-spot");
  if (is_spot) set(label.flavor_settings, "market-type", Value::string("spot"));
  if (is_spot) label.flavor += "-spot";
  for (const char* key : {"ebs-optimized", "dedicated-host"}) {
    if (!source.use(key).boolean(key)) continue;
    source.copy(key, label.flavor_settings);
    label.flavor += std::string("-") + key;
  }
  return true;
}

std::optional<ZuulLabel> aws_label(Source& source, const Images& images) {
  std::optional<ZuulLabel> label = label_with_image(source, images);
  if (!label || !copy_aws_flavor(source, *label)) return std::nullopt;
  for (const char* key : {"key-name", "userdata", "volume-type", "volume-size", "iops",
                          "throughput", "iam-instance-profile"}) {
    source.copy(key, label->settings);
  }
  source.copy("imdsv2", label->settings, "imds-http-tokens");
  copy_tags(source, "tags", "dynamic-tags", label->settings);
  source.finish();
  return label;
}

// A list of one, as Zuul has lists of subnets and security groups.
void copy_as_list(Source& pool, std::string_view key, std::string_view as, Value::Mapping& target) {
  if (pool.has(key)) set(target, as, Value::list({Value::string(pool.use(key).text(key))}));
}

void copy_quota_codes(Source& source, ZuulProvider& target) {
  for (const auto& [name, limit] : source.use("max-resources").integer_map("max-resources")) {
    if (name.starts_with("L-")) {
      set_below(target.settings, "resource-limits", name, Value::integer(limit));
    } else {
      source.omit("max-resources",
                  in_quotes(name) + ": Zuul limits only the resources of AWS' quotas");
    }
  }
}

void copy_aws_pool(Source& provider, Source& pool, ZuulProvider& target) {
  copy_limit(provider, pool, "max-servers", "instances", target);
  copy_limit(provider, pool, "max-cores", "cores", target);
  copy_limit(provider, pool, "max-ram", "ram", target);
  copy_quota_codes(closest(provider, pool, "max-resources"), target);
  Value::Mapping labels;
  copy_closest(provider, pool, "host-key-checking", labels);
  pool.copy("availability-zone", labels, "az");
  copy_as_list(pool, "subnet-id", "subnet-ids", labels);
  copy_as_list(pool, "security-group-id", "security-group-ids", labels);
  Value::Mapping flavors;
  copy_closest(provider, pool, "public-ipv4", flavors);
  copy_closest(provider, pool, "public-ipv6", flavors);
  pool.copy("public-ip-address", flavors, "public-ipv4");
  append_below(target.section, "label-defaults", labels);
  append_below(target.section, "flavor-defaults", flavors);
}

}  // namespace

std::vector<ZuulProvider> convert_aws(Source& provider, const Config& config) {
  ZuulProvider shared = shared_settings(provider);
  shared.connection = aws_connection(provider);
  provider.copy("region-name", shared.section, "region");
  provider.copy("object-storage", shared.section);
  provider.copy_below("image-format", shared.section, "image-defaults", "image-format");
  const Images images = read_images(provider, config, read_aws_image);
  return convert_pools(provider, shared, [&](Source& pool, ZuulProvider& target) {
    copy_aws_pool(provider, pool, target);
    for (Source& source : pool.sources("labels")) {
      if (std::optional<ZuulLabel> label = aws_label(source, images)) {
        add_label(target, *std::move(label));
      }
    }
  });
}

}  // namespace nodepool::config::zuul
