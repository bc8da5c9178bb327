#include "drivers/openstack/api/classify.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace nodepool::drivers::openstack {

bool speaks_of_quota(std::string_view message) {
  std::string text(message);
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text.contains("quota exceeded") || text.contains("number of ports exceeded");
}

cloud::Refusal classify(const http::Response& response, cloud::Effect effect) {
  cloud::Refusal refusal = cloud::refusal_by_status(response, effect);
  if (speaks_of_quota(refusal.message)) refusal.kind = driver::CloudError::Kind::quota;
  return refusal;
}

cloud::Refusal classify_named(const http::Response& response, cloud::Effect effect) {
  using Kind = driver::CloudError::Kind;
  cloud::Refusal refusal = classify(response, effect);
  const bool may_be_foreign = response.status == 403 || response.status == 404;
  if (may_be_foreign && refusal.code.empty() && refusal.kind != Kind::quota) {
    refusal.kind = Kind::transient;
    refusal.code = kForeign;
  }
  return refusal;
}

bool is_refusal(const driver::CloudError& error) {
  using Kind = driver::CloudError::Kind;
  return !error.code().empty() &&
         (error.kind() == Kind::permanent || error.kind() == Kind::not_found);
}

}  // namespace nodepool::drivers::openstack
