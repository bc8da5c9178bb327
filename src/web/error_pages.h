#pragma once

#include <string>

#include "web/message.h"

namespace nodepool::web {

// An error in the form that the client likes, with `message` to say more than the status does.
Response error_page(unsigned status, const std::string& message, const Request& request);

// "Not Found" for 404.
std::string reason_phrase(unsigned status);

}  // namespace nodepool::web
