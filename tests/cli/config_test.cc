#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "tests/cli/cli_test.h"

namespace nodepool::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

class ConfigCommandTest : public CliTest {
 protected:
  // Runs config-validate; returns the exit status and what it has logged, without the times.
  std::pair<int, std::string> validate() {
    testing::internal::CaptureStderr();
    const int status = nodepool({"config-validate"});
    std::istringstream lines(testing::internal::GetCapturedStderr());
    std::string text;
    for (std::string line; std::getline(lines, line);) {
      text += line.substr(std::string("2026-11-21 05:06:07,123 ").size()) + "\n";
    }
    return {status, text};
  }
  std::string file() const { return directory_.path() / "nodepool.yaml"; }
};

TEST_F(ConfigCommandTest, a_good_file_is_silent_but_for_its_name) {
  const auto [status, log] = validate();
  EXPECT_EQ(status, 0);
  EXPECT_EQ(log, "INFO nodepool.config_validator: validating " + file() +
                     "\nINFO nodepool.config_validator: " + file() + " is valid\n");
}

TEST_F(ConfigCommandTest, log_lines_have_the_usual_form) {
  testing::internal::CaptureStderr();
  nodepool({"config-validate"});
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              MatchesRegex("[0-9]+-[0-9]+-[0-9]+ [0-9]+:[0-9]+:[0-9]+,[0-9]+ INFO "
                           "nodepool.config_validator: validating .*\n.* is valid\n"));
}

TEST_F(ConfigCommandTest, all_problems_are_listed_with_their_places) {
  config_ =
      "labels:\n"
      "  - nam: small\n"
      "  - name: large\n"
      "    min-ready: many\n";
  const auto [status, log] = validate();
  EXPECT_EQ(status, 1);
  EXPECT_THAT(log, HasSubstr("ERROR nodepool.config_validator: Schema validation failed\n"));
  EXPECT_THAT(log, HasSubstr("  " + file() + ":2:"));
  EXPECT_THAT(log, HasSubstr("  " + file() + ":4:"));
  EXPECT_THAT(log, HasSubstr("labels[1]"));
}

TEST_F(ConfigCommandTest, certificates_for_zookeeper_may_be_in_the_secure_file) {
  config_ = "zookeeper-servers: [{host: a}]\n";
  const auto [absent, warning] = validate();
  EXPECT_EQ(absent, 0);
  EXPECT_THAT(warning, HasSubstr("WARNING nodepool.config_validator: " + file() +
                                 ": zookeeper-tls: missing `ca` and `cert` and `key`"));
  config_ += "zookeeper-tls: {ca: /a}\n";
  const auto [half, error] = validate();
  EXPECT_EQ(half, 1);
  EXPECT_THAT(error, HasSubstr("zookeeper-tls: missing `cert` and `key`"));
}

TEST_F(ConfigCommandTest, a_missing_certificate_for_zookeeper_is_a_warning) {
  const std::string there = directory_.write("key.pem", "");
  config_ =
      "zookeeper-servers: [{host: a}]\nzookeeper-tls: {ca: /no/ca, cert: /no/cert, key: " + there +
      "}\n";
  const auto [status, log] = validate();
  EXPECT_EQ(status, 0);
  const std::string begin = "WARNING nodepool.config_validator: ";
  EXPECT_THAT(log, HasSubstr(begin + file() + ":2:21: zookeeper-tls.ca: /no/ca does not exist"));
  EXPECT_THAT(log,
              HasSubstr(begin + file() + ":2:35: zookeeper-tls.cert: /no/cert does not exist"));
  EXPECT_THAT(log, Not(HasSubstr("zookeeper-tls.key")));
  const std::string secure = directory_.write(
      "secret.conf", "zookeeper-tls: {ca: /no/other, cert: " + there + ", key: " + there + "}\n");
  testing::internal::CaptureStderr();
  EXPECT_EQ(nodepool({"-s", secure, "config-validate"}), 0);
  const std::string replaced = testing::internal::GetCapturedStderr();
  EXPECT_THAT(replaced, HasSubstr(secure + ":1:21: zookeeper-tls.ca: /no/other does not exist"));
  EXPECT_THAT(replaced, Not(HasSubstr("/no/ca")));
}

