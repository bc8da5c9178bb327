// The files in packaging/monitoring, with Prometheus' own tool and against what the code declares.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "builder/builder_metrics.h"
#include "driver/driver_metrics.h"
#include "launcher/launcher_metrics.h"
#include "telemetry/cloud_call_metrics.h"
#include "telemetry/metrics_registry.h"
#include "telemetry/process_metrics.h"
#include "tests/support/child.h"
#include "tests/support/temporary_directory.h"

namespace nodepool {
namespace {

using telemetry::Metric;

const std::filesystem::path kSource = NODEPOOL_SOURCE;
const std::filesystem::path kMonitoring = kSource / "packaging/monitoring";

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::set<std::string> all_matches(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), expression), end; match != end;
       ++match) {
    found.insert((*match)[1].str());
  }
  return found;
}

// What launchers and builders have at /metrics.
std::vector<const Metric*> declared() {
  std::vector<const Metric*> all;
  const auto add = [&all](std::span<const Metric* const> metrics) {
    all.insert(all.end(), metrics.begin(), metrics.end());
  };
  add(driver::kDriverMetrics);
  add(telemetry::kCloudCallMetrics);
  add(launcher::kLauncherMetrics);
  add(telemetry::kProcessMetrics);
  add(builder::kBuilderMetrics);
  return all;
}

bool is_histogram(const Metric& metric) {
  return metric.kind == Metric::Kind::timer || metric.kind == Metric::Kind::counted_timer;
}

// The names of series at /metrics.
std::set<std::string> served() {
  std::set<std::string> names;
  for (const Metric* metric : declared()) {
    const std::string name(metric->name);
    if (!is_histogram(*metric)) {
      names.insert(name);
      continue;
    }
    for (const char* part : {"_bucket", "_sum", "_count"}) names.insert(name + part);
  }
  return names;
}

// A page with a value of each.
std::string page_of(const std::vector<const Metric*>& metrics) {
  telemetry::MetricsRegistry registry;
  for (const Metric* metric : metrics) {
    const telemetry::Series series{
        metric, std::vector<std::string>(telemetry::labels_of(*metric).size(), "any")};
    if (is_histogram(*metric)) {
      registry.time(series, std::chrono::seconds(1));
    } else if (metric->kind == Metric::Kind::counter) {
      registry.count(series, 1);
    } else {
      registry.gauge(series, 1);
    }
  }
  return registry.prometheus_text();
}

std::set<std::string> named_in(const std::string& text) {
  return all_matches(text, R"(\b((?:nodepool|process)_[a-z_]+))");
}

// What its panels ask for, as a data source gets it.
std::vector<std::string> dashboard_expressions() {
  const auto dashboard = nlohmann::json::parse(read(kMonitoring / "grafana-dashboard.json"));
  std::vector<std::string> expressions;
  for (const auto& panel : dashboard.at("panels")) {
    if (!panel.contains("targets")) continue;
    for (const auto& target : panel.at("targets")) {
      std::string text = target.at("expr");
      text = std::regex_replace(text, std::regex(R"(\$__rate_interval)"), "5m");
      expressions.push_back(std::regex_replace(text, std::regex(R"(\$provider)"), ".*"));
    }
  }
  return expressions;
}

// The annotation of an alert, which has its heading's anchor in the published or the installed
// manual.
std::string runbook_url(const std::string& alert) {
  std::string anchor = alert;
  std::ranges::transform(anchor, anchor.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return "runbook_url: '{{ with $externalLabels.nodepool_manual }}{{ . }}/docs/operating.html"
         "{{ else }}/usr/share/doc/nodepool/docs/operating.md{{ end }}#" +
         anchor + "'\n";
}

test_support::Completed promtool(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "promtool");  // tools/bootstrap --tests installs it
  return test_support::run(std::move(arguments));
}

