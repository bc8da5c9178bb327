#include "drivers/aws/api/credentials.h"

#include <fmt/format.h>

#include <exception>
#include <fstream>

#include "cloud/answer.h"
#include "cloud/helper_program.h"
#include "cloud/iso_time.h"
#include "driver/cloud_error.h"
#include "drivers/aws/api/error_response.h"
#include "drivers/aws/api/query.h"
#include "drivers/aws/api/signature.h"
#include "drivers/aws/api/xml_element.h"

namespace nodepool::drivers::aws {

using async::Task;
using driver::CloudError;
using SourceKind = CredentialSource::Kind;

namespace {

constexpr const char* kFormType = "application/x-www-form-urlencoded; charset=utf-8";
// Assumed lifetime of keys without expiry.
constexpr double kUsualLife = 3600;  // seconds
constexpr auto kAnswerLimit = std::chrono::seconds(20);

constexpr std::size_t kMaxTokenSize = std::size_t{64} << 10;  // bytes

// The keys in an answer, which is XML or JSON, without the session token.
template <typename Answer>
Keys keys_in(const Answer& answer) {
  return {.access_key_id = answer.text("AccessKeyId"),
          .secret_access_key = answer.text("SecretAccessKey"),
          .session_token = {}};
}

Credentials::Current lasting_until(Keys keys, const std::string& expiration,
                                   const async::Clock& clock) {
  const auto end = cloud::parse_iso_time(expiration);
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
      client_(runtime, {.transfers = {.ca_file = account.ca_file}}, log, on_attempt),
      direct_client_(runtime, {.transfers = {.ca_file = account.ca_file, .is_direct = true}}, log,
                     std::move(on_attempt)),
      current_(runtime, "AWS credentials", std::move(log), [this] { return ask_account(); }) {}

// All failures become CloudError(auth).
Task<Credentials::Current> Credentials::ask_account() {
  std::string failure;
  try {
    co_return co_await ask(account_.credentials);
  } catch (const async::Cancelled&) {
    throw;
  } catch (const std::exception& error) {
    failure = error.what();
  }
  throw CloudError(CloudError::Kind::auth, failure);
}

Task<Credentials::Current> Credentials::ask(const CredentialSource& source) {
  switch (source.kind) {
    case SourceKind::keys:
      break;
    case SourceKind::assumed_role:
      return assume_role(source);
    case SourceKind::web_identity:
      return assume_with_identity(source);
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

// Errors never contain the response's body: it may contain keys.
Task<http::Response> Credentials::send(http::Client& client, http::Request request) {
  const std::string name = request.name;
  const std::vector<std::string> secrets = request.secrets;
  request.repeatable = http::Request::Repeatable::yes;
  request.deadline = kAnswerLimit;
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
        presentable(fmt::format("{}: HTTP {} {} {}", name, response.status, refusal.code,
                                http::without_secrets(refusal.message, secrets))));
  }
  co_return response;
}

Task<Credentials::Current> Credentials::ask_sts(http::Request request, const Keys* keys,
                                                std::string result) {
  request.method = "POST";
  request.url = account_.endpoint(ServiceKind::sts) + "/";
  request.headers = {{"Content-Type", kFormType}};
  if (keys != nullptr) {
    const SigningScope scope{.region = account_.region,
                             .service = std::string(host_name(ServiceKind::sts)),
                             .time = runtime_.clock.wall_seconds()};
    sign(request, *keys, scope, sha256_hex(request.body));
  }
  const std::string name = request.name;
  const http::Response response = co_await send(client_, std::move(request));
  const XmlElement got = XmlElement::parse(name, response.body).child(result).child("Credentials");
  Keys found = keys_in(got);
  found.session_token = got.text("SessionToken");
  co_return lasting_until(std::move(found), got.text_or("Expiration"), runtime_.clock);
}

Task<Credentials::Current> Credentials::assume_role(const CredentialSource& source) {
  const Current base = co_await ask(source.base.at(0));
  Query query;
  query.add("Action", "AssumeRole").add("Version", "2011-06-15");
  query.add("RoleArn", source.role_arn).add("RoleSessionName", source.session_name);
  query.add("DurationSeconds", source.duration).add_if_any("ExternalId", source.external_id);
  http::Request request{.url = {}, .body = query.text(), .name = "sts: AssumeRole"};
  co_return co_await ask_sts(std::move(request), &base.keys, "AssumeRoleResult");
}

Task<Credentials::Current> Credentials::assume_with_identity(const CredentialSource& source) {
  const std::string token = co_await read_token(source.token_file);
  Query query;
  query.add("Action", "AssumeRoleWithWebIdentity").add("Version", "2011-06-15");
  query.add("RoleArn", source.role_arn).add("RoleSessionName", source.session_name);
  query.add("WebIdentityToken", token);
  http::Request request{.url = {},
                        .body = query.text(),
                        .secrets = {token},
                        .name = "sts: AssumeRoleWithWebIdentity"};
  co_return co_await ask_sts(std::move(request), nullptr, "AssumeRoleWithWebIdentityResult");
}

// Source: AWS SDKs and Tools Reference Guide, process credential provider. Keys without expiry are
// valid until they are rejected.
Task<Credentials::Current> Credentials::ask_program(const CredentialSource& source) {
  cloud::HelperProgram program{.what = "credential_process:", .arguments = source.command};
  Task<std::string> running = cloud::output_of(runtime_, std::move(program));
  const std::string output = co_await std::move(running);
  const cloud::Element got =
      cloud::parse_answer("credential_process", {.status = 200, .headers = {}, .body = output});
  if (got.number("Version") != 1) {
    throw CloudError(CloudError::Kind::auth, "credential_process: Version is not 1");
  }
  Keys keys = keys_in(got);
  keys.session_token = got.text_or("SessionToken");
  const std::string expiration = got.text_or("Expiration");
  if (expiration.empty()) {
    co_return Current{.keys = std::move(keys), .life = {}};
  }
  co_return lasting_until(std::move(keys), expiration, runtime_.clock);
}

Task<Credentials::Current> Credentials::ask_container(const CredentialSource& source) {
  std::string token = source.token;
  if (!source.token_file.empty()) token = co_await read_token(source.token_file);
  http::Request request{.url = source.url, .secrets = {token}, .name = "container: credentials"};
  if (!token.empty()) request.headers.emplace_back("Authorization", token);
  const http::Response response = co_await send(direct_client_, std::move(request));
  const cloud::Element got = cloud::parse_answer("container: credentials", response);
  Keys keys = keys_in(got);
  keys.session_token = got.text_or("Token");
  co_return lasting_until(std::move(keys), got.text_or("Expiration"), runtime_.clock);
}

// Instance Metadata Service version 2: all calls need a session token.
Task<Credentials::Current> Credentials::ask_instance(const CredentialSource& source) {
  http::Request for_token{.method = "PUT",
                          .url = source.url + "/latest/api/token",
                          .headers = {{"X-aws-ec2-metadata-token-ttl-seconds", "300"}},
                          .name = "instance metadata: token"};
  const http::Response token = co_await send(direct_client_, std::move(for_token));
  http::Request request{.url = source.url + "/latest/meta-data/iam/security-credentials/",
                        .headers = {{"X-aws-ec2-metadata-token", token.body}},
                        .secrets = {token.body},
                        .name = "instance metadata: role"};
  const http::Response role = co_await send(direct_client_, request);
  request.url += role.body.substr(0, role.body.find_first_of("\r\n"));
  request.name = "instance metadata: credentials";
  const http::Response response = co_await send(direct_client_, std::move(request));
  const cloud::Element got = cloud::parse_answer("instance metadata: credentials", response);
  Keys keys = keys_in(got);
  keys.session_token = got.text("Token");
  co_return lasting_until(std::move(keys), got.text_or("Expiration"), runtime_.clock);
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