TEST_F(ConfigCommandTest, what_is_on_other_machines_is_a_warning) {
  config_ =
      "labels: [{name: l}]\n"
      "providers:\n"
      "  - {name: sky, driver: fake, cloud: far, pools: []}\n";
  const auto [status, log] = validate();
  EXPECT_EQ(status, 0) << log;
  EXPECT_THAT(log, HasSubstr("WARNING nodepool.config_validator: " + file() +
                             ":3:38: providers[0] (sky).cloud: cloud far not found"));
  // What is wrong in the file itself is found all the same.
  config_ =
      "labels: [{name: l}]\n"
      "providers:\n"
      "  - {name: sky, driver: fake, cloud: far,\n"
      "     pools: [{name: p, labels: [{name: l, cloud-image: none, min-ram: 1}]}]}\n";
  const auto [broken, error] = validate();
  EXPECT_EQ(broken, 1);
  EXPECT_THAT(error, HasSubstr("the provider has no cloud image `none`"));
}

TEST_F(ConfigCommandTest, servers_may_be_in_the_secure_file) {
  config_ = "zookeeper-servers: [{host: a, chroot: nowhere}]\n";
  const auto [status, log] = validate();
  EXPECT_EQ(status, 0);
  EXPECT_THAT(log, HasSubstr("WARNING nodepool.config_validator: " + file() + ":1:"));
  EXPECT_THAT(log, HasSubstr("unless the secure file (-s) has servers"));

  config_ = "zookeeper-servers: []\n";
  const auto [missing_status, missing] = validate();
  EXPECT_EQ(missing_status, 0);
  EXPECT_THAT(missing, HasSubstr(file() + ":1:1: zookeeper-servers: no ZooKeeper servers are"));
  EXPECT_THAT(missing, HasSubstr("unless the secure file (-s) has servers"));

  config_ = "store: zookeeper\n";
  const auto [chosen_status, chosen] = validate();
  EXPECT_EQ(chosen_status, 0);
  EXPECT_THAT(chosen, HasSubstr("unless the secure file (-s) has servers"));
}

TEST_F(ConfigCommandTest, the_rest_is_checked_where_servers_may_be_in_the_secure_file) {
  for (const char* servers : {"zookeeper-servers: []\n", "store: zookeeper\n",
                              "zookeeper-servers: [{host: a, chroot: nowhere}]\n"}) {
    config_ = std::string(servers) +
              "labels: [{name: l}]\n"
              "providers:\n"
              "  - {name: sky, driver: fake, cloud: far,\n"
              "     pools: [{name: p, labels: [{name: l, cloud-image: none, min-ram: 1}]}]}\n";
    const auto [status, log] = validate();
    EXPECT_EQ(status, 1) << servers;
    EXPECT_THAT(log, HasSubstr("the provider has no cloud image `none`"));
  }
}

TEST_F(ConfigCommandTest, broken_yaml_is_reported) {
  config_ = "labels: [\n";
  const auto [status, log] = validate();
  EXPECT_EQ(status, 1);
  EXPECT_THAT(log, HasSubstr("ERROR nodepool.config_validator: YAML parsing failed\n"));
  EXPECT_THAT(log, HasSubstr(file()));
}

TEST_F(ConfigCommandTest, a_probable_mistake_is_a_warning) {
  config_ =
      "labels: [{name: small}, {name: large}]\n"
      "providers:\n"
      "  - name: rack\n"
      "    driver: static\n"
      "    pools:\n"
      "      - name: main\n"
      "        nodes: [{name: host1, labels: [small], host-key: ssh-ed25519 AAAA== root@host1}]\n"
      "      - name: main\n"
      "        nodes:\n"
      "          - {name: host1, labels: [small], connection-port: 22}\n"
      "          - {name: host1, labels: [small], username: ci, host-key: [ssh-ed25519 AAAA==]}\n";
  const auto [status, log] = validate();
  EXPECT_EQ(status, 0) << log;
  const std::string begin = "WARNING nodepool.config_validator: " + file();
  EXPECT_THAT(log, HasSubstr(begin + ":1:32: labels[1].name: no provider in this file offers the "
                                     "label `large`"));
  EXPECT_THAT(log, HasSubstr(begin + ":7:58: providers[0] (rack).pools[0].nodes[0].host-key: is no "
                                     "SSH host key"));
  EXPECT_THAT(log, HasSubstr(begin + ":8:15: providers[0] (rack).pools[1].name: the pool `main` is "
                                     "already defined on line 6"));
  EXPECT_THAT(log, HasSubstr(begin + ":10:20: providers[0] (rack).pools[1].nodes[0].name: the "
                                     "provider lists zuul@host1 with port 22 twice"));
  EXPECT_THAT(log,
              HasSubstr(begin + ":11:20: providers[0] (rack).pools[1].nodes[1].name: the "
                                "provider lists host1 with port 22 for the users zuul and ci"));
  EXPECT_EQ(std::ranges::count(log, '\n'), 7) << log;
}

