#pragma once

#include <optional>
#include <string>

#include "web/connection.h"
#include "web/message.h"

namespace nodepool::web {

// Why a request is not answered, and the connection closed: where it ends is not certain, and what
// comes next might be taken for another request.
struct Refusal {
  unsigned status = 400;
  std::string why = {};
};

// Reads the request that has come, or not: `error` says what was wrong with it. A form in the body
// becomes parameters; what begins like JSON is no form, whatever it says of itself (`curl --data`).
std::optional<Refusal> read_request(const boost::system::error_code& error,
                                    Connection::Parser::value_type& message, Request& request);

}  // namespace nodepool::web
