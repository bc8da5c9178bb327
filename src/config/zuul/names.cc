#include "config/zuul/names.h"

#include <map>
#include <set>
#include <utility>

namespace nodepool::config::zuul {

namespace {

// Of an image or of a flavor.
struct Naming {
  std::string& (*name)(ZuulLabel& label);
  Value (*content)(const ZuulLabel& label);
};

using Names = std::set<std::string>;

std::string& image_name(ZuulLabel& label) {
  return label.image.name;
}
Value image_content(const ZuulLabel& label) {
  Value::Mapping content = label.image.settings;
  set(content, "diskimage", Value::string(label.image.diskimage));
  return Value::mapping(std::move(content));
}
std::string& flavor_name(ZuulLabel& label) {
  return label.flavor;
}
Value flavor_content(const ZuulLabel& label) {
  return Value::mapping(label.flavor_settings);
}

void rename(std::vector<ZuulProvider>& providers, const Naming& naming, const Names& labels) {
  for (ZuulProvider& provider : providers) {
    for (ZuulLabel& label : provider.labels) {
      if (labels.contains(label.name)) naming.name(label) = label.name;
    }
  }
}

// The labels that have different names in different providers.
Names ambiguous_labels(std::vector<ZuulProvider>& providers, const Naming& naming) {
  std::map<std::string, std::string> names;
  Names ambiguous;
  for (ZuulProvider& provider : providers) {
    for (ZuulLabel& label : provider.labels) {
      const auto [known, is_new] = names.emplace(label.name, naming.name(label));
      if (!is_new && known->second != naming.name(label)) ambiguous.insert(label.name);
    }
  }
  return ambiguous;
}

// The labels whose name has another content in the same provider. Not those that have the name of
// the label itself: each is the only one.
Names conflicting_labels(std::vector<ZuulProvider>& providers, const Naming& naming) {
  Names conflicting;
  for (ZuulProvider& provider : providers) {
    std::map<std::string, Value> contents;
    for (ZuulLabel& label : provider.labels) {
      const auto [known, is_new] = contents.emplace(naming.name(label), naming.content(label));
      if (is_new || known->second == naming.content(label)) continue;
      for (ZuulLabel& other : provider.labels) {
        const bool has_name = naming.name(other) == naming.name(label);
        if (has_name && other.name != naming.name(label)) conflicting.insert(other.name);
      }
    }
  }
  return conflicting;
}

void unify(std::vector<ZuulProvider>& providers, const Naming& naming) {
  rename(providers, naming, ambiguous_labels(providers, naming));
  // A label's own name may be another's name, too: repeat. Each step renames at least one label.
  for (Names labels = conflicting_labels(providers, naming); !labels.empty();
       labels = conflicting_labels(providers, naming)) {
    rename(providers, naming, labels);
  }
}

}  // namespace

void unify_names(std::vector<ZuulProvider>& providers) {
  unify(providers, {.name = image_name, .content = image_content});
  unify(providers, {.name = flavor_name, .content = flavor_content});
}

void unify_connections(std::vector<ZuulProvider>& providers) {
  std::map<std::string, Connection> connections;
  for (ZuulProvider& provider : providers) {
    const auto [known, is_new] = connections.emplace(provider.connection.name, provider.connection);
    if (is_new || known->second == provider.connection) continue;
    provider.connection.name = provider.name;
    connections.emplace(provider.name, provider.connection);
  }
}

}  // namespace nodepool::config::zuul
