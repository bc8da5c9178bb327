#include "cloud/metadata_store.h"

#include <optional>

#include <nlohmann/json.hpp>

#include "cloud/url_text.h"
#include "coordination/error.h"
#include "coordination/path.h"
#include "coordination/tree.h"
#include "json/json.h"

namespace nodepool::cloud {

using async::Task;
using coordination::StoreError;

namespace {

// Not used by the Python Nodepool and Zuul.
constexpr const char* kMarksRoot = "/nodepool/marks";

// The record contains type and id: the path is not parsed.
std::string record_of(const MetadataStore::Thing& thing, const driver::Metadata& metadata) {
  nlohmann::json record{{"type", thing.first}, {"id", thing.second}, {"metadata", metadata}};
  return record.dump();
}

std::optional<std::pair<MetadataStore::Thing, driver::Metadata>> parse(const std::string& record) {
  try {
    const json::Json value = json::parse(record);
    return std::pair(MetadataStore::Thing(value.at("type").get<std::string>(),
                                          value.at("id").get<std::string>()),
                     value.at("metadata").get<driver::Metadata>());
  } catch (const json::ParseError&) {
  } catch (const nlohmann::json::exception&) {
  }
  return std::nullopt;
}

}  // namespace

MetadataStore::MetadataStore(coordination::Store& store, const std::string& provider)
    : store_(store), root_(coordination::join_path(kMarksRoot, url_text(provider))) {}

std::string MetadataStore::path_of(const Thing& thing) const {
  return coordination::join_path(root_, url_text(thing.first) + "+" + url_text(thing.second));
}

Task<> MetadataStore::put(Thing thing, driver::Metadata metadata) {
  const std::string path = path_of(thing);
  const std::string record = record_of(thing, metadata);
  co_await coordination::ensure_path(store_, path);
  co_await store_.set(path, record, coordination::kAnyVersion);
}

Task<> MetadataStore::remove(Thing thing) {
  try {
    co_await store_.remove(path_of(thing), coordination::kAnyVersion);
  } catch (const StoreError& error) {
    if (error.kind() != StoreError::Kind::no_node) throw;
  }
}

Task<std::map<MetadataStore::Thing, driver::Metadata>> MetadataStore::all() {
  co_await coordination::ensure_path(store_, root_);
  std::map<Thing, driver::Metadata> found;
  const std::vector<std::string> names = co_await store_.children(root_);
  for (const std::string& name : names) {
    std::string record;
    try {
      record = (co_await store_.get(coordination::join_path(root_, name))).data;
    } catch (const StoreError& error) {
      if (error.kind() != StoreError::Kind::no_node) throw;  // gone meanwhile
    }
    if (auto entry = parse(record)) found.insert(*std::move(entry));
  }
  co_return found;
}

}  // namespace nodepool::cloud
