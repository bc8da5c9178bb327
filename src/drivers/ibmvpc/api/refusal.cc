#include "drivers/ibmvpc/api/refusal.h"

#include <fmt/format.h>

#include "cloud/xml/xml_element.h"
#include "json/json.h"

namespace nodepool::drivers::ibmvpc {

using cloud::Effect;
using driver::CloudError;
using Kind = CloudError::Kind;

namespace {

// An error in a response.
struct ErrorInBody {
  std::string code;  // "over_quota"; empty: none
  std::string message;
};

std::string text_at(const json::Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Object storage: <Error><Code>…</Code><Message>…</Message></Error>.
ErrorInBody error_in_xml(const std::string& body) {
  try {
    const cloud::XmlElement error = cloud::XmlElement::parse("an error", body);
    return {.code = error.text_or("Code"), .message = error.text_or("Message", body)};
  } catch (const CloudError&) {
    return {.code = {}, .message = body};
  }
}

// {"errors": [{"code": …, "message": …}]}; IAM: {"errorCode": …, "errorMessage": …}. The message
// may also be at the top.
ErrorInBody error_in(const http::Response& response) {
  json::Json body;
  try {
    body = json::parse(response.body);
  } catch (const json::ParseError&) {
    return error_in_xml(response.body);
  }
  if (!body.is_object()) return {.code = {}, .message = response.body};
  ErrorInBody read{.code = text_at(body, "errorCode"), .message = text_at(body, "errorMessage")};
  if (read.message.empty()) read.message = text_at(body, "message");
  const auto errors = body.find("errors");
  if (errors != body.end() && errors->is_array() && !errors->empty() &&
      errors->front().is_object()) {
    read = {.code = text_at(errors->front(), "code"),
            .message = text_at(errors->front(), "message")};
  }
  return read;
}

bool is_about_quota(std::string_view code) {
  return code.contains("over_quota") || code.contains("quota_exceeded");
}

bool is_about_capacity(std::string_view code) {
  return code.contains("capacity");
}

Kind kind_of(std::string_view code, int status, Effect effect) {
  const bool creates = effect == Effect::creates;
  if (is_about_quota(code)) return Kind::quota;
  if (is_about_capacity(code)) return Kind::no_capacity;
  if (status == 401) return Kind::auth;
  // For a create call, the policy may depend on the parameters.
  if (status == 403) return creates ? Kind::failed : Kind::permanent;
  if (status == 404) return Kind::not_found;
  if (status == 409) return creates ? Kind::failed : Kind::transient;  // it is being changed
  if (status >= 500) return creates ? Kind::unknown_outcome : Kind::transient;
  return Kind::failed;
}

}  // namespace

cloud::Refusal classify(const http::Response& response, Effect effect) {
  const ErrorInBody error = error_in(response);
  cloud::Refusal refusal{.code = error.code};
  refusal.message = fmt::format("HTTP {}{}{}: {}", response.status, error.code.empty() ? "" : " ",
                                error.code, error.message);
  refusal.slow_down = response.status == 429;
  refusal.kind = refusal.slow_down ? Kind::transient : kind_of(error.code, response.status, effect);
  refusal.retry = response.status >= 500 && !is_about_capacity(error.code);
  refusal.renew_credentials = response.status == 401;
  return refusal;
}

CloudError failure_of(std::string_view code, const std::string& message) {
  const Kind kind = is_about_capacity(code) ? Kind::no_capacity : Kind::failed;
  return {kind, cloud::presentable(message), {}, std::string(code)};
}

}  // namespace nodepool::drivers::ibmvpc
