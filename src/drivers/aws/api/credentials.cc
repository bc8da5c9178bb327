#include "drivers/aws/api/credentials.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <fstream>

#include "cloud/answer.h"
#include "cloud/digest.h"
#include "cloud/helper_program.h"
#include "cloud/iso_time.h"
#include "cloud/xml/xml_element.h"
#include "driver/cloud_error.h"
#include "drivers/aws/api/error_response.h"
#include "drivers/aws/api/query.h"
#include "drivers/aws/api/signature.h"

namespace nodepool::drivers::aws {

using async::Task;
using driver::CloudError;
using SourceKind = CredentialSource::Kind;

namespace {

constexpr const char* kFormType = "application/x-www-form-urlencoded; charset=utf-8";
// Assumed lifetime of keys without expiry.
constexpr double kUsualLife = 3600;  // seconds
constexpr auto kAnswerLimit = std::chrono::seconds(20);

constexpr std::string_view kUnauthorized = "401";  // HTTP status

constexpr std::size_t kMaxTokenSize = std::size_t{64} << 10;  // bytes

// The keys in an answer, which is XML or JSON, without the session token.
template <typename Answer>
Credentials::Current keys_in(const Answer& answer, const async::Clock& clock) {
  Keys keys{.access_key_id = answer.text("AccessKeyId"),
            .secret_access_key = answer.text("SecretAccessKey"),
            .session_token = {}};
  const auto end = cloud::parse_iso_time(answer.text_or("Expiration"));
  const double life = end ? *end - clock.wall_seconds() : kUsualLife;
  return {.keys = std::move(keys),
          .life = cloud::token_life(clock.now(), std::chrono::duration<double>(life))};
}

// The token in a file; empty if the file cannot be read or is too large. Blocks.
std::string token_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxTokenSize + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (file.bad() || text.size() > kMaxTokenSize) return {};
  text.resize(text.find_last_not_of(" \t\r\n") + 1);  // 0 if there is nothing else
  return text;
}

}  // namespace

Credentials::Credentials(const async::Runtime& runtime, const Account& account,
                         async::ThreadPool& threads, telemetry::Logger log,
                         http::Client::Observer on_attempt)
    : runtime_(runtime),
      account_(account),
      threads_(threads),
      log_(log),
      client_(runtime,
              {.transfers = {.ca_file = account.ca_file}, .request_id_headers = kRequestIdHeaders},
              log, on_attempt),
      direct_client_(runtime, {.transfers = {.ca_file = account.ca_file, .is_direct = true}}, log,
                     std::move(on_attempt)),
      current_(runtime, "AWS credentials", std::move(log), [this] { return ask_account(); }) {}

// All failures become CloudError(auth).
Task<Credentials::Current> Credentials::ask_account() {
  try {
    co_return co_await ask(account_.credentials);
  } catch (const async::Cancelled&) {
    throw;
  } catch (const std::exception& error) {
    throw CloudError(CloudError::Kind::auth, error.what());
  }
}

Task<Credentials::Current> Credentials::ask(const CredentialSource& source) {
  switch (source.kind) {
    case SourceKind::keys:
      break;
    case SourceKind::assumed_role:
    case SourceKind::web_identity:
      return assume_role(source);
    case SourceKind::program:
      return ask_program(source);
    case SourceKind::container:
      return ask_container(source);
    case SourceKind::instance_metadata:
      return ask_instance(source);
  }
  const auto known = [](Current current) -> Task<Current> { co_return current; };
  return known({.keys = source.keys, .life = {}});
}

// Limits the request's deadline. Errors never contain the response's body: it may contain keys.
// Their code is the status, which the metadata service documents, unlike its texts.
Task<http::Response> Credentials::send(http::Client& client, http::Request request) {
  const std::string name = request.name;
  const std::vector<std::string> secrets = request.secrets;
  request.repeatable = http::Request::Repeatable::yes;
  request.deadline = std::min<std::chrono::milliseconds>(request.deadline, kAnswerLimit);
  http::Response response;
  try {
    response = co_await client.send(std::move(request));
  } catch (const http::HttpError& error) {
    throw CloudError(CloudError::Kind::auth, name + ": " + error.what());
  }
  if (!response.is_success()) {
    const ErrorResponse refusal = error_in(response);
    throw CloudError(
        CloudError::Kind::auth,
        cloud::presentable(fmt::format("{}: HTTP {} {} {}", name, response.status, refusal.code,
                                       http::without_secrets(refusal.message, secrets))),
        {}, std::to_string(response.status));
  }
  co_return response;
}

