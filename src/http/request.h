#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/task.h"

namespace nodepool::http {

using Headers = std::vector<std::pair<std::string, std::string>>;  // name, value

// A body that is read while it is sent, because it is too large for memory.
struct StreamedBody {
  std::uint64_t size = 0;  // bytes
  // Returns between 1 and `most` bytes from `offset` on. The same bytes may be requested again. An
  // exception ends the call.
  std::function<async::Task<std::string>(std::uint64_t offset, std::size_t most)> read;
};

// One call of an HTTP API.
struct Request {
  std::string method = "GET";
  std::string url;
  Headers headers = {};  // their values are never logged
  std::string body = {};
  std::shared_ptr<const StreamedBody> streamed_body = {};  // instead of `body`
  // Receives the parts of the body of a successful response as they arrive, instead of
  // Response::body. After an interrupted attempt, the parts of the next one follow.
  std::function<void(std::string_view part)> on_body = {};
  // Parts of the headers and the body that must not appear in errors, see without_secrets().
  std::vector<std::string> secrets = {};
  std::string name = {};  // of the call, for logs and metrics: "compute: create server"
  // Whether the request is idempotent. The default depends on the method (RFC 9110 §9.2.2): a POST
  // or PATCH is retried only if it was certainly not received.
  enum class Repeatable { by_method, yes, no };
  Repeatable repeatable = Repeatable::by_method;
  // For all attempts of Client::send() and the delays between them. Waiting before
  // the first attempt, because of Retry-After, does not count. With a streamed body, limits the
  // time in which an attempt moves no byte instead: how long an upload takes depends on the line.
  std::chrono::milliseconds deadline = std::chrono::seconds(60);
};

bool is_repeatable(const Request& request);

// The precedence of calls that wait for the rate limit, the highest first.
enum class Precedence { removal, creation, read };
inline constexpr std::size_t kPrecedences = 3;

// The precedence by method: DELETE, other changes, reads.
Precedence precedence_of(const Request& request);

// Replaces each of `secrets` in a text of a server by "***": some servers repeat the request in
// errors. Finds secrets as they are and escaped as in JSON.
std::string without_secrets(std::string text, const std::vector<std::string>& secrets);

// Scheme, host and path of a URL: its other parts may be secret.
std::string without_credentials(std::string_view url);

// A response with any status.
struct Response {
  int status = 0;
  Headers headers = {};  // names in lower case
  std::string body = {};

  bool is_success() const { return status >= 200 && status < 300; }
  // Returns the value of the first header with this name (in lower case); empty if there is none.
  std::string_view header(std::string_view name) const;
};

}  // namespace nodepool::http
