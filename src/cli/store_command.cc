#include <fmt/format.h>

#include <filesystem>
#include <ostream>
#include <stdexcept>

#include "cli/commands.h"
#include "config/load.h"
#include "coordination/path.h"
#include "coordination/tree.h"
#include "coordination/tree_copy.h"
#include "model/image_paths.h"
#include "model/paths.h"

namespace nodepool::cli {

namespace {

using config::StoreChoice;
using coordination::Store;

constexpr std::string_view kElectionsRoot = "/nodepool/elections";
constexpr std::string_view kSqliteScheme = "sqlite://";

// Whether only running processes have records there.
bool is_volatile(std::string_view path) {
  return path == model::kComponentsRoot || path == kElectionsRoot;
}

// Whether the store assigns ids there: their sequence has to be copied, even without records.
bool is_numbered(std::string_view path) {
  if (path == model::kNodesRoot || path == model::kRequestsRoot) return true;
  if (!coordination::is_within(path, model::kImagesRoot)) return false;
  const auto parsed =
      model::parse_image_path(coordination::relative_path(path, model::kImagesRoot));
  return parsed && parsed->kind == model::ImagePath::Kind::uploads;
}

// A store given on the command line.
struct NamedStore {
  std::string name;
  StoreChoice choice;
};

NamedStore named(const std::string& name) {
  if (name == "zookeeper") {
    return {name, {.kind = StoreChoice::Kind::zookeeper, .sqlite_path = {}, .is_default = false}};
  }
  if (!name.starts_with(std::string(kSqliteScheme) + "/")) {
    throw std::runtime_error("'" + name +
                             "' is not a store: use `zookeeper`, or `sqlite://` and the absolute "
                             "path of a file");
  }
  return {name,
          {.kind = StoreChoice::Kind::sqlite,
           .sqlite_path = name.substr(kSqliteScheme.size()),
           .is_default = false}};
}

// The configured ensemble, if one of the stores is in ZooKeeper.
config::ZooKeeper ensemble(const Context& context, const Arguments& arguments,
                           const NamedStore& from, const NamedStore& to) {
  const auto is_in_zookeeper = [](const NamedStore& store) {
    return store.choice.kind == StoreChoice::Kind::zookeeper;
  };
  if (!is_in_zookeeper(from) && !is_in_zookeeper(to)) return {};
  config::LoadOptions options{arguments.config, arguments.secure, context.environment,
                              context.drivers.schemas()};
  config::ZooKeeper zookeeper = config::load(options).config.zookeeper;
  if (zookeeper.servers.empty()) {
    throw std::runtime_error(arguments.config + ": zookeeper-servers is missing");
  }
  return zookeeper;
}

// Throws std::runtime_error if a process uses the store.
Task<> require_unused(Store& store, std::string name) {
  const auto path = co_await coordination::find_ephemeral(store, std::string(model::kRoot));
  if (!path) co_return;
  const bool daemon = coordination::is_within(*path, model::kComponentsRoot);
  throw std::runtime_error(fmt::format(
      "{} is in use: {} {}. Stop all daemons and requestors first; the records of a killed process "
      "expire with its session timeout",
      name, daemon ? "a daemon is registered as" : "a process has created", *path));
}

Task<std::size_t> count_children(Store& store, std::string path) {
  const auto stat = co_await store.exists(std::move(path));
  co_return stat ? static_cast<std::size_t>(stat->num_children) : 0;
}

struct Records {
  std::size_t nodes = 0;
  std::size_t requests = 0;
  std::size_t images = 0;

  bool none() const { return nodes + requests + images == 0; }
};

Task<Records> count_records(Store& store) {
  Records records;
  records.nodes = co_await count_children(store, std::string(model::kNodesRoot));
  records.requests = co_await count_children(store, std::string(model::kRequestsRoot));
  records.images = co_await count_children(store, std::string(model::kImagesRoot));
  co_return records;
}

Task<> copy(Store& from, Store& to, CopyStore command, std::ostream& out) {
  co_await require_unused(from, command.from);
  co_await require_unused(to, command.to);
  if (!co_await from.exists(std::string(model::kRoot))) {
    throw std::runtime_error(command.from + " has no records of Nodepool");
  }
  const Records before = co_await count_records(to);
  if (!before.none() && !command.replace) {
    throw std::runtime_error(fmt::format(
        "{} already has records: {} nodes, {} requests, {} images (--replace deletes them)",
        command.to, before.nodes, before.requests, before.images));
  }
  if (command.replace) co_await coordination::remove_tree(to, std::string(model::kRoot));
  const std::size_t all = co_await coordination::copy_tree(from, to, std::string(model::kRoot),
                                                           is_volatile, is_numbered);
  const Records records = co_await count_records(to);
  out << fmt::format(
      "Copied {} nodes, {} requests and {} images from {} to {} ({} records in all)\n",
      records.nodes, records.requests, records.images, command.from, command.to, all);
}

Task<> copy_between(Context& context, NamedStore from, NamedStore to, config::ZooKeeper zookeeper,
                    CopyStore command) {
  Task<std::unique_ptr<Store>> opening =
      context.open_store(from.choice, zookeeper, StoreUse::write);
  const std::unique_ptr<Store> source = co_await std::move(opening);
  opening = context.open_store(to.choice, zookeeper, StoreUse::create);
  const std::unique_ptr<Store> target = co_await std::move(opening);
  co_await copy(*source, *target, std::move(command), context.out);
  co_await target->close();
  co_await source->close();
}

}  // namespace

int perform(Context& context, const Arguments& arguments, const CopyStore& command,
            const std::shared_ptr<telemetry::Log>& /*log*/) {
  NamedStore from = named(command.from);
  NamedStore to = named(command.to);
  if (from.choice == to.choice) throw std::runtime_error("source and target are the same store");
  if (from.choice.kind == StoreChoice::Kind::sqlite &&
      !std::filesystem::exists(from.choice.sqlite_path)) {
    throw std::runtime_error(from.choice.sqlite_path + " does not exist");
  }
  config::ZooKeeper zookeeper = ensemble(context, arguments, from, to);
  context.loop.run(
      copy_between(context, std::move(from), std::move(to), std::move(zookeeper), command));
  return 0;
}

}  // namespace nodepool::cli
