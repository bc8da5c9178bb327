#include "model/component.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "model/record_io.h"

namespace nodepool::model {

std::string_view to_string(Component::Kind kind) {
  switch (kind) {
    case Component::Kind::launcher:
      return "launcher";
    case Component::Kind::builder:
      return "builder";
    case Component::Kind::pool:
      return "pool";
  }
  return "";
}

Implementation implementation_of(const Component& component) {
  constexpr int kFirstVersion = 12;  // of this Nodepool
  const std::string& version = component.version;
  int major = 0;
  const auto parsed = std::from_chars(version.data(), version.data() + version.size(), major);
  if (parsed.ec != std::errc()) return Implementation::unknown;
  return major < kFirstVersion ? Implementation::python_nodepool : Implementation::this_nodepool;
}

bool Component::supports(std::string_view label) const {
  return std::ranges::find(supported_labels, label) != supported_labels.end();
}

bool Component::supports(const std::vector<std::string>& labels) const {
  return std::ranges::all_of(labels, [this](const std::string& label) { return supports(label); });
}

Component parse_component(Component::Kind kind, const coordination::Entry& entry) {
  record_io::Reader reader(entry.data);
  Component component;
  component.kind = kind;
  reader.field("hostname", component.hostname);
  reader.field("state", component.state);
  reader.field("version", component.version);
  reader.field("model_api", component.model_api);
  reader.field("id", component.id);
  reader.field("name", component.name);
  reader.field("provider_name", component.provider_name);
  reader.field("supported_labels", component.supported_labels);
  reader.field("priority", component.priority);
  reader.field("paused", component.paused);
  reader.field("started", component.started);
  reader.field("configuration_loaded", component.configuration_loaded);
  reader.field("configuration_problem", component.configuration_problem);
  reader.field("problems", component.problems);
  return component;
}

std::string to_record(const Component& component) {
  record_io::Writer writer;
  const bool is_pool = component.kind == Component::Kind::pool;
  // Other readers ignore the keys of a daemon's state. A time that is unknown has no key.
  if (!is_pool) {
    if (component.configuration_loaded > 0) {
      writer.field("configuration_loaded", component.configuration_loaded);
    }
    writer.field("configuration_problem", component.configuration_problem);
  }
  writer.field("hostname", component.hostname);
  if (is_pool) writer.field("id", component.id);
  writer.field("kind", std::string(to_string(component.kind)));
  writer.field("model_api", component.model_api);
  if (is_pool) {
    writer.field("name", component.name);
    writer.field("paused", component.paused);
    writer.field("priority", component.priority);
    writer.field("provider_name", component.provider_name);
  }
  if (!is_pool) {
    writer.field("problems", component.problems);
    if (component.started > 0) writer.field("started", component.started);
  }
  writer.field("state", component.state);
  if (is_pool) writer.field("supported_labels", component.supported_labels);
  writer.field("version", component.version);
  return writer.text();
}

namespace {

std::string title_of(std::string_view provider_and_pool, std::string_view host) {
  return fmt::format("{} on {}", provider_and_pool, host.substr(0, host.find('.')));
}

}  // namespace

std::string pool_title(const Component& pool) {
  return title_of(pool.provider_name + "-" + pool.name, pool.hostname);
}

std::string pool_title(std::string_view id) {
  constexpr std::string_view kKind = "-PoolWorker.";
  const std::size_t kind = id.find(kKind);
  const std::size_t random_part = id.rfind('-');
  if (kind == std::string_view::npos || random_part < kind + kKind.size()) return std::string(id);
  const std::size_t name = kind + kKind.size();
  return title_of(id.substr(name, random_part - name), id.substr(0, kind));
}

std::string label_problem_text(std::string_view provider, std::string_view pool,
                               std::string_view label, std::string_view problem) {
  return fmt::format("pool {}-{} cannot serve label {}: {}", provider, pool, label, problem);
}

std::string rejection_text(const std::string& configuration_problem) {
  return "the configuration file was rejected, the previous one stays in effect: " +
         configuration_problem;
}

}  // namespace nodepool::model
