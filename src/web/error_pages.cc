#include "web/error_pages.h"

#include <fmt/format.h>

#include <string_view>

#include <boost/beast/http/status.hpp>

#include "model/node.h"
#include "web/negotiation.h"

namespace nodepool::web {

namespace {

// Escapes the message: parts of it may come from the client.
std::string html(const std::string& text) {
  std::string escaped;
  for (const char letter : text) {
    switch (letter) {
      case '<':
        escaped += "&lt;";
        break;
      case '&':
        escaped += "&amp;";
        break;
      default:
        escaped += letter;
    }
  }
  return escaped;
}

}  // namespace

std::string reason_phrase(unsigned status) {
  return boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(status));
}

Response error_page(unsigned status, const std::string& message, const Request& request) {
  const std::string title = reason_phrase(status);
  const std::string code = fmt::format("{} {}", status, title);
  const std::string* accept = request.header("accept");
  const MediaType type =
      accept == nullptr ? MediaType::text : negotiate(accept).value_or(MediaType::text);
  std::string body;
  std::string_view content_type;
  switch (type) {
    case MediaType::json:
      content_type = "application/json";
      body = fmt::format(R"({{"message": {}, "code": {}, "title": {}}})",
                         model::json_string(message + "<br /><br />\n\n\n").text,
                         model::json_string(code).text, model::json_string(title).text);
      break;
    case MediaType::html:
      content_type = "text/html; charset=UTF-8";
      body = fmt::format(
          "<!DOCTYPE html>\n<html>\n <head>\n  <title>{0}</title>\n </head>\n <body>\n"
          "  <h1>{0}</h1>\n  <p>{1}</p>\n </body>\n</html>\n",
          code, html(message));
      break;
    case MediaType::text:
      content_type = "text/plain; charset=UTF-8";
      body = fmt::format("{}\n\n{}\n\n\n\n", code, message);
      break;
  }
  return {status,
          {{"Content-Type", std::string(content_type)}},
          std::make_shared<const std::string>(std::move(body))};
}

Response incomplete_records_page(const Request& request) {
  Response response = error_page(503, "The launcher waits for its store; retry later.", request);
  response.headers.emplace_back("Retry-After", "5");
  return response;
}

}  // namespace nodepool::web
