#include "web/request_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>

#include <boost/beast/http/error.hpp>

namespace nodepool::web {

namespace http = boost::beast::http;

namespace {

using Message = Connection::Parser::value_type;

// Trailers count as headers, too.
constexpr std::ptrdiff_t kMostHeaders = 100;

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return lower;
}

BadRequest refusal_of(const boost::system::error_code& error) {
  if (error == http::error::body_limit) return {413, "The body is too large."};
  if (error == http::error::buffer_overflow) {
    return {413, "The chunk extensions or trailers of the body are too large."};
  }
  if (error == http::error::header_limit) return {431, "The headers are too large."};
  return {400, "The request is malformed."};
}

// Prevents request smuggling: proxies and servers disagree about requests with an ambiguous or
// unknown length of the body (RFC 9112, 6.1).
std::optional<BadRequest> refusal_of_framing(const Message& message) {
  const auto codings = message.count(http::field::transfer_encoding);
  if (codings > 0) {
    if (message.version() < 11 || message.count(http::field::content_length) > 0) {
      return BadRequest{
          400, "The length of the body is ambiguous: remove Content-Length or Transfer-Encoding."};
    }
    if (codings > 1 || lower_case(message[http::field::transfer_encoding]) != "chunked") {
      return BadRequest{501, "Unsupported transfer encoding; use chunked."};
    }
  }
  if (message.count(http::field::host) > 1)
    return BadRequest{400, "The request has several Host headers."};
  return std::nullopt;
}

enum class Form { none, url_encoded, multipart };

// JSON is no form, whatever its type: curl sends it as one.
Form form_of(const Request& request, std::string_view body) {
  const std::string* given = request.header("content-type");
  const std::string type = given == nullptr ? std::string() : lower_case(*given);
  const std::size_t begin = body.find_first_not_of(" \t\r\n");
  const bool is_json =
      begin != std::string_view::npos && (body[begin] == '{' || body[begin] == '[');
  if (begin == std::string_view::npos || is_json) return Form::none;
  if (type.starts_with("multipart/form-data")) return Form::multipart;
  return type.starts_with("application/x-www-form-urlencoded") ? Form::url_encoded : Form::none;
}

}  // namespace

std::optional<BadRequest> read_request(const boost::system::error_code& error, Message& message,
                                       Request& request) {
  if (error) return refusal_of(error);
  request.method = std::string(message.method_string());
  if (std::optional<BadRequest> refusal = refusal_of_framing(message)) return refusal;
  if (std::distance(message.begin(), message.end()) > kMostHeaders) {
    return BadRequest{431, fmt::format("The request has more than {} headers.", kMostHeaders)};
  }
  for (const auto& field : message) {
    request.headers.emplace(lower_case(field.name_string()), std::string(field.value()));
  }
  if (!parse_target(message.target(), request)) return BadRequest{400, "The request is malformed."};
  const Form form = form_of(request, message.body());
  request.has_form = form != Form::none;
  if (form == Form::url_encoded) add_parameters(message.body(), request);
  if (request.parameters.size() > kMostParameters) {
    return BadRequest{400,
                      fmt::format("The request has more than {} parameters.", kMostParameters)};
  }
  request.body = std::move(message.body());
  return std::nullopt;
}

}  // namespace nodepool::web
