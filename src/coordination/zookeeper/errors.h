#pragma once

#include <cstdint>
#include <string_view>

#include "coordination/error.h"
#include "coordination/zookeeper/messages.h"

namespace nodepool::coordination::zookeeper {

// ZooKeeper's error codes (KeeperException.Code) that this room tells apart.
inline constexpr std::int32_t kOk = 0;
inline constexpr std::int32_t kNoNode = -101;
inline constexpr std::int32_t kUnimplemented = -6;

// What an error code means to a Store's caller. What is no answer about the tree is told in words,
// with what was attempted on which path: operators read it.
StoreError error_for(std::int32_t code, OpCode attempted, std::string_view path);

// Whether a server that answers with this code has nothing more to say to this session.
bool ends_connection(std::int32_t code);

// Throws error_for() unless the code is kOk.
void require_ok(std::int32_t code, OpCode attempted, std::string_view path);

}  // namespace nodepool::coordination::zookeeper
