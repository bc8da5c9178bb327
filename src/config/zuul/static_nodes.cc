#include <algorithm>

#include "config/zuul/pools.h"

namespace nodepool::config::zuul {

namespace {

// In Zuul, the hosts of a label have these in common.
ZuulLabel host_label(Source& host, const std::string& name) {
  ZuulLabel label{.name = name, .flavor = "static"};
  label.image.name = name;
  host.copy_with_default("python-path", label.image.settings, "python-path");
  host.copy("shell-type", label.image.settings);
  copy_connection_type(host, label.image.settings);
  host.copy("max-parallel-jobs", label.settings, "slots");
  host.copy("host-key-checking", label.settings);
  return label;
}

Value host_node(Source& host, std::vector<std::string> labels) {
  Value::Mapping node;
  host.copy("name", node);
  host.copy_with_default("username", node, "username");
  host.copy("ssh-port", node, "connection-port");
  host.copy("connection-port", node);
  set(node, "label", Value::string(labels.front()));
  if (labels.size() > 1) {
    Value::List aliases;
    for (std::string& alias : labels | std::views::drop(1)) {
      aliases.push_back(Value::string(std::move(alias)));
    }
    set(node, "aliases", Value::list(std::move(aliases)));
  }
  if (host.has("host-key")) {
    const Value& key = *host.use("host-key").find("host-key");
    const bool is_list = key.is_list();
    if (!is_list || !key.as_list().empty())
      set(node, "host-key", is_list ? key.as_list().front() : key);
    if (is_list && key.as_list().size() > 1) {
      host.omit("host-key", "Zuul knows one key of a host; the first is written");
    }
  }
  return Value::mapping(std::move(node));
}

// A provider under construction.
struct Group {
  ZuulProvider provider;
  Value::List nodes = {};
};

bool fits(const ZuulProvider& provider, const ZuulLabel& label) {
  const ZuulLabel* same = provider.find(label.name);
  return same == nullptr ||
         (same->settings == label.settings && same->image.settings == label.image.settings);
}

// Adds the host to the first group in which its labels have the same settings, or to a new one.
void add_host(Source& host, const ZuulProvider& empty, std::vector<Group>& groups) {
  std::vector<std::string> names = host.use("labels").texts("labels");
  if (names.empty()) return host.omit_all("a host without labels is left out");
  std::vector<ZuulLabel> labels;
  labels.reserve(names.size());
  for (const std::string& name : names) labels.push_back(host_label(host, name));
  const auto fits_all = [&](const Group& group) {
    return std::ranges::all_of(labels,
                               [&](const ZuulLabel& label) { return fits(group.provider, label); });
  };
  auto target = std::ranges::find_if(groups, fits_all);
  if (target == groups.end()) {
    target = groups.insert(groups.end(), {.provider = empty});
    if (groups.size() > 1) target->provider.name += "-" + std::to_string(groups.size());
  }
  for (ZuulLabel& label : labels) {
    const bool is_new = target->provider.find(label.name) == nullptr;
    if (is_new) target->provider.labels.push_back(std::move(label));
  }
  target->nodes.push_back(host_node(host, std::move(names)));
  host.finish();
}

}  // namespace

std::vector<ZuulProvider> convert_static(Source& provider, const Config& /*config*/) {
  ZuulProvider shared;
  provider.use("driver");
  provider.use("name");
  shared.connection = {.name = "static", .lines = {"driver=static"}};
  std::vector<ZuulProvider> converted;
  std::vector<Source> pools = provider.sources("pools");
  for (Source& pool : pools) {
    ZuulProvider empty = shared;
    empty.name = name_of(provider, pool, pools.size());
    pool.use("name");
    std::vector<Group> groups;
    for (Source& host : pool.sources("nodes")) add_host(host, empty, groups);
    if (groups.size() == 1) {
      copy_limit(provider, pool, "max-servers", "instances", groups.front().provider);
    } else if (pool.has("max-servers")) {
      pool.omit(
          "max-servers",
          "the pool becomes several providers; set `resource-limits: {instances: …}` in each");
    }
    pool.finish();
    for (Group& group : groups) {
      set(group.provider.settings, "nodes", Value::list(std::move(group.nodes)));
      converted.push_back(std::move(group.provider));
    }
  }
  provider.finish();
  return converted;
}

}  // namespace nodepool::config::zuul