TEST_F(ConfigCommandTest, a_missing_file_is_a_problem) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(nodepool_bare({"-c", "/no/such/file.yaml", "config-validate"}), 1);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("/no/such/file.yaml: cannot be opened: No such file or directory"));
  EXPECT_THAT(log, Not(HasSubstr("YAML parsing failed")));
}

TEST_F(ConfigCommandTest, the_environment_is_substituted) {
  config_ = "labels: [{name: small, min-ready: %(NODEPOOL_READY)}]\n";
  EXPECT_EQ(validate().first, 1);
  environment_.emplace_back("NODEPOOL_READY", "3");
  EXPECT_EQ(validate().first, 0);
}

TEST_F(ConfigCommandTest, the_schema_is_json) {
  EXPECT_EQ(nodepool_bare({"config-schema"}), 0);
  const auto schema = nlohmann::json::parse(out());
  EXPECT_THAT(schema.at("$schema").get<std::string>(), HasSubstr("2020-12"));
  EXPECT_TRUE(schema.at("properties").contains("labels"));
}

constexpr const char* kConvertible =
    "labels: [{name: small, min-ready: %(NODEPOOL_READY)}]\n"
    "diskimages: [{name: debian, elements: [vm], env-vars: {KEY: hidden}}]\n"
    "zookeeper-auth: {user: u, password: hidden}\n"
    "providers:\n"
    "  - name: rack\n"
    "    driver: static\n"
    "    pools:\n"
    "      - name: main\n"
    "        nodes: [{name: host1, labels: small, username: \"%(NODEPOOL_USER)\", timeout: 9}]\n";

TEST_F(ConfigCommandTest, the_configuration_is_converted_for_zuul) {
  config_ = kConvertible;
  environment_.emplace_back("NODEPOOL_USER", "hidden");
  environment_.emplace_back("NODEPOOL_READY", "3");
  EXPECT_EQ(nodepool({"convert", "--to", "zuul"}), 0) << err();
  EXPECT_THAT(out(), HasSubstr("- provider:\n    name: rack\n"));
  EXPECT_THAT(out(), HasSubstr("min-ready: 3\n"));
  EXPECT_THAT(out(), HasSubstr("username: \"%(NODEPOOL_USER)\"\n"));
  EXPECT_THAT(out() + err(), Not(HasSubstr("hidden")));
  EXPECT_EQ(err(), file() +
                       ":9:57: the variable is not replaced: it may be a "
                       "secret\n" +
                       file() +
                       ":9:76: providers[0] (rack).pools[0].nodes[0].timeout: Zuul has no such "
                       "setting\n");
}

TEST_F(ConfigCommandTest, a_conversion_without_labels_fails) {
  EXPECT_EQ(nodepool({"convert", "--to", "zuul"}), 1);
  EXPECT_EQ(out(), "");
  EXPECT_THAT(err(), HasSubstr("nodepool.yaml: no label can be converted\n"));
  EXPECT_EQ(nodepool({"convert"}), 2);
  EXPECT_EQ(nodepool({"convert", "--to", "nomad"}), 2);
  config_ = "labels: [{name: %(NODEPOOL_LABEL)}]\n";
  environment_.emplace_back("NODEPOOL_LABEL", "small");
  EXPECT_EQ(nodepool({"convert", "--to", "zuul"}), 1);
  EXPECT_THAT(err(), HasSubstr("variables that are no numbers are not replaced; quote it"));
  config_ = "providers: [{name: rack, driver: static, pools: 3}]\n";
  EXPECT_EQ(nodepool({"convert", "--to", "zuul"}), 1);
  EXPECT_THAT(err(), HasSubstr("nodepool.yaml:1:"));
}

