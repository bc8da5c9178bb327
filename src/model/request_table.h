#pragma once

#include <map>
#include <string>

#include "model/node_request.h"
#include "model/record_table.h"

namespace nodepool::model {

// All node requests, with the waiting ones in order of service.
class RequestTable final : public RecordTable<NodeRequest> {
 public:
  // Service key -> request id.
  using Queue = std::map<NodeRequest::ServiceKey, std::string>;

  RequestTable(const async::Runtime& runtime, coordination::Store& store, telemetry::Logger log);

  // The requests in state `requested`.
  const Queue& waiting() const { return waiting_; }

  // The ids of the requests in state `pending`.
  const IdSet& pending() const { return pending_; }

 private:
  Interest interest(std::string_view path) const override;
  void on_changed(std::string_view path, const coordination::Entry& entry) override;
  void on_removed(std::string_view path) override;
  NodeRequest parse(std::string id, const coordination::Entry& entry) const override;
  void unindex(const NodeRequest& request) override;
  void index(const NodeRequest& request) override;

  Queue waiting_;
  IdSet pending_;
};

}  // namespace nodepool::model
