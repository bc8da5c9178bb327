#include "coordination/zookeeper/arguments.h"

#include <cstdint>

#include "coordination/path.h"
#include "coordination/zookeeper/frame_buffer.h"

namespace nodepool::coordination::zookeeper {

namespace {

using Kind = StoreError::Kind;

void require_valid(const Transaction::Operation& operation) {
  switch (operation.kind) {
    case Transaction::Kind::create:
      return require_creatable(operation.path, operation.data, operation.mode);
    case Transaction::Kind::set:
      return require_settable(operation.path, operation.data);
    case Transaction::Kind::remove:
      return require_removable(operation.path);
    case Transaction::Kind::check:
      return require_valid_path(operation.path);
  }
}

}  // namespace

void require_creatable(std::string_view path, std::string_view data, CreateMode mode) {
  const bool sequential =
      mode == CreateMode::persistent_sequential || mode == CreateMode::ephemeral_sequential;
  // The digits may be the whole name: "/a/" is a valid path for a sequential node.
  require_valid_path(sequential ? std::string(path) + '0' : std::string(path));
  require_valid_size(path, data);
  if (path == "/" && !sequential) throw store_error(Kind::node_exists, path);
}

void require_settable(std::string_view path, std::string_view data) {
  require_valid_path(path);
  require_valid_size(path, data);
}

void require_removable(std::string_view path) {
  require_valid_path(path);
  if (path == "/") throw store_error(Kind::invalid, path, "the root cannot be removed");
}

void require_committable(const Transaction& transaction) {
  for (std::size_t i = 0; i < transaction.size(); ++i) {
    try {
      require_valid(transaction.operations()[i]);
    } catch (const StoreError& error) {
      throw TransactionError(error, i);
    }
  }
}

void require_sendable(std::string_view path, const std::string& frame) {
  if (frame.size() <= kMaximumRequest + sizeof(std::int32_t)) return;
  throw store_error(Kind::too_large, path,
                    "the request of " + std::to_string(frame.size()) +
                        " bytes exceeds the limit of " + std::to_string(kMaximumRequest));
}

}  // namespace nodepool::coordination::zookeeper
