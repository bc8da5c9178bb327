#include "cloud/answer.h"

#include <fmt/format.h>

#include <vector>

#include "driver/cloud_error.h"

namespace nodepool::cloud {

using driver::CloudError;

namespace {

// The message in the common forms of an error: {"badRequest": {"message": …}},
// {"NeutronError": {"message": …}}, {"error": {…}}, {"message": …}.
std::string message_in(const std::string& body) {
  Json answer;
  try {
    answer = json::parse(body);
  } catch (const json::ParseError&) {
    return body;
  }
  const auto text_at = [](const Json& value) -> std::string {
    if (!value.is_object()) return {};
    const auto found = value.find("message");
    return found != value.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  std::string message = text_at(answer);
  if (message.empty() && answer.is_object()) {
    for (const auto& [name, value] : answer.items()) {
      if (message = text_at(value); !message.empty()) break;
    }
  }
  if (message.empty() && !answer.is_object()) message = body;
  return message;
}

CloudError::Kind kind_of(int status, const std::string& message, Effect effect,
                         SpeaksOfQuota speaks_of_quota) {
  using Kind = CloudError::Kind;
  if (speaks_of_quota(message)) return Kind::quota;
  if (status == 401) return Kind::auth;
  // For a create call, the reason may be temporary.
  if (status == 403) return effect == Effect::creates ? Kind::failed : Kind::permanent;
  if (status == 404) return Kind::not_found;
  if (status == 429) return Kind::transient;
  if (status >= 500) return effect == Effect::creates ? Kind::unknown_outcome : Kind::transient;
  return Kind::failed;
}

CloudError no_response(const std::string& call, const http::HttpError& error, Effect effect) {
  using Kind = CloudError::Kind;
  using HttpKind = http::HttpError::Kind;
  const bool is_unknown = error.kind() == HttpKind::unknown_outcome;
  const bool has_arrived = is_unknown || error.kind() == HttpKind::too_large;
  Kind kind = Kind::failed;
  if (error.kind() == HttpKind::not_sent || is_unknown) kind = Kind::transient;
  if (has_arrived && effect == Effect::creates) kind = Kind::unknown_outcome;
  return {kind, call + ": " + error.what()};
}

}  // namespace

async::Task<http::Response> send(http::Client& client, http::Request request, Effect effect,
                                 std::string about, SpeaksOfQuota speaks_of_quota,
                                 IsAnswer is_rejection) {
  const std::string call = about.empty() ? request.name : request.name + " " + about;
  const std::vector<std::string> secrets = request.secrets;
  try {
    http::Response response = co_await client.send(std::move(request));
    const bool is_wanted = is_rejection != nullptr && is_rejection(response.status);
    if (response.is_success() || is_wanted) co_return response;
    const std::string message = http::without_secrets(message_in(response.body), secrets);
    throw CloudError(kind_of(response.status, message, effect, speaks_of_quota),
                     fmt::format("{}: HTTP {}{}{}", call, response.status,
                                 message.empty() ? "" : ": ", presentable(message)));
  } catch (const http::HttpError& error) {
    throw no_response(call, error, effect);
  }
}

Element parse_answer(const std::string& call, const http::Response& response) {
  Json body;
  try {
    body = json::parse(response.body);
  } catch (const json::ParseError&) {
    throw CloudError(CloudError::Kind::failed, call + ": the response is no JSON");
  }
  return {std::move(body), call + ": the response"};
}

}  // namespace nodepool::cloud
