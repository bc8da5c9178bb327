#include "drivers/azure/api/arm_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "http/retry.h"

namespace nodepool::drivers::azure {

using cloud::Effect;
using driver::CloudError;
using Kind = CloudError::Kind;
using json::Json;

namespace {

// An error of the API.
struct ApiError {
  std::string code;   // "OperationNotAllowed"; empty: none
  std::string inner;  // code of its reason; empty: none
  std::string message;
};

std::string text_at(const Json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const Json* member(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

// {"error": {"code": …, "message": …, "innererror": {"code": …}, "details": [{"code": …}]}}, or
// without the outer object.
ApiError read_error(const Json& body) {
  const Json* wrapped = member(body, "error");
  const Json& error = wrapped == nullptr ? body : *wrapped;
  ApiError read{.code = text_at(error, "code"), .inner = {}, .message = text_at(error, "message")};
  if (const Json* inner = member(error, "innererror")) read.inner = text_at(*inner, "code");
  const Json* details = member(error, "details");
  if (read.inner.empty() && details != nullptr && details->is_array() && !details->empty()) {
    const Json& first = details->front();
    read.inner = text_at(first, "code");
    const std::string reason = text_at(first, "message");
    if (!reason.empty()) read.message += ": " + reason;
  }
  return read;
}

bool either(const ApiError& error, const auto& holds) {
  return holds(std::string_view(error.code)) || holds(std::string_view(error.inner));
}

// "SubnetIsFull": an address is released with another machine.
bool is_about_quota(const ApiError& error, int status) {
  if (status == 429) return false;
  const auto names = [](std::string_view code) {
    return code.ends_with("QuotaExceeded") || code.ends_with("CountLimitReached") ||
           code == "SubnetIsFull";
  };
  return either(error, names) ||
         (error.code == "OperationNotAllowed" && error.message.contains("quota"));
}

bool is_about_capacity(const ApiError& error) {
  return either(error, [](std::string_view code) {
    return code == "SkuNotAvailable" || code.ends_with("AllocationFailed") ||
           code.starts_with("Overconstrained");
  });
}

// The object is being changed by another call: not a matter of the rate, whatever the status.
bool is_about_another_call(const ApiError& error) {
  constexpr std::array<std::string_view, 7> kCodes = {"RetryableError",
                                                      "AnotherOperationInProgress",
                                                      "OperationPreempted",
                                                      "NicReservedForAnotherVm",
                                                      "ResourceGroupBeingDeleted",
                                                      "Conflict",
                                                      "RetryableErrorDueToAnotherOperation"};
  return either(error, [&](std::string_view code) {
    return std::ranges::find(kCodes, code) != kCodes.end();
  });
}

bool is_about_existence(const ApiError& error, int status) {
  return status == 404 || error.code == "ResourceNotFound" || error.code == "ResourceGroupNotFound";
}

Kind kind_of(const ApiError& error, int status, Effect effect) {
  const bool creates = effect == Effect::creates;
  if (is_about_quota(error, status)) return Kind::quota;
  if (is_about_capacity(error)) return Kind::no_capacity;
  if (status == 401) return Kind::auth;
  if (error.code.ends_with("AuthorizationFailed")) return Kind::permanent;
  // It says nothing about the subscription's resources.
  if (error.code == "SubscriptionNotFound") return Kind::permanent;
  // For a create call, a policy may depend on the parameters.
  if (status == 403) return creates ? Kind::failed : Kind::permanent;
  if (is_about_existence(error, status)) return Kind::not_found;
  if (status == 429 || is_about_another_call(error)) return Kind::transient;
  if (status >= 500) return creates ? Kind::unknown_outcome : Kind::transient;
  return Kind::failed;
}

std::string described(const ApiError& error) {
  if (error.code.empty()) return error.message;
  return error.message.empty() ? error.code : error.code + ": " + error.message;
}

}  // namespace

cloud::Refusal classify(const http::Response& response, Effect effect) {
  ApiError error;
  try {
    error = read_error(json::parse(response.body));
  } catch (const json::ParseError&) {  // HTML of a gateway
  }
  const bool is_temporary = is_about_another_call(error);
  const bool is_refused = is_about_capacity(error) || is_about_quota(error, response.status);
  cloud::Refusal refusal{.kind = kind_of(error, response.status, effect), .code = error.code};
  refusal.message = fmt::format("HTTP {}{}{}", response.status, described(error).empty() ? "" : " ",
                                described(error));
  refusal.slow_down = response.status == 429 && !is_temporary;
  refusal.retry = !is_refused && (is_temporary ? response.status == 429
                                               : response.status != 429 &&
                                                     http::is_retryable_status(response.status));
  refusal.renew_credentials = response.status == 401;
  return refusal;
}

CloudError failure_of(const Json& body, const std::string& what) {
  const ApiError error = read_error(body);
  Kind kind = kind_of(error, 0, Effect::creates);
  if (kind == Kind::not_found) kind = Kind::failed;
  const std::string text = described(error).empty() ? "the operation failed" : described(error);
  return {kind, cloud::presentable(what + ": " + text), {}, error.code};
}

}  // namespace nodepool::drivers::azure
