#pragma once

#include <string>
#include <utility>

#include "driver/driver.h"
#include "driver/simple/task_manager.h"

namespace nodepool::driver {

// Base of providers that implement LaunchingProvider themselves with a blocking client of their
// cloud. Owns a TaskManager.
class BaseTaskManagerProvider : public LaunchingProvider {
 public:
  // A derived class that overrides them calls these first in start() and last in stop().
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
