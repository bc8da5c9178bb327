#include "cloud/optional_permissions.h"

namespace nodepool::cloud {

using async::Task;
using driver::CloudError;

Task<bool> OptionalPermissions::if_permitted(Task<> call, OptionalPermission permission) {
  try {
    co_await std::move(call);
  } catch (const CloudError& error) {
    if (error.kind() != CloudError::Kind::permanent) throw;
    report(permission, error);
    co_return false;
  }
  co_return true;
}

void OptionalPermissions::report(const OptionalPermission& permission, const CloudError& error) {
  if (!reported_.insert(permission.consequence).second) return;
  log_.warning("Without the permission {}, {}: {}", permission.name, permission.consequence,
               error.what());
}

}  // namespace nodepool::cloud
