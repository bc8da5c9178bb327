#include "api/call.h"

#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <set>
#include <utility>

#include "config/duration.h"
#include "json/json.h"
#include "telemetry/sanitized_text.h"
#include "web/error_pages.h"

namespace nodepool::api {

namespace {

constexpr auto kLongestWait = std::chrono::seconds(60);

std::chrono::seconds duration_of(const std::string& text, const std::string& name) {
  const std::optional<std::chrono::seconds> duration = config::parse_duration(text);
  if (!duration) {
    throw CallError(422, fmt::format("`{}` must be a duration like 90s, 10m, 2h or 1d", name));
  }
  return *duration;
}

void require_length(const std::string& text, const char* key) {
  if (text.size() <= kLongestText) return;
  throw CallError(422, fmt::format("`{}` too long (at most {} bytes)", key, kLongestText));
}

}  // namespace

void audit(Call& call, std::optional<unsigned> status) {
  if (std::exchange(call.is_audited, true)) return;
  const web::Request& request = call.request;
  const std::string from =
      request.peer.user ? fmt::format("user {}", *request.peer.user) : request.peer.address;
  // One line: the outcome has labels as the client wrote them.
  const std::string outcome =
      call.outcome.empty() ? "" : ", " + telemetry::sanitized_line(call.outcome);
  call.context.audit.info("{} from {}: {}: {}{}", call.client.name, from, request_summary(request),
                          status ? fmt::to_string(*status) : "no response", outcome);
}

void require_ready(const model::Records& records) {
  if (records.ready()) return;
  throw CallError(503, "The launcher is still reading the records; retry", {{"Retry-After", "1"}});
}

std::optional<async::Duration> Call::wait() const {
  const std::string* given = request.parameter("wait");
  if (given == nullptr) return std::nullopt;
  if (*given == "0" || *given == "0s") return std::nullopt;
  return std::min<async::Duration>(duration_of(*given, "wait"), kLongestWait);
}

std::size_t Call::number(std::string_view name, std::size_t otherwise, std::size_t most) const {
  const std::string* given = request.parameter(name);
  if (given == nullptr) return otherwise;
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(given->data(), given->data() + given->size(), value);
  const bool is_number = error == std::errc() && end == given->data() + given->size();
  if (!is_number || value < 1 || value > most) {
    throw CallError(422, fmt::format("`{}` must be an integer from 1 to {}", name, most));
  }
  return value;
}

struct CallBody::Content {
  json::Json object = json::Json::object();
  std::set<std::string> known_keys = {};

  // Returns null if it is missing.
  const json::Json* find(const char* key) {
    known_keys.insert(key);
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? nullptr : &*found;
  }
};

CallBody::CallBody(const web::Request& request) : content_(std::make_unique<Content>()) {
  if (request.body.empty()) return;
  try {
    content_->object = json::parse(request.body);
  } catch (const json::ParseError& error) {
    throw CallError(400, fmt::format("The body is not valid JSON: {}", error.what()));
  }
  if (!content_->object.is_object()) throw CallError(400, "The body must be a JSON object");
}

CallBody::~CallBody() = default;

std::optional<std::string> CallBody::text(const char* key) {
  const json::Json* value = content_->find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) throw CallError(422, fmt::format("`{}` must be a string", key));
  auto text = value->get<std::string>();
  require_length(text, key);
  return text;
}

std::optional<std::int64_t> CallBody::integer(const char* key, std::int64_t least,
                                              std::int64_t most) {
  const json::Json* value = content_->find(key);
  if (value == nullptr) return std::nullopt;
  const bool is_integer = value->is_number_integer();
  const bool is_beyond = value->is_number_unsigned() &&
                         value->get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX);
  const std::int64_t number = is_integer && !is_beyond ? value->get<std::int64_t>() : least - 1;
  if (!is_integer || is_beyond || number < least || number > most) {
    throw CallError(422, fmt::format("`{}` must be an integer from {} to {}", key, least, most));
  }
  return number;
}

std::optional<std::chrono::seconds> CallBody::duration(const char* key) {
  const json::Json* value = content_->find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return duration_of(value->get<std::string>(), key);
  constexpr std::int64_t kCentury = std::int64_t{36525} * 86400;
  return std::chrono::seconds(*integer(key, 1, kCentury));
}

std::vector<std::string> CallBody::texts(const char* key, std::size_t most) {
  const json::Json* value = content_->find(key);
  std::vector<std::string> texts;
  if (value == nullptr) return texts;
  bool is_right = value->is_array() && value->size() <= most;
  for (const json::Json& item : is_right ? *value : json::Json::array()) {
    is_right = is_right && item.is_string() && !item.get_ref<const std::string&>().empty();
    if (!is_right) break;
    texts.push_back(item.get<std::string>());
    require_length(texts.back(), key);
  }
  if (!is_right) {
    throw CallError(422,
                    fmt::format("`{}` must be a list of at most {} non-empty strings", key, most));
  }
  return texts;
}

void CallBody::end() const {
  for (const auto& [key, value] : content_->object.items()) {
    if (!content_->known_keys.contains(key)) {
      throw CallError(422, fmt::format("Unknown key `{}`", key.substr(0, 100)));
    }
  }
}

web::Response json_response(unsigned status, std::string json) {
  return {status,
          {{"Content-Type", std::string(kJson)}, {"Cache-Control", "no-store"}},
          std::make_shared<const std::string>(std::move(json))};
}

web::Response problem_response(unsigned status, const std::string& detail) {
  const json::Json problem = {{"type", "about:blank"},
                              {"title", web::reason_phrase(status)},
                              {"status", status},
                              {"detail", detail}};
  web::Response response = json_response(status, json::to_text(problem) + "\n");
  response.headers.front().second = "application/problem+json";
  return response;
}

}  // namespace nodepool::api
