#include "drivers/ibmvpc/api/iam_tokens.h"

#include <utility>

#include "cloud/url_text.h"
#include "drivers/ibmvpc/api/refusal.h"

namespace nodepool::drivers::ibmvpc {

IamTokens::IamTokens(const async::Runtime& runtime, const VpcAccount& account,
                     telemetry::Logger log, http::Client::Observer on_attempt)
    : BearerTokens(
          runtime,
          {.name = "IBM access token", .call = "iam: get token", .ca_file = account.ca_file},
          std::move(log), std::move(on_attempt)),
      credentials_(account.credentials) {}

async::Task<IamTokens::Token> IamTokens::ask() {
  if (!credentials_.bearer_token.empty()) {
    co_return Token{.text = credentials_.bearer_token, .life = {}};
  }
  http::Request request =
      form(credentials_.token_url, {{"grant_type", "urn:ibm:params:oauth:grant-type:apikey"},
                                    {"apikey", credentials_.api_key},
                                    {"response_type", "cloud_iam"}});
  request.headers.emplace_back("Accept", "application/json");
  request.secrets = {cloud::url_text(credentials_.api_key), credentials_.api_key};
  co_return co_await request_token(std::move(request));
}

std::string IamTokens::describe(const http::Response& response) const {
  return classify(response, cloud::Effect::none).message;
}

}  // namespace nodepool::drivers::ibmvpc
