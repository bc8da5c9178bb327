#include "driver/simple/base_task_manager_provider.h"

namespace nodepool::driver {

BaseTaskManagerProvider::BaseTaskManagerProvider(ProviderContext context, const std::string& name,
                                                 TaskManager::Options options)
    : context_(std::move(context)),
      tasks_(context_.runtime, context_.threads, name, options, context_.metrics,
             context_.log.child("driver." + name)) {}

Task<> BaseTaskManagerProvider::start() {
  tasks_.start();
  co_return;
}

Task<> BaseTaskManagerProvider::stop() {
  co_await tasks_.stop();
}

}  // namespace nodepool::driver
