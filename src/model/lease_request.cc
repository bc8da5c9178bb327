#include "model/lease_request.h"

#include "model/record_io.h"

namespace nodepool::model {

namespace {

using record_io::OrderedJson;

constexpr const char* kLeaseRequestKey = "nodepool_lease_request";

bool read_text(const OrderedJson& object, const char* key, std::string& value) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return false;
  value = found->get<std::string>();
  return true;
}

bool read_number(const OrderedJson& object, const char* key, double& value) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return false;
  value = found->get<double>();
  return true;
}

}  // namespace

std::optional<LeaseRequest> lease_request_of(const NodeRequest& request) {
  if (!request.requestor_data.text.contains(kLeaseRequestKey)) return std::nullopt;  // most
  const OrderedJson data = OrderedJson::parse(request.requestor_data.text);
  if (!data.is_object()) return std::nullopt;
  const auto found = data.find(kLeaseRequestKey);
  if (found == data.end() || !found->is_object()) return std::nullopt;
  LeaseRequest order;
  const bool is_complete = read_text(*found, "owner", order.owner) &&
                           read_number(*found, "lease", order.lease) &&
                           read_number(*found, "expires", order.expires);
  if (!is_complete) return std::nullopt;
  read_text(*found, "holder", order.holder);
  read_text(*found, "key", order.key);
  return order;
}

Json lease_request_data(const LeaseRequest& order) {
  OrderedJson content = OrderedJson::object();
  content["owner"] = order.owner;
  content["holder"] = order.holder;
  content["lease"] = order.lease;
  content["expires"] = order.expires;
  if (!order.key.empty()) content["key"] = order.key;
  OrderedJson data = OrderedJson::object();
  data[kLeaseRequestKey] = std::move(content);
  return {record_io::dump(data)};
}

}  // namespace nodepool::model
