#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nodepool::http {

using Headers = std::vector<std::pair<std::string, std::string>>;  // name, value

// One call of an HTTP API.
struct Request {
  std::string method = "GET";
  std::string url;
  Headers headers = {};  // their values are never logged
  std::string body = {};
  std::string name = {};  // of the call, for logs and metrics: "compute: create server"
  // Whether it does no harm to send it twice. By default that depends on the method (RFC 9110
  // §9.2.2): a POST or PATCH is sent again only if it certainly has not arrived.
  enum class Repeatable { by_method, yes, no };
  Repeatable repeatable = Repeatable::by_method;
  // For all attempts and the pauses between them together.
  std::chrono::milliseconds deadline = std::chrono::seconds(60);
};

bool is_repeatable(const Request& request);

// The answer, whatever its status says.
struct Response {
  int status = 0;
  Headers headers = {};  // names in lower case
  std::string body = {};

  bool is_success() const { return status >= 200 && status < 300; }
  // The value of the first header with this name (in lower case); empty if there is none.
  std::string_view header(std::string_view name) const;
};

}  // namespace nodepool::http
