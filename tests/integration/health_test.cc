// The endpoints for monitoring of a launcher, as users run it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "tests/integration/installation.h"
#include "tests/support/network.h"

namespace nodepool::integration {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using testing::UnorderedElementsAre;

constexpr auto kUnreachableHost = R"(  - name: rack
    driver: static
    pools:
      - name: main
        nodes: [{name: 127.0.0.1, connection-port: 9, labels: [a], username: ci, timeout: 1}]
)";

class HealthTest : public testing::Test {
 protected:
  HealthTest() {
    site_.show_pages_at(port_.number());
    site_.configure(kUnreachableHost);
  }

  // The response to a GET, with its head; empty if no server listens.
  std::string page(const std::string& path, const std::string& header = {}) const {
    const std::string script = "exec 3<>/dev/tcp/127.0.0.1/" + std::to_string(port_.number()) +
                               " && printf 'GET " + path + " HTTP/1.0\\r\\nHost: localhost\\r\\n" +
                               header + "\\r\\n' >&3 && cat <&3";
    return test_support::run({"bash", "-c", script}).output;
  }

  std::vector<std::string> problems_on_page() const {
    const std::string rows = page("/page/rows");
    const auto all = nlohmann::json::parse(rows.substr(rows.find("\r\n\r\n") + 4));
    std::vector<std::string> problems;
    for (const auto& row : all.at("rows").at("problem")) problems.push_back(row.at("text"));
    return problems;
  }

  void wait_for_page(const std::string& path, const std::string& part) const {
    site_.wait_until(path + " has " + part, [&] { return page(path).contains(part); });
  }

  test_support::ReservedPort port_;
  Installation site_;
};

TEST_F(HealthTest, a_launcher_reports_readiness_and_problems) {
  site_.start_launcher();
  wait_for_page("/ready", "\r\n\r\nOK");
  EXPECT_THAT(page("/ready"), StartsWith("HTTP/1.1 200 OK"));
  EXPECT_THAT(page("/live"), HasSubstr("\r\n\r\nOK"));
  const std::string metrics = page("/metrics");
  for (const char* line :
       {"\nnodepool_ready 1\n", "\nnodepool_configuration_rejected 0\n",
        "\nnodepool_loop_stalls_total 0\n",
        "\nnodepool_store_call_seconds_count{operation=\"get\"} ", "\nprocess_cpu_seconds_total ",
        "\nnodepool_requests{state=\"requested\"} 0\n", "\nnodepool_oldest_request_seconds 0\n"}) {
    EXPECT_THAT(metrics, HasSubstr(line));
  }
  wait_for_page("/metrics", "nodepool_hosts_unhealthy{provider=\"rack\"} 1\n");
  const std::string shown = page("/metrics");
  const Completed checked = test_support::run(  // tools/bootstrap --tests installs promtool
      {"bash", "-c", "promtool check metrics <<<\"$1\"", "bash",
       shown.substr(shown.find("\r\n\r\n") + 4)});
  EXPECT_EQ(checked.status, 0) << checked.output << checked.error;

  site_.configure("  - {name: rack, driver: nothing}\n");
  wait_for_page("/ready?detail",
                "warning: the configuration file was rejected, the previous one stays in effect: ");
  EXPECT_THAT(page("/ready"), HasSubstr("\r\n\r\nOK")) << "the old one is";
  wait_for_page("/metrics", "\nnodepool_configuration_rejected 1\n");

  site_.configure(kUnreachableHost);
  site_.wait_until("it is", [&] { return !page("/ready?detail").contains("was rejected"); });
  EXPECT_EQ(site_.stop_launcher(SIGTERM), 0);
}

