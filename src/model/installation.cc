#include "model/installation.h"

#include <charconv>

#include "coordination/path.h"
#include "coordination/sequence.h"
#include "coordination/tree.h"
#include "model/paths.h"
#include "model/record_io.h"

namespace nodepool::model {

namespace {

using coordination::StoreError;
using coordination::Task;

Installation parse_installation(const std::string& data) {
  record_io::Reader reader(data);
  Installation installation;
  reader.field("id", installation.id);
  reader.field("first_node", installation.first_node);
  if (installation.id.empty()) {
    throw RecordError(std::string(kInstallationPath) + ": 'id' is missing");
  }
  return installation;
}

std::string to_record(const Installation& installation) {
  record_io::Writer writer;
  writer.field("id", installation.id);
  writer.field("first_node", installation.first_node);
  return writer.text();
}

// The store also counts deleted nodes.
Task<std::int64_t> nodes_so_far(coordination::Store& store) {
  const std::string root(kNodesRoot);
  if (!co_await store.exists(root)) co_return 0;
  co_return co_await coordination::next_sequence(store, root);
}

// Creates the record unless it exists. Returns the record in the store.
Task<Installation> make_installation(coordination::Store& store, Installation wanted) {
  const std::string path(kInstallationPath);
  while (true) {
    const Installation stored = co_await find_installation(store);
    if (!stored.id.empty()) co_return stored;
    co_await coordination::ensure_path(store, std::string(coordination::parent_path(path)));
    try {
      co_await store.create(path, to_record(wanted), coordination::CreateMode::persistent);
    } catch (const StoreError& error) {
      const bool may_be_there = error.kind() == StoreError::Kind::node_exists ||
                                error.kind() == StoreError::Kind::unknown_outcome;
      if (!may_be_there) throw;
    }
  }
}

}  // namespace

std::optional<std::int64_t> node_number(std::string_view node_id) {
  std::int64_t number = 0;
  const auto [end, error] =
      std::from_chars(node_id.data(), node_id.data() + node_id.size(), number);
  if (error != std::errc() || end != node_id.data() + node_id.size()) return std::nullopt;
  return number;
}

Task<Installation> find_installation(coordination::Store& store) {
  const std::optional<coordination::Entry> entry =
      co_await coordination::find(store, std::string(kInstallationPath));
  co_return entry ? parse_installation(entry->data) : Installation{};
}

Task<Installation> establish_installation(coordination::Store& store, async::Random& random) {
  Installation installation = co_await find_installation(store);
  if (!installation.id.empty()) co_return installation;
  installation.id = random.uuid_hex();
  installation.first_node = co_await nodes_so_far(store);
  co_return co_await make_installation(store, std::move(installation));
}

Task<Installation> renew_installation(coordination::Store& store, async::Random& random) {
  co_return co_await make_installation(store, {.id = random.uuid_hex(), .first_node = 0});
}

}  // namespace nodepool::model
