#include "drivers/gce/api/refusal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "json/json.h"

namespace nodepool::drivers::gce {

using cloud::Effect;
using driver::CloudError;
using Kind = CloudError::Kind;

namespace {

// The names of errors differ between HTTP ("quotaExceeded") and operations ("QUOTA_EXCEEDED").
std::string unified(std::string_view code) {
  std::string name;
  for (const char c : code) {
    if (c != '_') name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name;
}

bool is_about_capacity(std::string_view name) {
  return name.contains("resourcepoolexhausted") || name.contains("stockout");
}

// A limit of calls or operations in progress, not of resources. Refusals for both may have the code
// "quotaExceeded". Their messages are "Quota exceeded for quota metric 'Queries' and limit 'Queries
// per minute' …" and "Quota 'CPUS' exceeded. …".
bool is_about_rate(std::string_view name, std::string_view message) {
  constexpr std::array<std::string_view, 4> kRates = {"ratelimitexceeded", "userratelimitexceeded",
                                                      "concurrentoperationsquotaexceeded",
                                                      "operationratelimitexceeded"};
  return std::ranges::find(kRates, name) != kRates.end() ||
         (name == "quotaexceeded" && message.starts_with("Quota exceeded for quota "));
}

// An error in a response.
struct ErrorResponse {
  std::string code;  // "quotaExceeded"; empty: none
  std::string message;
};

std::string text_at(const json::Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// {"error": {"message": …, "errors": [{"reason": …}], "status": …}}. Newer errors have the reason
// in "details".
ErrorResponse error_in(const http::Response& response) {
  json::Json body;
  try {
    body = json::parse(response.body);
  } catch (const json::ParseError&) {
    return {};
  }
  const auto error = body.is_object() ? body.find("error") : body.end();
  if (error == body.end() || !error->is_object()) return {};
  ErrorResponse read{.code = {}, .message = text_at(*error, "message")};
  for (const char* list : {"errors", "details"}) {
    const auto entries = error->find(list);
    if (entries == error->end() || !entries->is_array()) continue;
    for (const json::Json& entry : *entries) {
      if (read.code.empty() && entry.is_object()) read.code = text_at(entry, "reason");
    }
  }
  if (read.code.empty()) read.code = text_at(*error, "status");
  return read;
}

Kind kind_of(std::string_view name, int status, Effect effect) {
  const bool creates = effect == Effect::creates;
  if (is_about_capacity(name)) return Kind::no_capacity;
  if (name.ends_with("quotaexceeded")) return Kind::quota;
  if (status == 401) return Kind::auth;
  // For a create call, the policy may depend on the parameters.
  if (status == 403) return creates ? Kind::failed : Kind::permanent;
  if (status == 404) return Kind::not_found;
  if (name == "resourcenotready") return Kind::transient;  // it is being changed
  if (status >= 500) return creates ? Kind::unknown_outcome : Kind::transient;
  return Kind::failed;
}

}  // namespace

cloud::Refusal classify(const http::Response& response, Effect effect) {
  const ErrorResponse error = error_in(response);
  const std::string name = unified(error.code);
  cloud::Refusal refusal{.code = error.code};
  refusal.message = fmt::format("HTTP {}{}{}: {}", response.status, error.code.empty() ? "" : " ",
                                error.code, error.message);
  refusal.slow_down = response.status == 429 || is_about_rate(name, error.message);
  refusal.kind = refusal.slow_down ? Kind::transient : kind_of(name, response.status, effect);
  refusal.retry = !refusal.slow_down && response.status >= 500 && !is_about_capacity(name);
  refusal.renew_credentials = response.status == 401;
  return refusal;
}

CloudError failure_of(const ComputeOperation& operation, const std::string& what) {
  const std::string name = unified(operation.code);
  Kind kind = Kind::failed;
  if (is_about_capacity(name)) {
    kind = Kind::no_capacity;
  } else if (name.ends_with("quotaexceeded") && !is_about_rate(name, operation.message)) {
    kind = Kind::quota;
  }
  const std::string text = fmt::format("{}: {}: {}", what, operation.code, operation.message);
  return {kind, cloud::presentable(text), {}, operation.code};
}

}  // namespace nodepool::drivers::gce