TEST_F(HealthTest, all_interfaces_report_the_same_problems) {
  site_.start_launcher();
  wait_for_page("/metrics", "nodepool_hosts_unhealthy{provider=\"rack\"} 1\n");
  site_.configure("  - {name: rack, driver: nothing}\n");
  // The rows are those of the first reader, who follows the changes since then: so both first.
  site_.wait_until("the store has both", [&] {
    const std::string detail = page("/ready?detail");
    return detail.contains("launcher on ") && detail.contains("of pool rack-main is unhealthy: ");
  });
  const std::vector<std::string> problems = problems_on_page();
  EXPECT_THAT(problems, UnorderedElementsAre(HasSubstr("host 127.0.0.1 of pool rack-main is"),
                                             HasSubstr("the configuration file was rejected")));
  const std::string detail = page("/ready?detail");
  for (const std::string& problem : problems) EXPECT_THAT(detail, HasSubstr("warning: " + problem));
  wait_for_page("/metrics", "\nnodepool_problems 2\n");
  site_.configure(kUnreachableHost);
  site_.wait_until("it is in force",
                   [&] { return !page("/ready?detail").contains("was rejected"); });
  const auto status = nlohmann::json::parse(site_.nodepool({"status", "-o", "json"}).output);
  ASSERT_EQ(status.at("problems").size(), 1U);
  wait_for_page("/ready?detail", "\r\n\r\nOK\nwarning: " +
                                     status.at("problems").at(0).at("text").get<std::string>());
  wait_for_page("/metrics", "\nnodepool_problems 1\n");
  EXPECT_EQ(site_.stop_launcher(SIGTERM), 0);
}

TEST_F(HealthTest, an_unreadable_token_file_is_reported) {
  const std::string tokens = site_.directory().write("tokens.yaml", "tokens: [\n");
  site_.configure(std::string(kUnreachableHost) + "api: {tokens: " + tokens + "}\n");
  site_.start_launcher();
  const std::string said = "reading the token file failed, keeping the previous 0 tokens: ";
  wait_for_page("/ready?detail", said + tokens);
  site_.wait_until("the store has it",
                   [&] { return site_.nodepool({"status"}).output.contains(said); });
  site_.directory().write("tokens.yaml", "tokens: []\n");
  site_.wait_until("it is solved", [&] { return !page("/ready?detail").contains(said); });
  EXPECT_EQ(site_.stop_launcher(SIGTERM), 0);
}

TEST_F(HealthTest, an_open_page_shows_an_outage_of_the_store) {
  site_.configure("  - {name: rack, driver: static, pools: [{name: main, nodes: []}]}\n");
  site_.start_launcher();
  wait_for_page("/ready", "\r\n\r\nOK");
  const std::string rows = page("/page/rows");
  const auto all = nlohmann::json::parse(rows.substr(rows.find("\r\n\r\n") + 4));
  const std::string file = site_.directory().path() / "nodepool.db";
  // The store is lost when the page is open.
  const std::string script =
      "exec 3<>/dev/tcp/127.0.0.1/" + std::to_string(port_.number()) +
      " && printf 'GET /page/changes?after=" + all.at("revision").get<std::string>() +
      " HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n' >&3 && "
      "while read -t 60 -r line <&3; do case $line in *'event: hello'*) mv " +
      file + " " + file +
      ".old ;; *'the store has been unusable: '*) echo shown; break ;; esac; done";
  EXPECT_EQ(test_support::run({"bash", "-c", script}).output, "shown\n");
  std::filesystem::rename(file + ".old", file);
  wait_for_page("/ready", "\r\n\r\nOK");
  EXPECT_EQ(site_.stop_launcher(SIGTERM), 0);
}

