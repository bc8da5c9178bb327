#include "cloud/rest/refusal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "http/retry.h"
#include "json/json.h"

namespace nodepool::cloud {

using Kind = driver::CloudError::Kind;
using json::Json;

namespace {

constexpr std::size_t kLongestMessage = 500;

struct Fault {
  std::string code;
  std::string message;
};

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Fault fault_of(const Json& object, const std::string& name) {
  Fault fault;
  if (!object.is_object()) return fault;
  fault.message = text_at(object, "message");
  fault.code = text_at(object, "reason");
  if (fault.code.empty()) fault.code = text_at(object, "type");
  if (fault.code.empty()) fault.code = name;
  return fault;
}

Fault fault_in(const std::string& body) {
  Json answer;
  try {
    answer = json::parse(body);
  } catch (const json::ParseError&) {
    return {.code = {}, .message = body};
  }
  if (!answer.is_object()) return {.code = {}, .message = body};
  Fault fault = fault_of(answer, "");
  if (!fault.message.empty()) return fault;
  for (const auto& [name, value] : answer.items()) {
    Fault inner = fault_of(value, name);
    if (!inner.message.empty()) return inner;
  }
  return fault;
}

// The new URL, if the response is a redirection; empty: it is none.
std::string redirection_of(const http::Response& response) {
  if (response.status < 300 || response.status >= 400) return {};
  return http::without_credentials(response.header("location"));
}

Kind kind_of(int status, Effect effect) {
  if (status == 401) return Kind::auth;
  // For a create call, the reason may be temporary.
  if (status == 403) return effect == Effect::none ? Kind::permanent : Kind::failed;
  if (status == 404) return Kind::not_found;
  if (status == 429) return Kind::transient;
  if (status >= 500) return effect == Effect::creates ? Kind::unknown_outcome : Kind::transient;
  return Kind::failed;
}

}  // namespace

Refusal refusal_by_status(const http::Response& response, Effect effect) {
  Fault fault = fault_in(response.body);
  const std::string redirection = redirection_of(response);
  if (!redirection.empty()) fault.message = "redirection to " + redirection + " is not followed";
  return {.kind = kind_of(response.status, effect),
          .code = std::move(fault.code),
          .message = fmt::format("HTTP {}{}{}", response.status, fault.message.empty() ? "" : ": ",
                                 fault.message),
          .retry = http::is_retryable_status(response.status),
          .slow_down = response.status == 429,
          .renew_credentials = response.status == 401};
}

std::string presentable(std::string message) {
  std::ranges::replace_if(message, [](unsigned char c) { return std::iscntrl(c) != 0; }, ' ');
  if (message.size() > kLongestMessage) message = message.substr(0, kLongestMessage) + "…";
  return message;
}

}  // namespace nodepool::cloud
