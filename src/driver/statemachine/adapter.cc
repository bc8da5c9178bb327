#include "driver/statemachine/adapter.h"

namespace nodepool::driver {

Task<> Adapter::start(std::function<void()> /*changed*/) {
  co_return;
}

Task<> Adapter::stop() {
  co_return;
}

Task<bool> Adapter::is_absent(model::Json /*external_id*/) {
  co_return true;
}

Task<std::vector<Machine>> Adapter::find_by_name(CreateSpec /*spec*/) {
  co_return std::vector<Machine>{};
}

Task<std::vector<Resource>> Adapter::other_resources() {
  co_return std::vector<Resource>{};
}

Task<> Adapter::remove_resource(Resource resource) {
  throw CloudError(CloudError::Kind::permanent,
                   "cannot delete " + resource.type + " " + resource.id + ": not supported");
  co_return;  // makes it a coroutine, which throws when awaited, like its overrides
}

Task<CloudDescription> Adapter::describe(CloudDescription::Purpose /*purpose*/) {
  co_return CloudDescription{};
}

Task<std::optional<std::string>> Adapter::diagnose(model::Json /*external_id*/,
                                                   bool /*wants_console*/) {
  co_return std::nullopt;
}

}  // namespace nodepool::driver
