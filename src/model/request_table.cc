#include "model/request_table.h"

#include "model/paths.h"

namespace nodepool::model {

RequestTable::RequestTable(const async::Runtime& runtime, coordination::Store& store,
                           telemetry::Logger log)
    : RecordTable(runtime, store, kRequestsRoot, std::move(log)) {}

coordination::TreeListener::Interest RequestTable::interest(std::string_view path) const {
  return path.find('/') == std::string_view::npos ? Interest::data : Interest::none;
}

void RequestTable::on_changed(std::string_view path, const coordination::Entry& entry) {
  record_changed(path, entry);
}

void RequestTable::on_removed(std::string_view path) {
  record_removed(path);
}

NodeRequest RequestTable::parse(std::string id, const coordination::Entry& entry) const {
  return parse_node_request(std::move(id), entry);
}

void RequestTable::unindex(const NodeRequest& request) {
  waiting_.erase(request.service_key());
  pending_.erase(request.id);
}

void RequestTable::index(const NodeRequest& request) {
  if (request.state == RequestState::requested) waiting_.emplace(request.service_key(), request.id);
  if (request.state == RequestState::pending) pending_.insert(request.id);
}

}  // namespace nodepool::model
