#include "cli/own_provider.h"

#include <memory>

#include "async/finally.h"
#include "async/thread_pool.h"

namespace nodepool::cli {

namespace {

constexpr std::size_t kThreads = 2;

using Use = std::function<Task<>(driver::Provider&)>;

Task<> start_and_use(driver::Provider& provider, Use use) {
  co_await provider.start();
  Task<> using_it = use(provider);
  co_await std::move(using_it);
}

}  // namespace

Task<> with_own_provider(Session& session, const config::ProviderSection& section,
                         std::function<Task<>(driver::Provider&)> use) {
  const driver::Driver& driver = session.context().drivers.driver(section.driver);
  async::ThreadPool threads(kThreads, "blocking calls");
  model::NodeTable* nodes = co_await session.nodes();
  model::ImageTable* images = co_await session.images();
  const driver::ProviderContext context{.runtime = session.runtime(),
                                        .store = session.store(),
                                        .nodes = *nodes,
                                        .images = *images,
                                        .threads = threads,
                                        .log = session.logger("nodepool.driver." + section.driver),
                                        .installation = std::make_shared<const model::Installation>(
                                            co_await model::find_installation(session.store())),
                                        .is_serving = std::make_shared<bool>(false)};
  const auto config = driver.configure(section, session.config());
  config->require_files();
  const std::unique_ptr<driver::Provider> provider = driver.provider(config, context);
  Task<> using_it = start_and_use(*provider, std::move(use));
  const std::function<Task<>()> stop = [&provider] { return provider->stop(); };
  co_await async::finally(std::move(using_it), stop);
}

}  // namespace nodepool::cli
