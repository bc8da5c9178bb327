// What clients of the launcher's web server send: requests, and the headers that are understood.

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>

#include "tests/fuzz/target.h"
#include "web/host_names.h"
#include "web/http_date.h"
#include "web/negotiation.h"
#include "web/origin.h"
#include "web/request_reader.h"

namespace nodepool::fuzz {

namespace {

constexpr std::uint32_t kHead = 16U << 10;
constexpr std::uint64_t kBody = 64U << 10;
constexpr std::size_t kLongestLine = 300;  // of a log, with the method

}  // namespace

void read(std::string_view input) {
  web::Connection::Parser parser;
  parser.eager(true);
  parser.header_limit(kHead);
  parser.body_limit(kBody);
  boost::system::error_code error;
  parser.put(boost::asio::buffer(input), error);
  if (!error && !parser.is_done()) error = boost::beast::http::error::partial_message;
  web::Request request;
  const auto refusal = web::read_request(error, parser.get(), request);
  require(request_summary(request).size() < kLongestLine, "a line of the log is bounded");
  if (refusal) {
    require(refusal->status >= 400 && !refusal->reason.empty(), "a refusal says why");
    return;
  }
  require(request.path.starts_with('/'), "a path begins with a slash");
  web::is_host_allowed(request, {.host = "localhost"});
  web::negotiate(request.header("accept"));
  const std::string* since = request.header("if-modified-since");
  if (since != nullptr) web::parse_http_date(*since);
  const std::string* host = request.header("host");
  if (host != nullptr) origin(web::Peer{.address = *host});
}

}  // namespace nodepool::fuzz
