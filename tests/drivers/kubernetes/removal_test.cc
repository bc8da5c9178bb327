// What is shown to be deleted and is no namespace of the driver's is not deleted as one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/event_loop.h"
#include "driver/cloud_error.h"
#include "drivers/kubernetes/kubernetes_driver.h"
#include "drivers/kubernetes/space_adapter.h"
#include "tests/drivers/contract/contract.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::drivers::kubernetes {
namespace {

using driver::CloudError;

TEST(SpaceAdapterRemoval, refuses_to_delete_what_it_does_not_make) {
  const test_support::TemporaryDirectory directory;
  const config::Environment environment = {
      {"KUBECONFIG",
       directory.write("kubeconfig",
                       "current-context: one\ncontexts: [{name: one, context: {cluster: c}}]\n"
                       "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n")}};
  const KubernetesDriver driver(environment);
  const auto config =
      std::dynamic_pointer_cast<const kubernetes::KubeConfig>(contract::read_provider(driver, R"(
labels: [{name: small}]
providers:
  - name: kube
    driver: kubernetes
    context: one
    pools: [{name: main, labels: [{name: small, type: namespace}]}]
)"));
  async::EventLoop loop;
  async::SystemClock clock;
  async::Random random(1);
  const async::Runtime runtime{loop.executor(), clock, random};
  async::ThreadPool threads(1, "test");
  const telemetry::Logger log(
      telemetry::Log::to_consumer([](telemetry::LogLevel, std::string_view, std::string_view) {}),
      "test");
  SpaceAdapter adapter(runtime, config, threads, log,
                       [](KubeApi& api) { return std::make_unique<Namespaces>(api); });
  std::string refusal;
  try {
    loop.run(adapter.remove_resource({"volume", "main-1", {}}));
  } catch (const CloudError& error) {
    EXPECT_EQ(error.kind(), CloudError::Kind::permanent);
    refusal = error.what();
  }
  EXPECT_EQ(refusal, "cannot delete volume main-1: not supported");
  loop.run(adapter.stop());
}

}  // namespace
}  // namespace nodepool::drivers::kubernetes
