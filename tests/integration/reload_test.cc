// Daemons whose configuration changes while they run.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/integration/builder_host.h"
#include "tests/integration/installation.h"

namespace nodepool::integration {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr auto kOneHost =
    "  - name: rack\n    driver: static\n    pools:\n"
    "      - name: main\n        nodes: [{name: 127.0.0.1, host-key-checking: false, labels: "
    "[a]}]\n";

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

class ReloadTest : public testing::Test {
 protected:
  void start(const std::string& providers = kOneHost) {
    site_.configure(providers);
    site_.start_launcher();
    wait_for_log("Serving ");
  }

  void wait_for_log(const std::string& text, std::size_t times = 1) {
    site_.wait_until(text, [&] { return count(site_.log(), text) >= times; });
  }

  Installation site_;
};

TEST_F(ReloadTest, sighup_reloads_and_reports_the_result) {
  start();
  site_.signal_launcher(SIGHUP);
  wait_for_log("Received signal 1 (HUP)");
  wait_for_log("Configuration reloaded: 1 pool(s)");
  site_.configure("  - name: rack\n    driver: sttic\n");
  wait_for_log("the previous one stays in effect");
  site_.signal_launcher(SIGHUP);
  wait_for_log("the previous one stays in effect", 2);
  EXPECT_THAT(site_.log(), HasSubstr("did you mean `static`?"));
  EXPECT_EQ(site_.stop_launcher(SIGTERM), 0);
}

TEST_F(ReloadTest, the_builder_reloads_at_sighup_too) {
  BuilderHost host;
  host.start();
  host.wait_for_output("Serving ");
  host.builder().signal(SIGHUP);
  host.wait_for_output("Configuration reloaded");
  EXPECT_EQ(host.stop(SIGTERM), 0);
}

TEST_F(ReloadTest, settings_that_need_a_restart_are_reported) {
  start();
  const std::string said = "that wait for a restart: api";
  site_.configure(std::string(kOneHost) + "api: {anonymous-read: false}\n");
  wait_for_log(said);
  EXPECT_THAT(site_.nodepool({"status"}).output, HasSubstr(said));
  site_.configure(kOneHost);
  site_.wait_until("it is as it was started",
                   [&] { return !site_.nodepool({"status"}).output.contains(said); });
  EXPECT_EQ(count(site_.log(), said), 1U);
  EXPECT_EQ(site_.stop_launcher(SIGTERM), 0);
}

// A provider of the fake cloud needs the clouds.yaml that it names.
TEST_F(ReloadTest, a_file_that_is_missing_at_a_reload_is_waited_for) {
  start();
  site_.configure(std::string(kOneHost) +
                  "  - {name: sky, driver: fake, cloud: later, pools: []}\n");
  wait_for_log("cloud later not found");
  site_.directory().write("clouds.yaml",
                          "clouds: {later: {auth: {auth_url: 'http://127.0.0.1:1'}}}\n");
  wait_for_log("Configuration reloaded: 1 pool(s) of 2 provider(s)");
  EXPECT_EQ(count(site_.log(), "cloud later not found"), 1U);
  EXPECT_EQ(site_.stop_launcher(SIGTERM), 0);
}

}  // namespace
}  // namespace nodepool::integration
