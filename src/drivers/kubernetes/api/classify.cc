#include "drivers/kubernetes/api/classify.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace nodepool::drivers::kubernetes {

namespace {

constexpr int kConflictStatus = 409;

bool speaks_of_quota(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text.contains("exceeded quota");
}

// There is no default service account, or a quota has not been counted.
bool speaks_of_new_namespace(const std::string& text) {
  return text.contains("error looking up service account") ||
         text.contains("status unknown for quota");
}

// False for a refusal that looks like the cluster's answer about an object or a permission, but is
// the page of a proxy, or the API server's plain 404 for an API group that it does not serve.
bool is_answer(const cloud::Refusal& refusal) {
  using Kind = driver::CloudError::Kind;
  if (refusal.kind == Kind::not_found) return refusal.code == kNotFound;
  if (refusal.kind == Kind::permanent) return refusal.code == kForbidden;
  return true;
}

}  // namespace

cloud::Refusal classify(const http::Response& response, cloud::Effect effect) {
  cloud::Refusal refusal = cloud::refusal_by_status(response, effect);
  if (!is_answer(refusal)) refusal.kind = driver::CloudError::Kind::transient;
  if (speaks_of_quota(refusal.message)) refusal.kind = driver::CloudError::Kind::quota;
  if (response.status == kConflictStatus && refusal.code != kAlreadyExists) {
    refusal.kind = driver::CloudError::Kind::transient;
    refusal.code = kConflict;
    refusal.retry = true;
    refusal.had_no_effect = true;
  }
  if (speaks_of_new_namespace(refusal.message)) refusal.code = kNewNamespace;
  return refusal;
}

bool lacks_permission(const driver::CloudError& error) {
  return error.kind() == driver::CloudError::Kind::permanent && error.code() == kForbidden;
}

}  // namespace nodepool::drivers::kubernetes
