#include "drivers/ibmvpc/api/iam_tokens.h"

#include <fmt/format.h>

#include "cloud/answer.h"
#include "cloud/url_text.h"
#include "driver/cloud_error.h"
#include "drivers/ibmvpc/api/refusal.h"

namespace nodepool::drivers::ibmvpc {

using driver::CloudError;

namespace {

constexpr const char* kCall = "iam: get token";
constexpr const char* kGrant = "urn:ibm:params:oauth:grant-type:apikey";
constexpr auto kAnswerLimit = std::chrono::seconds(20);

}  // namespace

IamTokens::IamTokens(const async::Runtime& runtime, const IamCredentials& credentials,
                     telemetry::Logger log, http::Client::Observer on_attempt)
    : runtime_(runtime),
      credentials_(credentials),
      client_(runtime, {}, log, std::move(on_attempt)),
      current_(runtime, "IBM access token", std::move(log), [this] { return ask(); }) {}

async::Task<cloud::RestOptions::Reject> IamTokens::authorize(http::Request& request) {
  const Pointer token = co_await get();
  request.headers.emplace_back("Authorization", "Bearer " + token->text);
  request.secrets.push_back(token->text);
  if (!can_renew()) co_return nullptr;
  co_return [this, token] { refused(token); };
}

// All failures become CloudError(auth). Errors never contain a successful response: it has a token.
async::Task<IamTokens::Token> IamTokens::ask() {
  if (!can_renew()) co_return Token{.text = credentials_.bearer_token, .life = {}};
  const async::Clock::TimePoint asked_at = runtime_.clock.now();
  const std::string key = cloud::url_text(credentials_.api_key);
  const std::vector<std::string> secrets = {key, credentials_.api_key};
  http::Request request{.method = "POST",
                        .url = credentials_.token_url,
                        .headers = {{"Content-Type", "application/x-www-form-urlencoded"},
                                    {"Accept", "application/json"}},
                        .body = fmt::format("grant_type={}&apikey={}&response_type=cloud_iam",
                                            cloud::url_text(kGrant), key),
                        .secrets = secrets,
                        .name = kCall,
                        .repeatable = http::Request::Repeatable::yes,
                        .deadline = kAnswerLimit};
  http::Response response;
  try {
    response = co_await client_.send(std::move(request));
  } catch (const http::HttpError& error) {
    throw CloudError(CloudError::Kind::auth, fmt::format("{}: {}", kCall, error.what()));
  }
  if (!response.is_success()) {
    const std::string message = classify(response, cloud::Effect::none).message;
    throw CloudError(
        CloudError::Kind::auth,
        cloud::presentable(fmt::format("{}: {}", kCall, http::without_secrets(message, secrets))));
  }
  try {
    const cloud::Element answer = cloud::parse_answer(kCall, response);
    Token token{.text = answer.text("access_token"), .life = {}};
    const std::chrono::duration<double> life(answer.number("expires_in"));
    token.life = cloud::token_life(asked_at, life);
    co_return token;
  } catch (const CloudError& error) {
    throw CloudError(CloudError::Kind::auth, error.what());
  }
}

}  // namespace nodepool::drivers::ibmvpc
