#pragma once

#include <string>
#include <utility>

#include "driver/driver.h"
#include "driver/simple/task_manager.h"

namespace nodepool::driver {

// A provider that makes blocking calls: what a driver derives from that needs the whole of
// LaunchingProvider and has a blocking client of its cloud. It owns a TaskManager.
class BaseTaskManagerProvider : public LaunchingProvider {
 public:
  // A derived class that overrides these calls them first in start(), last in stop().
  Task<> start() override;
  Task<> stop() override;

 protected:
  BaseTaskManagerProvider(ProviderContext context, const std::string& name,
                          TaskManager::Options options);

  // See TaskManager::submit.
  template <typename Call>
  Task<std::invoke_result_t<Call&>> submit_task(std::string name, Call call) {
    return tasks_.submit(std::move(name), std::move(call));
  }

  const ProviderContext& context() const { return context_; }

 private:
  ProviderContext context_;
  TaskManager tasks_;
};

}  // namespace nodepool::driver
