#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/task.h"

namespace nodepool::web {

// The client of a connection.
struct Peer {
  std::string address = {};                // empty for a Unix socket
  bool is_private = false;                 // TLS, loopback or a Unix socket
  std::optional<std::uint32_t> user = {};  // user id of a Unix socket's client
};

// A request of a client.
struct Request {
  std::string method;  // "GET"
  std::string path;    // decoded, without the query: "/node-list"
  // Of the query, then of a URL-encoded form in the body; decoded, in order.
  std::vector<std::pair<std::string, std::string>> parameters;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body = {};
  bool has_form = false;  // the body is a form, URL-encoded or multipart
  Peer peer = {};

  // Returns the header's value; null if it is missing.
  const std::string* header(const std::string& lower_case_name) const;
  // Returns the value of the last parameter of that name; null if there is none.
  const std::string* parameter(std::string_view name) const;
};

// Sends the parts of a stream to the client.
class StreamSink {
 public:
  virtual ~StreamSink() = default;
  // Returns false if the client has disconnected or does not read. Throws Cancelled.
  virtual async::Task<bool> send(std::shared_ptr<const std::string> part) = 0;
  async::Task<bool> send(std::string part) {
    return send(std::make_shared<const std::string>(std::move(part)));
  }
};

// Produces the parts of a body. It must send something at least every kStreamSilence, so that a
// disconnected client is detected.
using Stream = std::function<async::Task<>(StreamSink& sink)>;
inline constexpr auto kStreamSilence = std::chrono::seconds(15);

// Names and values of a response.
using Headers = std::vector<std::pair<std::string, std::string>>;

struct Response {
  unsigned status = 200;
  Headers headers = {};                          // without Content-Length
  std::shared_ptr<const std::string> body = {};  // null: empty
  Stream stream = {};                            // instead of a body
  std::string client = {};  // name of the token for which the stream counts; empty: none
};

inline constexpr std::string_view kPlainText = "text/plain; charset=UTF-8";
inline constexpr std::string_view kPrometheusText = "text/plain; version=0.0.4; charset=utf-8";

// A response with status 200 and the text.
Response text_page(std::string text, std::string_view content_type = kPlainText);

// Marks a response that required a token: not to be cached, read or embedded by pages of other
// sites.
void make_private(Response& response);

// "GET /node-list" for logs: at most 20 bytes of the method and 200 of the path, in one line;
// control characters become escapes ("\x0a").
std::string request_summary(const Request& request);

// The path and the parameters of a request's target, "/a%20b?c=d&e". False if it is malformed.
bool parse_target(std::string_view target, Request& request);

// Percent-encodes the text for use in a target.
std::string escaped(std::string_view text);

// A request has at most as many parameters: each takes far more memory than its bytes.
inline constexpr std::size_t kMostParameters = 100;

// Adds the parameters of a form, "a=b&c=%20" with '+' for a space. Skips parameters that cannot be
// decoded. Stops after the first one above kMostParameters.
void add_parameters(std::string_view form, Request& request);

}  // namespace nodepool::web
