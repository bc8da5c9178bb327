#include "drivers/ibmvpc/api/iam_tokens.h"

#include <utility>

#include "cloud/url_text.h"
#include "driver/cloud_error.h"
#include "drivers/ibmvpc/api/refusal.h"

namespace nodepool::drivers::ibmvpc {

using async::Task;
using driver::CloudError;
using CredentialKind = IamCredentials::Kind;

namespace {

// Follows the error if the metadata service does not respond.
constexpr const char* kHint =
    " (VPC_AUTH_TYPE=vpc needs an instance of a VPC whose metadata service is enabled)";

// The compute resource token of this container, as it is at present, in the first readable file.
std::string resource_token(const std::vector<std::string>& files) {
  std::string problems;
  for (const std::string& file : files) {
    try {
      return cloud::read_token_file(file);
    } catch (const CloudError& error) {
      problems.append(problems.empty() ? "" : "; ").append(error.what());
    }
  }
  throw CloudError(CloudError::Kind::auth, problems);
}

// A call of the metadata service.
// Source: https://cloud.ibm.com/apidocs/vpc-metadata, version 2022-03-01.
http::Request metadata_call(const IamCredentials& credentials, const char* method,
                            const char* path) {
  return {.method = method,
          .url = credentials.url + "/instance_identity/v1/" + path + "?version=2022-03-01",
          .headers = {{"Accept", "application/json"},
                      {"Content-Type", "application/json"},
                      {"Metadata-Flavor", "ibm"}}};
}

json::Json profile_of(const IamCredentials& credentials) {
  if (!credentials.profile_id.empty()) return {{"id", credentials.profile_id}};
  if (!credentials.profile_name.empty()) return {{"name", credentials.profile_name}};
  if (!credentials.profile_crn.empty()) return {{"crn", credentials.profile_crn}};
  return {};
}

}  // namespace

// The metadata service must not be called through a proxy.
IamTokens::IamTokens(const async::Runtime& runtime, const VpcAccount& account,
                     telemetry::Logger log, http::Client::Observer on_attempt)
    : BearerTokens(runtime,
                   {.name = "IBM access token",
                    .call = "iam: get token",
                    .ca_file = account.ca_file,
                    .is_direct = account.credentials.kind == CredentialKind::instance,
                    .hint = account.credentials.kind == CredentialKind::instance ? kHint : ""},
                   std::move(log), std::move(on_attempt)),
      credentials_(account.credentials) {}

Task<IamTokens::Token> IamTokens::ask() {
  switch (credentials_.kind) {
    case CredentialKind::api_key:
      co_return co_await ask_for_api_key();
    case CredentialKind::container:
      co_return co_await ask_for_container();
    case CredentialKind::instance:
      co_return co_await ask_for_instance();
    case CredentialKind::bearer_token:
      break;
  }
  co_return Token{.text = credentials_.bearer_token, .life = {}};
}

Task<IamTokens::Token> IamTokens::ask_for_api_key() {
  http::Request request =
      form(credentials_.url, {{"grant_type", "urn:ibm:params:oauth:grant-type:apikey"},
                              {"apikey", credentials_.api_key},
                              {"response_type", "cloud_iam"}});
  request.headers.emplace_back("Accept", "application/json");
  request.secrets = {cloud::url_text(credentials_.api_key), credentials_.api_key};
  co_return co_await request_token(std::move(request));
}

Task<IamTokens::Token> IamTokens::ask_for_container() {
  const std::string token = resource_token(credentials_.resource_token_files);
  std::vector<std::pair<std::string, std::string>> fields = {
      {"grant_type", "urn:ibm:params:oauth:grant-type:cr-token"}, {"cr_token", token}};
  if (!credentials_.profile_id.empty()) fields.emplace_back("profile_id", credentials_.profile_id);
  if (!credentials_.profile_name.empty()) {
    fields.emplace_back("profile_name", credentials_.profile_name);
  }
  http::Request request = form(credentials_.url, fields);
  request.headers.emplace_back("Accept", "application/json");
  request.secrets = {cloud::url_text(token), token};
  co_return co_await request_token(std::move(request));
}

// The instance's identity token lives long enough for the second call.
Task<IamTokens::Token> IamTokens::ask_for_instance() {
  http::Request for_identity = metadata_call(credentials_, "PUT", "token");
  for_identity.body = R"({"expires_in":300})";
  const cloud::Element answer = co_await exchange(std::move(for_identity));
  const std::string identity = answer.text("access_token");
  http::Request request = metadata_call(credentials_, "POST", "iam_token");
  request.headers.emplace_back("Authorization", "Bearer " + identity);
  request.secrets = {identity};
  const json::Json body = {{"trusted_profile", profile_of(credentials_)}};
  if (!body.at("trusted_profile").empty()) request.body = body.dump();
  co_return co_await request_token(std::move(request));
}

std::string IamTokens::describe(const http::Response& response) const {
  return classify(response, cloud::Effect::none).message;
}

}  // namespace nodepool::drivers::ibmvpc