TEST(MonitoringTest, the_alert_rules_are_rules_and_do_what_they_are_for) {
  const auto checked = promtool({"check", "rules", kMonitoring / "alerts.yml"});
  EXPECT_EQ(checked.status, 0) << checked.output << checked.error;
  const auto tested = promtool({"test", "rules", kMonitoring / "alerts_test.yml"});
  EXPECT_EQ(tested.status, 0) << tested.output << tested.error;
}

TEST(MonitoringTest, every_alert_is_tested_both_ways_and_has_a_remark_in_the_manual) {
  const std::string tests = read(kMonitoring / "alerts_test.yml");
  const std::string manual = read(kSource / "docs/operating.md");
  const std::string rules = read(kMonitoring / "alerts.yml");
  const auto alerts = all_matches(rules, R"(- alert: (\w+))");
  EXPECT_GE(alerts.size(), 10U);
  for (const std::string& alert : alerts) {
    EXPECT_THAT(tests, testing::HasSubstr("alertname: " + alert + ", exp_alerts: []"));
    EXPECT_THAT(tests, testing::HasSubstr("alertname: " + alert + "\n"));
    EXPECT_THAT(manual, testing::HasSubstr("### " + alert + "\n"));
    EXPECT_THAT(rules, testing::HasSubstr(runbook_url(alert)));
  }
}

TEST(MonitoringTest, the_expressions_of_the_dashboard_are_prometheus_language) {
  const test_support::TemporaryDirectory directory;
  std::string rules = "groups:\n  - name: dashboard\n    rules:\n";
  std::size_t count = 0;
  for (const std::string& expression : dashboard_expressions()) {
    rules +=
        "      - {record: panel_" + std::to_string(++count) + ", expr: '" + expression + "'}\n";
  }
  EXPECT_GT(count, 25U);
  const auto checked = promtool({"check", "rules", directory.write("dashboard.yml", rules)});
  EXPECT_EQ(checked.status, 0) << checked.output << checked.error;
}

// Of the page's form and the conventions for names.
TEST(MonitoringTest, the_metrics_are_as_prometheus_wants_them) {
  const test_support::TemporaryDirectory directory;
  const auto check = [&directory](const std::vector<const Metric*>& metrics) {
    const std::string page = directory.write("metrics", page_of(metrics)).string();
    return test_support::run({"bash", "-c", "promtool check metrics <\"$1\"", "bash", page});
  };
  const auto checked = check(declared());
  EXPECT_EQ(checked.status, 0) << checked.output << checked.error;
  constexpr Metric kMisnamed{.name = "birds", .kind = Metric::Kind::counter, .help = "birds"};
  EXPECT_THAT(check({&kMisnamed}).error, testing::HasSubstr("_total"));
}

TEST(MonitoringTest, every_panel_of_the_dashboard_has_a_description) {
  const auto dashboard = nlohmann::json::parse(read(kMonitoring / "grafana-dashboard.json"));
  for (const auto& panel : dashboard.at("panels")) {
    if (panel.at("type") == "row") continue;
    EXPECT_FALSE(panel.value("description", "").empty()) << panel.at("title");
  }
}

TEST(MonitoringTest, rules_and_dashboard_name_only_what_is_served) {
  std::string text = std::regex_replace(read(kMonitoring / "alerts.yml"),
                                        std::regex(R"(\$externalLabels\.\w+)"), "");
  for (const std::string& expression : dashboard_expressions()) text += expression + "\n";
  const std::set<std::string> known = served();
  for (const std::string& name : named_in(text)) EXPECT_TRUE(known.contains(name)) << name;
}

TEST(MonitoringTest, the_dashboard_shows_every_metric) {
  std::string text;
  for (const std::string& expression : dashboard_expressions()) text += expression + "\n";
  const std::set<std::string> shown = named_in(text);
  for (const std::string& name : served()) {
    if (name.ends_with("_sum") || name.ends_with("_count")) continue;  // the buckets will do
    if (name == "process_max_fds") continue;                           // is for the alert
    EXPECT_TRUE(shown.contains(name)) << name;
  }
}

}  // namespace
}  // namespace nodepool
