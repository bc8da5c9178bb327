#include "tests/drivers/namespaces/cluster.h"

#include "async/clock.h"
#include "driver/cloud_error.h"

namespace nodepool::drivers::namespaces {

using driver::CloudError;

Task<> Cluster::call(async::Runtime runtime) {
  ++calls;
  co_await runtime.clock.sleep_for(std::chrono::seconds(1));
}

Task<std::string> Cluster::make(async::Runtime runtime, std::string prefix,
                                driver::Metadata labels) {
  co_await call(runtime);
  const std::string name = prefix + "-" + std::to_string(++made_);
  namespaces[name] = {.labels = std::move(labels), .is_active = !is_slow};
  co_return name;
}

Task<std::map<std::string, Cluster::Namespace>> Cluster::list(async::Runtime runtime) {
  co_await call(runtime);
  co_return namespaces;
}

Task<> Cluster::wait_until_active(async::Runtime runtime, std::string name) {
  co_await call(runtime);
  while (!namespaces.at(name).is_active) co_await activated_.wait();
}

Task<Cluster::Namespace> Cluster::make_account(async::Runtime runtime, std::string name) {
  co_await call(runtime);
  Namespace& entry = namespaces.at(name);
  if (entry.token.empty()) entry.token = "s3cret-of-" + name;
  co_return entry;
}

Task<std::string> Cluster::begin_removal(async::Runtime runtime, std::string name) {
  co_await call(runtime);
  const auto entry = namespaces.find(name);
  if (entry == namespaces.end()) throw CloudError(CloudError::Kind::not_found, name);
  if (entry->second.going) throw CloudError(CloudError::Kind::failed, name + " is going already");
  entry->second.going = true;
  ++removals[name];
  co_return name;
}

Task<> Cluster::finish_removal(async::Runtime runtime, std::string name) {
  co_await call(runtime);
  namespaces.erase(name);
}

void Cluster::activate() {
  is_slow = false;
  for (auto& [name, entry] : namespaces) entry.is_active = true;
  activated_.set();
}

}  // namespace nodepool::drivers::namespaces
