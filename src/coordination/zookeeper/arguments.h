#pragma once

#include <string>
#include <string_view>

#include "coordination/store.h"

// Checks of arguments. A server makes most of them as well, but reports less or cuts the
// connection.
namespace nodepool::coordination::zookeeper {

// Throws invalid, too_large, and node_exists for the root.
void require_creatable(std::string_view path, std::string_view data, CreateMode mode);

// Throws invalid, too_large.
void require_settable(std::string_view path, std::string_view data);

// Throws invalid.
void require_removable(std::string_view path);

// Throws TransactionError for the first operation that the checks above reject.
void require_committable(const Transaction& transaction);

// Throws too_large if the request is too large for a server.
void require_sendable(std::string_view path, const std::string& frame);

}  // namespace nodepool::coordination::zookeeper
