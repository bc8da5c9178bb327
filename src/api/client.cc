#include "api/client.h"

namespace nodepool::api {

std::string_view to_string(Client::Scope scope) {
  switch (scope) {
    case Client::Scope::none:
      return "none";
    case Client::Scope::read:
      return "read";
    case Client::Scope::request:
      return "request";
    case Client::Scope::admin:
      return "admin";
  }
  return "none";
}

bool may_see(const Client& client, const Owned& record) {
  if (client.scope < Client::Scope::read) return false;
  if (!client.name.empty() && client.name == record.owner) return true;
  return client.tenant.empty() || client.tenant == record.tenant;
}

bool may_change(const Client& client, const Owned& record) {
  if (client.scope < Client::Scope::request) return false;
  if (!client.name.empty() && client.name == record.owner) return true;
  if (client.scope < Client::Scope::admin) return false;
  return client.tenant.empty() || client.tenant == record.tenant;
}

}  // namespace nodepool::api