// A call with a web identity is not signed.
Task<Credentials::Current> Credentials::assume_role(const CredentialSource& source) {
  const bool has_token = source.kind == SourceKind::web_identity;
  const std::string action = has_token ? "AssumeRoleWithWebIdentity" : "AssumeRole";
  Query query;
  query.add("Action", action).add("Version", "2011-06-15");
  query.add("RoleArn", source.role_arn).add("RoleSessionName", source.session_name);
  http::Request request{.method = "POST",
                        .url = account_.endpoint(ServiceKind::sts) + "/",
                        .headers = {{"Content-Type", kFormType}},
                        .name = "sts: " + action};
  if (has_token) {
    const std::string token = co_await read_token(source.token_file);
    request.secrets = {token};
    request.body = query.add("WebIdentityToken", token).text();
  } else {
    const Current base = co_await ask(source.base.at(0));
    query.add("DurationSeconds", source.duration).add_if_any("ExternalId", source.external_id);
    request.body = query.text();
    const SigningScope scope{.region = account_.region,
                             .service = std::string(host_name(ServiceKind::sts)),
                             .time = runtime_.clock.wall_seconds()};
    sign(request, base.keys, scope, cloud::sha256_hex(request.body));
  }
  const std::string name = request.name;
  const http::Response response = co_await send(client_, std::move(request));
  const cloud::XmlElement got =
      cloud::XmlElement::parse(name, response.body).child(action + "Result").child("Credentials");
  Current found = keys_in(got, runtime_.clock);
  found.keys.session_token = got.text("SessionToken");
  co_return found;
}

// Source: AWS SDKs and Tools Reference Guide, process credential provider. Keys without expiry
// are valid until they are rejected.
Task<Credentials::Current> Credentials::ask_program(const CredentialSource& source) {
  cloud::HelperProgram program{.what = "credential_process:", .arguments = source.command};
  Task<std::string> running = cloud::output_of(runtime_, std::move(program));
  const std::string output = co_await std::move(running);
  const cloud::Element got =
      cloud::parse_answer("credential_process", {.status = 200, .headers = {}, .body = output});
  if (got.number("Version") != 1) {
    throw CloudError(CloudError::Kind::auth, "credential_process: Version is not 1");
  }
  Current found = keys_in(got, runtime_.clock);
  found.keys.session_token = got.text_or("SessionToken");
  if (got.text_or("Expiration").empty()) found.life = {};
  co_return found;
}

Task<Credentials::Current> Credentials::ask_container(const CredentialSource& source) {
  std::string token = source.token;
  if (!source.token_file.empty()) token = co_await read_token(source.token_file);
  http::Request request{.url = source.url, .secrets = {token}, .name = "container: credentials"};
  if (!token.empty()) request.headers.emplace_back("Authorization", token);
  const http::Response response = co_await send(direct_client_, std::move(request));
  const cloud::Element got = cloud::parse_answer("container: credentials", response);
  Current found = keys_in(got, runtime_.clock);
  found.keys.session_token = got.text_or("Token");
  co_return found;
}

// The token for the other calls of the Instance Metadata Service.
Task<std::string> Credentials::begin_session(std::string url, std::chrono::seconds limit) {
  http::Request request{.method = "PUT",
                        .url = url + "/latest/api/token",
                        .headers = {{"X-aws-ec2-metadata-token-ttl-seconds", "300"}},
                        .name = "instance metadata: token",
                        .deadline = limit};
  http::Response response = co_await send(direct_client_, std::move(request));
  co_return std::move(response.body);
}

// The same; empty if the service does not issue one within the configured time: call it without, as
// botocore does. The response with the token passes no router, such as a container's host, if the
// instance's hop limit is 1, and emulations of the service may have no tokens.
Task<std::string> Credentials::try_session(const CredentialSource& source) {
  try {
    co_return co_await begin_session(source.url, std::chrono::seconds(source.session_timeout));
  } catch (const CloudError& error) {
    log_.info("{}; calling the service without a token (IMDSv1)", error.what());
  }
  co_return std::string();
}

// A service that answers a call without a token with 401 requires one: it may only have been slow
// to issue it.
Task<Credentials::Current> Credentials::ask_instance(const CredentialSource& source) {
  if (!source.needs_session) {
    const std::string token = co_await try_session(source);
    try {
      co_return co_await keys_of_instance(source.url, token);
    } catch (const CloudError& error) {
      if (!token.empty() || error.code() != kUnauthorized) throw;
    }
  }
  const std::string token = co_await begin_session(source.url, kAnswerLimit);
  co_return co_await keys_of_instance(source.url, token);
}

Task<Credentials::Current> Credentials::keys_of_instance(std::string url, std::string token) {
  http::Request request{.url = url + "/latest/meta-data/iam/security-credentials/",
                        .secrets = {token},
                        .name = "instance metadata: role"};
  if (!token.empty()) request.headers.emplace_back("X-aws-ec2-metadata-token", token);
  const http::Response role = co_await send(direct_client_, request);
  request.url += role.body.substr(0, role.body.find_first_of("\r\n"));
  request.name = "instance metadata: credentials";
  const http::Response response = co_await send(direct_client_, std::move(request));
  const cloud::Element got = cloud::parse_answer("instance metadata: credentials", response);
  Current found = keys_in(got, runtime_.clock);
  found.keys.session_token = got.text("Token");
  co_return found;
}

Task<std::string> Credentials::read_token(std::string path) {
  const auto read = [path] { return token_in(path); };
  std::string token = co_await threads_.run("reading a token", read);
  if (token.empty()) {
    throw CloudError(CloudError::Kind::auth, path + ": the file contains no token");
  }
  co_return token;
}

}  // namespace nodepool::drivers::aws
