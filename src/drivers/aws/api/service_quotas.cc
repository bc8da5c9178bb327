#include "drivers/aws/api/service_quotas.h"

#include <nlohmann/json.hpp>

#include "cloud/answer.h"
#include "cloud/pages.h"
#include "cloud/xml/number.h"
#include "driver/cloud_error.h"

namespace nodepool::drivers::aws {

namespace {

constexpr const char* kCall = "servicequotas: ListServiceQuotas";

async::Task<cloud::Page> ask_page(Caller& caller, std::string service, std::string token) {
  nlohmann::json body = {{"ServiceCode", service}, {"MaxResults", 100}};
  if (!token.empty()) body["NextToken"] = token;
  Call call{.service = ServiceKind::service_quotas,
            .action = "ListServiceQuotas",
            .about = service,
            .headers = {{"Content-Type", "application/x-amz-json-1.1"},
                        {"X-Amz-Target", "ServiceQuotasV20190624.ListServiceQuotas"}},
            .body = body.dump()};
  const http::Response response = co_await caller.send(std::move(call));
  const cloud::Element answer = cloud::parse_answer(kCall, response);
  co_return cloud::Page{.items = answer.list("Quotas"),
                        .next = answer.text_or("NextToken"),
                        .bytes = response.body.size()};
}

// An invalid value becomes -1, so that the others can be read.
std::pair<std::string, double> read_quota(const cloud::Element& quota) {
  double value = -1;
  try {
    value = quota.number("Value");
  } catch (const driver::CloudError&) {
  }
  return {quota.text("QuotaCode"), value};
}

}  // namespace

async::Task<std::map<std::string, double>> ServiceQuotas::values(std::string service) {
  const cloud::AskPage ask = [this, service](const std::string& token) {
    return ask_page(caller_, service, token);
  };
  const auto quotas = co_await cloud::all_pages(kCall, ask, read_quota);
  std::map<std::string, double> values;
  for (const auto& [code, value] : quotas) {
    if (cloud::is_plausible(value)) values[code] = value;
  }
  co_return values;
}

}  // namespace nodepool::drivers::aws
