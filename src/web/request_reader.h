#pragma once

#include <optional>
#include <string>

#include "web/connection.h"
#include "web/message.h"

namespace nodepool::web {

// Why the server refuses a request and closes the connection: it is not certain where the request
// ends, so the bytes after it cannot be taken for another one.
struct Refusal {
  unsigned status = 400;
  std::string why = {};
};

// Reads a parsed request; `error` is what the parser reported. A form in the body becomes
// parameters. A body that begins like JSON is no form, whatever its Content-Type is (`curl
// --data`).
std::optional<Refusal> read_request(const boost::system::error_code& error,
                                    Connection::Parser::value_type& message, Request& request);

}  // namespace nodepool::web
