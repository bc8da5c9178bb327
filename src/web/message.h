#pragma once

#include <chrono>
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

// Who asks, as far as the connection tells.
struct Peer {
  std::string address = {};                // empty for a Unix socket
  bool is_private = false;                 // nobody on the way can read what is said
  std::optional<std::uint32_t> user = {};  // of a Unix socket's client: its user id
};

// What a client asks for.
struct Request {
  std::string method;  // "GET"
  std::string path;    // decoded, without the query: "/node-list"
  // Of the query, then of a form in the body; decoded, in their order.
  std::vector<std::pair<std::string, std::string>> parameters;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body = {};
  bool has_form = false;  // the body is one, and its parameters are among the others
  Peer peer = {};

  // The header's value; null if the client did not send it.
  const std::string* header(const std::string& lower_case_name) const;
  // The value of the last parameter of that name; null if there is none.
  const std::string* parameter(std::string_view name) const;
};

// Where a stream's parts go.
class StreamSink {
 public:
  virtual ~StreamSink() = default;
  // Returns whether the client has taken it; if not, there is no client any more. Throws Cancelled.
  virtual async::Task<bool> send(std::shared_ptr<const std::string> part) = 0;
  async::Task<bool> send(std::string part) {
    return send(std::make_shared<const std::string>(std::move(part)));
  }
};

// Produces a body while there is something to say. It waits no longer than kStreamSilence without
// sending something: that is how a client that has left is noticed.
using Stream = std::function<async::Task<>(StreamSink& sink)>;
inline constexpr auto kStreamSilence = std::chrono::seconds(15);

struct Response {
  unsigned status = 200;
  std::vector<std::pair<std::string, std::string>> headers = {};  // without Content-Length
  std::shared_ptr<const std::string> body = {};                   // null: empty
  Stream stream = {};                                             // instead of a body
  std::string client = {};  // the name of the token that the stream counts for; empty: none
};

inline constexpr std::string_view kPlainText = "text/plain; charset=UTF-8";
inline constexpr std::string_view kPrometheusText = "text/plain; version=0.0.4; charset=utf-8";

// 200, with a text of that content type.
Response text_page(std::string text, std::string_view content_type = kPlainText);

// Marks an answer that needed a token: no cache stores it, and no page of another site reads it.
void make_private(Response& response);

// "GET /node-list" for logs: at most 20 bytes of the method and 200 of the path.
std::string request_summary(const Request& request);

// The path and the parameters of a request's target, "/a%20b?c=d&e". False if it is malformed.
bool parse_target(std::string_view target, Request& request);

// The text as a part of a target: what has a meaning there is encoded.
std::string escaped(std::string_view text);

// Adds what a form says: "a=b&c=%20", '+' for a space. What cannot be decoded is left out.
void add_parameters(std::string_view form, Request& request);

}  // namespace nodepool::web
