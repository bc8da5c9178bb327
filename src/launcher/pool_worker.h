#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/task_scope.h"
#include "launcher/context.h"
#include "launcher/decision.h"
#include "launcher/node_request_handler.h"
#include "launcher/waiting_line.h"
#include "model/registration.h"

namespace nodepool::launcher {

// Serves requests from one pool of one provider. It sleeps until a record changes that concerns it,
// decides (launcher/decision.h), and lets a NodeRequestHandler carry the decision out.
class PoolWorker {
 public:
  PoolWorker(LauncherContext& context, std::shared_ptr<driver::Provider> provider,
             std::string pool);

  // Registers the pool. A launcher registers all its pools before the first one serves, because a
  // request that no registered pool can serve fails. Throws StoreError.
  Task<> start();

  // Whether this pool is in the table of components.
  bool is_registered() const;

  // Begins to serve.
  void serve();

  // Takes over a new configuration, with a new provider object if that has changed. Requests in
  // progress go on with the old one.
  void reconfigure(std::shared_ptr<driver::Provider> provider);

  // Ends the requests in progress, releasing their locks, and unregisters.
  Task<> stop();

  // "<fqdn>-PoolWorker.<provider>-<pool>-<32 hex digits>".
  const std::string& id() const { return id_; }

 private:
  using Order = WaitingLine::Order;

  void observe();
  void on_request(const model::RequestTable::Change& change);
  void on_node(const std::string& id);
  void on_registry();
  void look_at_everything();

  Task<> run();
  void decide_all();
  void consider(const Order& order);
  void carry_out(const Order& order, const model::NodeRequest& request, Decision decision);
  Task<> handle(std::string request_id, Decision decision, std::vector<std::string> node_ids);
  void serve_waiting_for(const std::string& label);
  void give_back(const std::vector<std::string>& node_ids);

  std::optional<std::vector<std::string>> choose_nodes(const model::NodeRequest& request) const;
  LabelSupply supply(std::string_view label) const;
  bool is_own(const model::Node& node) const;
  PoolView view(const model::NodeRequest& request) const;
  bool has_all_at_once(const std::vector<std::string>& labels) const;
  model::Component component() const;
  const driver::PoolConfig& pool_config() const;

  LauncherContext& context_;
  std::shared_ptr<driver::Provider> provider_;
  std::string pool_;
  std::string provider_name_;
  std::string id_;
  telemetry::Logger log_;

  model::Registration registration_;
  async::Event wake_;
  WaitingLine line_;
  std::set<std::string, std::less<>> freed_labels_;    // something with this label became free
  std::set<std::string, std::less<>> reserved_nodes_;  // being handed out by a handler
  std::set<std::string, std::less<>> in_hand_;         // requests that a handler works on
  std::set<std::string, std::less<>> refused_;  // requests whose last attempt the store refused
  std::vector<coordination::Subscription> subscriptions_;
  async::TaskScope scope_;
};

}  // namespace nodepool::launcher