TEST_F(HealthTest, an_unreachable_store_is_reported) {
  const test_support::ReservedPort unused_port;
  site_.keep_records_in(
      "zookeeper-servers: [{host: 127.0.0.1, port: " + std::to_string(unused_port.number()) +
      "}]\nzookeeper-tls: {insecure-plaintext: true}\n");
  site_.configure(kUnreachableHost);
  site_.start_launcher();
  wait_for_page("/ready?detail", "obstacle: waiting for the store: ");
  EXPECT_THAT(page("/ready"), StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(page("/node-list"), StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(page("/live"), HasSubstr("\r\n\r\nOK"));
  const std::string metrics = page("/metrics");
  EXPECT_THAT(metrics, HasSubstr("\nnodepool_ready 0\n"));
  EXPECT_THAT(metrics, HasSubstr("\nnodepool_problems 1\n"));
  EXPECT_EQ(site_.nodepool({"status"}).status, 2);
  EXPECT_EQ(site_.stop_launcher(SIGTERM), 0);
}

TEST_F(HealthTest, metrics_without_anonymous_read_need_a_token_and_no_store) {
  const std::string tokens = site_.directory().write(
      "tokens.yaml",  // the hash of "secret"
      "tokens: [{name: prometheus, scope: read, hash: "
      "sha256:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b}]\n");
  const test_support::ReservedPort unused_port;
  site_.keep_records_in(
      "zookeeper-servers: [{host: 127.0.0.1, port: " + std::to_string(unused_port.number()) +
      "}]\nzookeeper-tls: {insecure-plaintext: true}\n");
  site_.configure(std::string(kUnreachableHost) + "api: {anonymous-read: false, tokens: " + tokens +
                  "}\n");
  site_.start_launcher();
  wait_for_page("/ready", "HTTP/1.1 503 ");
  EXPECT_THAT(page("/metrics"), StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(page("/metrics", "Authorization: Bearer wrong\\r\\n"), StartsWith("HTTP/1.1 401 "));
  const std::string metrics = page("/metrics", "Authorization: Bearer secret\\r\\n");
  EXPECT_THAT(metrics, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(metrics, HasSubstr("\nnodepool_ready 0\n"));
  EXPECT_THAT(metrics, HasSubstr("no-store"));
  EXPECT_THAT(page("/ready?detail", "Authorization: Bearer secret\\r\\n"),
              HasSubstr("obstacle: waiting for the store: "));
  EXPECT_THAT(page("/ready?detail"), Not(HasSubstr("waiting for the store")));
  EXPECT_EQ(site_.stop_launcher(SIGTERM), 0);
}

TEST_F(HealthTest, the_status_shows_what_needs_attention) {
  const Completed without_store = site_.nodepool({"status"});
  EXPECT_EQ(without_store.status, 2);
  EXPECT_THAT(without_store.error, HasSubstr("there is no store"));

  site_.start_launcher();
  wait_for_page("/metrics", "nodepool_hosts_unhealthy{provider=\"rack\"} 1\n");
  site_.wait_until("the host is reported",
                   [&] { return site_.nodepool({"status"}).output.contains("unhealthy"); });
  const Completed done = site_.nodepool({"status", "-o", "json"});
  EXPECT_EQ(done.status, 1);
  const auto status = nlohmann::json::parse(done.output);
  EXPECT_EQ(status.at("status"), "attention");
  EXPECT_EQ(status.at("problems").at(0).at("about"), "unhealthy-host");
  const auto& launcher = status.at("daemons").at(0);
  EXPECT_EQ(launcher.at("kind"), "launcher");
  EXPECT_EQ(launcher.at("configuration_rejected"), false);
  EXPECT_GT(launcher.at("configuration_loaded").get<double>(), 1.7e9);
  EXPECT_GT(launcher.at("started").get<double>(), 1.7e9);
  EXPECT_EQ(status.at("store").at(0).at("kind"), "sqlite");
  EXPECT_GT(status.at("store").at(0).at("bytes").get<int>(), 0);

  site_.configure("  - {name: rack, driver: static, pools: [{name: main, nodes: []}]}\n");
  site_.wait_until("all is well", [&] { return site_.nodepool({"status"}).status == 0; });
  EXPECT_THAT(site_.nodepool({"status"}).output, StartsWith("Nodepool: fine\n"));
  EXPECT_EQ(site_.stop_launcher(SIGTERM), 0);
  EXPECT_EQ(site_.nodepool({"status"}).status, 2) << "no launcher is alive";
}

}  // namespace
}  // namespace nodepool::integration
