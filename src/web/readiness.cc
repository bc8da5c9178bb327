#include "web/readiness.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/record.h"
#include "report/values.h"
#include "web/error_pages.h"
#include "web/negotiation.h"

namespace nodepool::web {

namespace {

constexpr unsigned kOk = 200;
constexpr unsigned kUnavailable = 503;
constexpr unsigned kNotAcceptable = 406;

std::string details_json(const telemetry::Health& health) {
  return fmt::format(R"({{"ready": {}, "obstacles": {}, "warnings": {}}})",
                     health.obstacles.empty(), report::json_of(health.obstacles).text,
                     report::json_of(health.warnings).text);
}

std::string details_text(const telemetry::Health& health) {
  std::string text = health.obstacles.empty() ? "OK\n" : "not ready\n";
  for (const std::string& obstacle : health.obstacles) text += "obstacle: " + obstacle + '\n';
  for (const std::string& warning : health.warnings) text += "warning: " + warning + '\n';
  return text;
}

Response unavailable(const telemetry::Health& health, const Request& request) {
  std::string message =
      "The server is currently unavailable. Please try again at a later time. Not ready: ";
  message += fmt::format("{}", fmt::join(health.obstacles, "; "));
  return error_page(kUnavailable, message, request);
}

}  // namespace

telemetry::Health without_reasons(telemetry::Health health) {
  if (!health.obstacles.empty()) health.obstacles = {"the reasons need the right to read"};
  health.warnings.clear();
  return health;
}

Response readiness_page(const telemetry::Health& health, const Request& request) {
  const std::optional<MediaType> type = negotiate(request.header("accept"));
  if (!type) {
    return error_page(kNotAcceptable, "Only text and application/json are available.", request);
  }
  const bool is_ready = health.obstacles.empty();
  const bool is_json = type == MediaType::json;
  std::string body = "OK";
  if (request.parameter("detail") != nullptr) {
    body = is_json ? details_json(health) : details_text(health);
  } else if (!is_ready) {
    return unavailable(health, request);
  }
  Response response{is_ready ? kOk : kUnavailable,
                    {{"Content-Type", is_json ? "application/json" : "text/plain; charset=UTF-8"}},
                    std::make_shared<const std::string>(std::move(body))};
  if (is_ready) {
    response.headers.emplace_back("Access-Control-Allow-Origin", "*");
    response.headers.emplace_back("Cache-Control", "max-age=1, public");
  }
  return response;
}

}  // namespace nodepool::web