TEST_F(ConfigCommandTest, other_commands_need_a_file_that_can_be_loaded) {
  EXPECT_EQ(nodepool_bare({"-c", "/no/such/file.yaml", "list"}), 1);
  EXPECT_THAT(err(), MatchesRegex("nodepool: [^\n]*/no/such/file.yaml[^\n]*\n"));
  config_ = "providers: [{name: rack, driver: nonsense}]\n";
  EXPECT_EQ(nodepool({"list"}), 1);
  EXPECT_THAT(err(), MatchesRegex("nodepool: [^\n]*nodepool.yaml:1:[^\n]*nonsense[^\n]*; a running "
                                  "launcher keeps its previous configuration[^\n]*\n"));
}

TEST_F(ConfigCommandTest, a_file_that_the_user_may_not_read_comes_with_advice) {
  if (::geteuid() != 0) GTEST_SKIP() << "requires root to become another user";
  const std::string file = directory_.write("nodepool.yaml", config_);
  std::filesystem::permissions(directory_.path(), std::filesystem::perms{0755});
  std::filesystem::permissions(file, std::filesystem::perms{0640});
  constexpr gid_t kDaemon = 1;
  constexpr uid_t kOther = 65534;
  ASSERT_EQ(::chown(file.c_str(), 0, kDaemon), 0);
  ASSERT_EQ(::seteuid(kOther), 0);
  const int status = nodepool_bare({"-c", file, "list"});
  ASSERT_EQ(::seteuid(0), 0);
  EXPECT_EQ(status, 1);
  EXPECT_THAT(err(), HasSubstr("Permission denied; root and members of the group daemon may read "
                               "it; other users set NODEPOOL_URL"));
}

TEST_F(ConfigCommandTest, a_logging_configuration_that_cannot_be_read_is_an_error) {
  EXPECT_EQ(nodepool({"-l", "/no/such/log.yaml", "list"}), 1);
  EXPECT_EQ(err(), "nodepool: Unable to read logging config file at /no/such/log.yaml\n");
  EXPECT_EQ(nodepool({"-l", "/no/such/log.yaml", "--debug", "list"}), 0);
}

TEST_F(ConfigCommandTest, a_logging_configuration_says_what_goes_where) {
  const std::string log = directory_.path() / "nodepool.log";
  const std::string file = directory_.write("log.ini",
                                            "[loggers]\nkeys=root\n"
                                            "[handlers]\nkeys=file\n"
                                            "[formatters]\nkeys=simple\n"
                                            "[logger_root]\nlevel=INFO\nhandlers=file\n"
                                            "[handler_file]\nclass=FileHandler\nformatter=simple\n"
                                            "args=('" +
                                                log +
                                                "',)\n"
                                                "[formatter_simple]\n"
                                                "format=%(levelname)s: %(message)s\n");
  EXPECT_EQ(nodepool({"-l", file, "config-validate"}), 0);
  EXPECT_THAT(test_support::read_file(log), HasSubstr("INFO: validating"));
}

TEST_F(ConfigCommandTest, the_audit_log_is_not_opened) {
  const std::string log = directory_.path() / "audit.log";
  const std::string file = directory_.write(
      "log.yaml", "handlers: {audit: {class: logging.FileHandler, filename: " + log +
                      "}}\nloggers: {nodepool.audit: {handlers: [audit], propagate: false}}\n");
  EXPECT_EQ(nodepool({"-l", file, "list"}), 0);
  EXPECT_FALSE(std::filesystem::exists(log));
}

TEST_F(ConfigCommandTest, a_log_file_that_cannot_be_opened_is_replaced_by_standard_error) {
  const std::string file =
      directory_.write("log.yaml",
                       "handlers: {file: {class: logging.FileHandler, filename: /proc/nowhere/log}}"
                       "\nroot: {level: INFO, handlers: [file]}\n");
  testing::internal::CaptureStderr();
  EXPECT_EQ(nodepool({"-l", file, "config-validate"}), 0);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("validating"));
  EXPECT_THAT(err(), AllOf(StartsWith("nodepool: cannot write the log file /proc/nowhere/log: "),
                           HasSubstr("; messages go to standard error\n")));
  EXPECT_EQ(nodepool({"-l", file, "list"}), 0);
}

}  // namespace
}  // namespace nodepool::cli
