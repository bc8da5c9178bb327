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

// A body that is read while it is sent, because it is too large to be held.
struct StreamedBody {
  std::uint64_t size = 0;  // bytes
  // The bytes from `offset` on, at least one of them and at most `most`. May be asked again for
  // what it has given. What it throws ends the call.
  std::function<async::Task<std::string>(std::uint64_t offset, std::size_t most)> read;
};

// One call of an HTTP API.
struct Request {
  std::string method = "GET";
  std::string url;
  Headers headers = {};  // their values are never logged
  std::string body = {};
  std::shared_ptr<const StreamedBody> streamed_body = {};  // instead of `body`
  // Takes the body of a successful answer part by part, as it comes, in place of Response::body:
  // for answers that are told while things happen. An attempt that breaks off is followed by the
  // next.
  std::function<void(std::string_view part)> on_body = {};
  // What of the headers and the body nobody may read who reads an error: see without_secrets().
  std::vector<std::string> secrets = {};
  std::string name = {};  // of the call, for logs and metrics: "compute: create server"
  // Whether it does no harm to send it twice. By default that depends on the method (RFC 9110
  // §9.2.2): a POST or PATCH is sent again only if it certainly has not arrived.
  enum class Repeatable { by_method, yes, no };
  Repeatable repeatable = Repeatable::by_method;
  // For all attempts and the pauses between them together. The wait for its first turn, which a
  // limit of calls in a time demands, does not count.
  std::chrono::milliseconds deadline = std::chrono::seconds(60);
};

bool is_repeatable(const Request& request);

// Which calls go first where they have to wait for their turn.
enum class Precedence { removal, creation, look };
inline constexpr std::size_t kPrecedences = 3;

// By its method: DELETE, others that change something, and those that do not.
Precedence precedence_of(const Request& request);

// `text`, which a server has written, with "***" for each of `secrets` that stands in it: some
// servers repeat in an error what they were asked. A secret is found as it is and as JSON has it.
std::string without_secrets(std::string text, const std::vector<std::string>& secrets);

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
