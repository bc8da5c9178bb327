#include "cloud/rest/bearer_tokens.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>

#include "cloud/answer.h"
#include "cloud/rest/refusal.h"
#include "cloud/url_text.h"
#include "driver/cloud_error.h"
#include "http/error.h"

namespace nodepool::cloud {

using async::Task;
using driver::CloudError;
using Kind = CloudError::Kind;

namespace {

constexpr auto kDeadline = std::chrono::seconds(20);
constexpr std::size_t kMaxSize = std::size_t{1} << 20;  // bytes, of a response or a file

// Some metadata services have it as text.
double seconds_in(const Element& answer) {
  const driver::Metadata texts = answer.own_texts();
  const auto text = texts.find("expires_in");
  if (text == texts.end()) return answer.number("expires_in");
  return std::strtod(text->second.c_str(), nullptr);
}

}  // namespace

BearerTokens::BearerTokens(const async::Runtime& runtime, Options options, telemetry::Logger log,
                           http::Client::Observer on_attempt)
    : runtime_(runtime),
      options_(std::move(options)),
      client_(runtime,
              {.transfers = {.ca_file = options_.ca_file,
                             .is_direct = options_.is_direct,
                             .largest_body = kMaxSize}},
              log, std::move(on_attempt)),
      cache_(runtime, options_.name, std::move(log), [this] { return ask_or_fail(); }) {}

Task<RestOptions::Reject> BearerTokens::authorize(http::Request& request) {
  const Pointer token = co_await get();
  request.headers.emplace_back("Authorization", "Bearer " + token->text);
  request.secrets.push_back(token->text);
  if (token->life.ends_at == TokenLife().ends_at) co_return nullptr;
  co_return [this, token] { refused(token); };
}

http::Request BearerTokens::form(std::string url,
                                 const std::vector<std::pair<std::string, std::string>>& fields) {
  http::Request request{.method = "POST",
                        .url = std::move(url),
                        .headers = {{"Content-Type", "application/x-www-form-urlencoded"}}};
  for (const auto& [name, value] : fields) {
    request.body += (request.body.empty() ? "" : "&") + name + "=" + url_text(value);
  }
  return request;
}

Task<http::Response> BearerTokens::fetch(http::Request request) {
  if (request.name.empty()) request.name = options_.call;
  request.repeatable = http::Request::Repeatable::yes;
  request.deadline = kDeadline;
  const std::string name = request.name;
  const std::vector<std::string> secrets = request.secrets;
  http::Response response;
  try {
    response = co_await client_.send(std::move(request));
  } catch (const http::HttpError& error) {
    using HttpKind = http::HttpError::Kind;
    const bool is_unanswered =
        error.kind() == HttpKind::not_sent || error.kind() == HttpKind::unknown_outcome;
    throw CloudError(is_unanswered ? Kind::transient : Kind::auth,
                     fmt::format("{}: {}{}", name, error.what(), options_.hint));
  }
  if (!response.is_success()) {
    const bool may_succeed = response.status == 429 || response.status >= 500;
    const std::string message = http::without_secrets(describe(response), secrets);
    throw CloudError(may_succeed ? Kind::transient : Kind::auth,
                     presentable(fmt::format("{}: {}", name, message)));
  }
  co_return response;
}

Task<Element> BearerTokens::exchange(http::Request request) {
  const http::Response response = co_await fetch(std::move(request));
  co_return parse_answer(std::string(options_.call), response);
}

Task<BearerTokens::Token> BearerTokens::request_token(http::Request request) {
  const async::Clock::TimePoint asked_at = runtime_.clock.now();
  const Element answer = co_await exchange(std::move(request));
  const std::chrono::duration<double> life(seconds_in(answer));
  co_return Token{.text = answer.text("access_token"), .life = token_life(asked_at, life)};
}

std::string BearerTokens::describe(const http::Response& response) const {
  std::string message;
  try {
    const Element answer = parse_answer(std::string(options_.call), response);
    const driver::Metadata texts = answer.own_texts();
    const auto error = texts.find("error");
    message = error == texts.end() ? answer.object("error").text_or("message")
                                   : error->second + ": " + answer.text_or("error_description");
  } catch (const CloudError&) {
    // The response has another form.
  }
  return fmt::format("HTTP {} {}", response.status, message);
}

Task<BearerTokens::Token> BearerTokens::ask_or_fail() {
  try {
    co_return co_await ask();
  } catch (const CloudError& error) {
    if (error.kind() == Kind::transient) throw;
    throw CloudError(Kind::auth, error.what());
  }
}

std::string read_token_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxSize, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  while (text.ends_with('\n')) text.pop_back();
  if (text.empty()) {
    throw CloudError(Kind::auth, path + ": cannot be read, or is empty");
  }
  return text;
}

}  // namespace nodepool::cloud
