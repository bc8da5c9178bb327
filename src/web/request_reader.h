#pragma once

#include <optional>
#include <string>

#include "web/connection.h"
#include "web/message.h"

namespace nodepool::web {

// Why the server rejects a request and closes the connection. The end of the request is uncertain,
// so the following bytes must not be parsed as another one.
struct BadRequest {
  unsigned status = 400;
  std::string reason = {};
};

// Converts a parsed request; `error` is the result of the parser. A form in the body becomes
// parameters. A body that begins like JSON is not a form, whatever its Content-Type is (`curl
// --data`). Returns nothing on success.
std::optional<BadRequest> read_request(const boost::system::error_code& error,
                                       Connection::Parser::value_type& message, Request& request);

}  // namespace nodepool::web
