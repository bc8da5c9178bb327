#pragma once

#include <string>
#include <string_view>

#include "coordination/store.h"

// Checks of what a store's caller asks for. A server makes most of them too, but says less about
// it, or cuts the connection.
namespace nodepool::coordination::zookeeper {

// Throws invalid, and node_exists for the root.
void require_creatable(std::string_view path, std::string_view data, CreateMode mode);

// Throws invalid.
void require_settable(std::string_view path, std::string_view data);
void require_removable(std::string_view path);

// Throws TransactionError for the first operation that is refused above.
void require_committable(const Transaction& transaction);

// Throws invalid if the server would not read so large a request.
void require_sendable(std::string_view path, const std::string& frame);

}  // namespace nodepool::coordination::zookeeper
