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
  const std::optional<OrderedJson> found =
      record_io::object_at(request.requestor_data.text, kLeaseRequestKey);
  if (!found) return std::nullopt;
  LeaseRequest result;
  const bool is_complete = read_text(*found, "owner", result.owner) &&
                           read_number(*found, "lease", result.lease) &&
                           read_number(*found, "expires", result.expires);
  if (!is_complete) return std::nullopt;
  read_text(*found, "holder", result.holder);
  read_text(*found, "key", result.key);
  return result;
}

Json lease_request_data(const LeaseRequest& lease_request) {
  OrderedJson content = OrderedJson::object();
  content["owner"] = lease_request.owner;
  content["holder"] = lease_request.holder;
  content["lease"] = lease_request.lease;
  content["expires"] = lease_request.expires;
  if (!lease_request.key.empty()) content["key"] = lease_request.key;
  OrderedJson data = OrderedJson::object();
  data[kLeaseRequestKey] = std::move(content);
  return {record_io::dump(data)};
}

}  // namespace nodepool::model
