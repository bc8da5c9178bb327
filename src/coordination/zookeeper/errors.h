#pragma once

#include <cstdint>
#include <string_view>

#include "coordination/error.h"

namespace nodepool::coordination::zookeeper {

// ZooKeeper's error codes (KeeperException.Code) that this room tells apart.
inline constexpr std::int32_t kOk = 0;
inline constexpr std::int32_t kNoNode = -101;
inline constexpr std::int32_t kUnimplemented = -6;

// What an error code means to a Store's caller, with the path that was asked for.
StoreError error_for(std::int32_t code, std::string_view path);

// Whether a server that answers with this code has nothing more to say to this session.
bool ends_connection(std::int32_t code);

// Throws error_for() unless the code is kOk.
void require_ok(std::int32_t code, std::string_view path);

}  // namespace nodepool::coordination::zookeeper
