#pragma once

#include <cstdint>
#include <string_view>

#include "coordination/error.h"
#include "coordination/zookeeper/messages.h"

namespace nodepool::coordination::zookeeper {

// ZooKeeper's error codes (KeeperException.Code) that this module distinguishes.
inline constexpr std::int32_t kOk = 0;
inline constexpr std::int32_t kNoNode = -101;
inline constexpr std::int32_t kUnimplemented = -6;

// Translates an error code for a Store's caller. For errors that do not concern the tree, the
// message says in words what was attempted on which path.
StoreError error_for(std::int32_t code, OpCode attempted, std::string_view path);

// Whether a server ends the connection after a response with this code.
bool ends_connection(std::int32_t code);

// Throws error_for() unless the code is kOk.
void require_ok(std::int32_t code, OpCode attempted, std::string_view path);

}  // namespace nodepool::coordination::zookeeper
