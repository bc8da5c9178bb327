#include "tests/driver/harness/installation.h"

#include <fmt/format.h>

#include "coordination/path.h"
#include "model/image_paths.h"
#include "model/paths.h"

namespace nodepool::driver::harness {

Installation::Installation(std::uint64_t seed)
    : random(seed), runtime_{loop_.executor(), clock, random}, store_(server, runtime_) {
  write_identity();
}

void Installation::write_identity() {
  const std::string path(model::kInstallationPath);
  make_parents(path);
  if (!loop_.run(store_.exists(path))) {
    loop_.run(store_.create(path, "", coordination::CreateMode::persistent));
  }
  const std::string record =
      fmt::format(R"({{"id": "{}", "first_node": {}}})", identity.id, identity.first_node);
  loop_.run(store_.set(path, record, coordination::kAnyVersion));
}

std::string Installation::add_node(std::string_view provider, std::string_view pool,
                                   std::string_view label) {
  model::Node node;
  node.set_state(model::NodeState::building, clock.wall_seconds());
  node.created_time = clock.wall_seconds();
  node.type = {std::string(label)};
  node.provider = provider;
  node.pool = pool;
  node.allocated_to = "200-0000000000";
  make_parents(model::node_path(""));
  const std::string path = loop_.run(store_.create(
      model::node_path(""), to_record(node), coordination::CreateMode::persistent_sequential));
  return std::string(coordination::base_name(path));
}

model::Node Installation::node(const std::string& id) {
  // Some tests read all records after each change of one: parsing them would be most of their work.
  coordination::Entry entry = loop_.run(store_.get(model::node_path(id)));
  const auto known = nodes_.find(id);
  if (known != nodes_.end() && known->second.entry == entry) return known->second.node;
  model::Node node = model::parse_node(id, entry);
  nodes_.insert_or_assign(id, KnownNode{std::move(entry), node});
  return node;
}

std::vector<std::string> Installation::nodes() {
  return loop_.run(store_.children(std::string(model::kNodesRoot)));
}

void Installation::write(const model::Node& node) {
  loop_.run(store_.set(model::node_path(node.id), to_record(node), coordination::kAnyVersion));
}

void Installation::remove_node(const std::string& id) {
  loop_.run(store_.remove(model::node_path(id), coordination::kAnyVersion));
}

void Installation::write_data(const std::string& path, const std::string& data) {
  loop_.run(store_.set(path, data, coordination::kAnyVersion));
}

void Installation::add_upload(model::ImageUpload& upload) {
  const std::string path =
      model::upload_path(upload.image, upload.build_id, upload.provider, upload.id);
  make_parents(path);
  const auto mode = upload.id.empty() ? coordination::CreateMode::persistent_sequential
                                      : coordination::CreateMode::persistent;
  upload.id = coordination::base_name(loop_.run(store_.create(path, to_record(upload), mode)));
}

void Installation::remove_upload(const std::string& image, const std::string& build_id,
                                 const std::string& provider, const std::string& id) {
  loop_.run(
      store_.remove(model::upload_path(image, build_id, provider, id), coordination::kAnyVersion));
}

void Installation::make_parents(const std::string& path) {
  for (std::size_t end = path.find('/', 1); end != std::string::npos;
       end = path.find('/', end + 1)) {
    const std::string parent = path.substr(0, end);
    if (loop_.run(store_.exists(parent))) continue;
    loop_.run(store_.create(parent, "", coordination::CreateMode::persistent));
  }
}

}  // namespace nodepool::driver::harness
