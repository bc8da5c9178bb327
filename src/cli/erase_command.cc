#include <istream>
#include <ostream>

#include "cli/commands.h"
#include "coordination/tree.h"
#include "model/paths.h"

namespace nodepool::cli {

namespace {

using coordination::StoreError;

bool confirmed(Context& context, const std::string& provider) {
  context.out << "\nWARNING! This action is not reversible!\n"
              << "Erase ZooKeeper data for provider " << provider << "? [N/y] " << std::flush;
  std::string answer;
  std::getline(context.in, answer);
  return answer == "y" || answer == "Y";
}

// Deletes a node's record, whether or not it is locked. The state `deleted` notifies a launcher
// that still holds the lock.
Task<> erase_node(Session& session, model::Node node) {
  const std::string path = model::node_path(node.id);
  node.set_state(model::NodeState::deleted, session.now());
  try {
    co_await session.store().set(path, to_record(node), coordination::kAnyVersion);
  } catch (const StoreError& error) {
    if (error.kind() != StoreError::Kind::no_node) throw;
  }
  co_await coordination::remove_tree(session.store(), path);
}

}  // namespace

Task<int> perform(Session& session, EraseProvider command) {
  Context& context = session.context();
  if (!command.force && !confirmed(context, command.provider)) {
    context.out << "Aborting. No data erased.\n";
    co_return 0;
  }
  context.out << "Erasing build data for " << command.provider << "...\n" << std::flush;
  const model::ImageTable* images = co_await session.images();
  const model::IdSet builds = images->build_provider_paths(command.provider);
  for (const std::string& path : builds) co_await coordination::remove_tree(session.store(), path);

  context.out << "Erasing node data for " << command.provider << "...\n" << std::flush;
  const model::NodeTable* nodes = co_await session.nodes();
  const model::IdSet ids = nodes->of_provider(command.provider);
  for (const std::string& id : ids) {
    const model::Node* node = nodes->find(id);
    if (node != nullptr) co_await erase_node(session, *node);
  }
  co_return 0;
}

}  // namespace nodepool::cli
