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
  // Whether a name is kept where the label's providers differ: Zuul builds an image for each name.
  bool (*is_preferred)(const ZuulLabel& label);
};

// New names by label.
using Names = std::map<std::string, std::string>;

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

bool is_built(const ZuulLabel& label) {
  return label.image.is_built();
}
bool never(const ZuulLabel& /*label*/) {
  return false;
}

void rename(std::vector<ZuulProvider>& providers, const Naming& naming, const Names& names) {
  for (ZuulProvider& provider : providers) {
    for (ZuulLabel& label : provider.labels) {
      const auto name = names.find(label.name);
      if (name != names.end()) naming.name(label) = name->second;
    }
  }
}

// The labels that have different names in different providers: with the only preferred name, or
// their own.
Names ambiguous_labels(std::vector<ZuulProvider>& providers, const Naming& naming) {
  std::map<std::string, std::set<std::string>> all;
  std::map<std::string, std::set<std::string>> preferred;
  for (ZuulProvider& provider : providers) {
    for (ZuulLabel& label : provider.labels) {
      all[label.name].insert(naming.name(label));
      if (naming.is_preferred(label)) preferred[label.name].insert(naming.name(label));
    }
  }
  Names ambiguous;
  for (const auto& [label, names] : all) {
    if (names.size() == 1) continue;
    const std::set<std::string>& best = preferred[label];
    ambiguous[label] = best.size() == 1 ? *best.begin() : label;
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
        if (has_name && other.name != naming.name(label)) conflicting[other.name] = other.name;
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

// Adds the name, with a number if it is taken, and returns it.
std::string take_name(std::set<std::string>& taken, const std::string& name) {
  std::string unique = name;
  for (int number = 2; !taken.insert(unique).second; ++number) {
    unique = name + "-" + std::to_string(number);
  }
  return unique;
}

}  // namespace

void unify_names(std::vector<ZuulProvider>& providers) {
  unify(providers, {.name = image_name, .content = image_content, .is_preferred = is_built});
  unify(providers, {.name = flavor_name, .content = flavor_content, .is_preferred = never});
}

void separate_names(std::vector<ZuulProvider>& providers) {
  std::set<std::string> taken;
  for (ZuulProvider& provider : providers) provider.name = take_name(taken, provider.name);
}

void unify_connections(std::vector<ZuulProvider>& providers) {
  std::map<Connection, std::string> names;
  std::set<std::string> taken;
  for (ZuulProvider& provider : providers) {
    const auto [name, is_new] = names.emplace(provider.connection, provider.connection.name);
    if (is_new && !taken.insert(name->second).second) {
      name->second = take_name(taken, provider.name);
    }
    provider.connection.name = name->second;
  }
}

}  // namespace nodepool::config::zuul
