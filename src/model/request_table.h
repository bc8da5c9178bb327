#pragma once

#include <map>
#include <string>

#include "model/node_request.h"
#include "model/record_table.h"

namespace nodepool::model {

// All node requests; those that wait for a launcher in the order in which they are to be served.
class RequestTable final : public RecordTable<NodeRequest> {
 public:
  // ServiceKey of service -> request id.
  using Line = std::map<NodeRequest::ServiceKey, std::string>;

  RequestTable(const async::Runtime& runtime, coordination::Store& store, telemetry::Logger log);

  // The requests in state `requested`.
  const Line& waiting() const { return waiting_; }

  // The ids of those in state `pending`.
  const IdSet& pending() const { return pending_; }

 private:
  Interest interest(std::string_view path) const override;
  void on_changed(std::string_view path, const coordination::Entry& entry) override;
  void on_removed(std::string_view path) override;
  NodeRequest parse(std::string id, const coordination::Entry& entry) const override;
  void unindex(const NodeRequest& request) override;
  void index(const NodeRequest& request) override;

  Line waiting_;
  IdSet pending_;
};

}  // namespace nodepool::model
