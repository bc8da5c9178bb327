#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "model/node.h"
#include "model/record_table.h"
#include "model/shared_text.h"

namespace nodepool::model {

// All nodes, with the indexes that decisions need.
class NodeTable final : public RecordTable<Node> {
 public:
  NodeTable(const async::Runtime& runtime, coordination::Store& store, telemetry::Logger log);

  // Nodes with the label that can be handed out: ready, not allocated, not known to be locked.
  const IdSet& free(std::string_view provider, std::string_view pool, std::string_view label) const;

  // The free nodes of a pool, with any label.
  const IdSet& free(std::string_view provider, std::string_view pool) const;

  // The nodes allocated to a request.
  const IdSet& allocated_to(std::string_view request_id) const;

  // All nodes of a provider, in any state.
  const IdSet& of_provider(std::string_view provider) const;

  // The nodes in state `init`.
  const IdSet& initial() const { return initial_; }

  // Whether the node's lock has a known contender. Only a hint: the lock decides.
  bool is_locked(std::string_view id) const;

  // Whether the node is known to have a lock root below it.
  bool has_lock_root(std::string_view id) const;

  // The ids of empty records.
  const IdSet& empty_records() const { return empty_records_; }

  // The names of the known contenders for the node's lock.
  const IdSet& contenders(std::string_view id) const;

  // Whether free() has the node.
  bool is_free(const Node& node) const;

  // The newest id; empty: none.
  std::string newest_id() const;

  // All existing nodes with lower ids have been read into the table (model/unseen_nodes.h). Empty:
  // unknown.
  const std::string& seen_before() const { return seen_before_; }
  void seen_all_before(const std::string& id) { seen_before_ = std::max(seen_before_, id); }

  // Calls `observer` with the id of the node after a change of its contenders.
  coordination::Subscription observe_locks(std::function<void(const std::string&)> observer) {
    return lock_changes_.subscribe(std::move(observer));
  }

 private:
  Interest interest(std::string_view path) const override;
  void on_changed(std::string_view path, const coordination::Entry& entry) override;
  void on_removed(std::string_view path) override;
  bool on_unreadable(std::string_view path, const std::string& reason) override;
  void on_ready() override;
  void on_lost() override;
  Node parse(std::string id, const coordination::Entry& entry) const override;
  std::optional<Node> parse_partly(const std::string& id,
                                   const coordination::Entry& entry) const override;
  void unindex(const Node& node) override;
  void index(const Node& node) override;
  void share(Node& node) override;

  using FreeKey = std::tuple<std::string, std::string, std::string>;  // provider, pool, label
  void contenders_changed(std::string_view id, const std::function<void(IdSet&)>& change);
  template <typename Change>
  void for_each_index(const Node& node, Change change);

  std::map<FreeKey, IdSet, std::less<>> free_;
  std::map<std::tuple<std::string, std::string>, IdSet, std::less<>> free_by_pool_;
  std::map<std::string, IdSet, std::less<>> by_request_;
  std::map<std::string, IdSet, std::less<>> by_provider_;
  std::map<std::string, IdSet, std::less<>> contenders_;  // node id -> contender names
  IdSet initial_;
  IdSet empty_records_;
  std::string seen_before_;
  bool has_been_ready_ = false;
  SharedTexts texts_;
  Observers<const std::string&> lock_changes_;
};

}  // namespace nodepool::model
