// nodepool-builder as users run it, on the embedded store.

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "tests/integration/builder_store.h"
#include "tests/support/network.h"

namespace nodepool::integration {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class EmbeddedStore final : public SharedRecords {
 public:
  std::string keys() override {
    return "store: sqlite://" + (directory_.path() / "nodepool.db").string() + "\n";
  }

 private:
  test_support::TemporaryDirectory directory_;
};

class BuilderProcess : public testing::Test {
 protected:
  BuilderHost host_;
};

TEST_F(BuilderProcess, sigterm_ends_what_is_under_way) {
  host_.hold();
  host_.start();
  host_.wait_for("dib-image-list", "building");
  host_.wait_for_half_an_image();
  EXPECT_EQ(host_.stop(SIGTERM), 0);
  EXPECT_THAT(host_.records("dib-image-list", "failed"), SizeIs(1));
  EXPECT_THAT(host_.files(), SizeIs(1));
}

TEST_F(BuilderProcess, programs_do_not_get_the_variables_of_the_service_manager) {
  host_.replace_script("#!/bin/sh\nenv > variables\necho whole > $DIB_IMAGE_FILENAME.qcow2\n");
  const std::map<std::string, std::string> variables = {
      {"NOTIFY_SOCKET", "/nowhere"}, {"WATCHDOG_USEC", "60000000"}, {"WATCHDOG_PID", "1"}};
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  host_.start();
  for (const auto& [name, value] : variables) ::unsetenv(name.c_str());
  host_.wait_for("dib-image-list", "ready");
  const std::string passed = test_support::read_file(host_.directory() / "variables");
  EXPECT_THAT(passed, HasSubstr("PATH="));
  for (const auto& [name, value] : variables) EXPECT_THAT(passed, Not(HasSubstr(name)));
  EXPECT_EQ(host_.stop(SIGTERM), 0);
}

// What the builder serves at its port.
class BuilderPages : public BuilderProcess {
 protected:
  // `web`: further keys of `webapp`.
  void configure(const std::string& keys, const std::string& web = "") {
    host_.configure({.more = "webapp: {listen_address: 127.0.0.1, builder-port: " +
                             std::to_string(port_.number()) + web + "}\n" + keys});
  }

  void start(const std::string& keys = "") {
    configure(keys);
    host_.start();
    host_.wait_for("dib-image-list", "ready");
  }

  // The port as bash opens it.
  std::string file() const { return "/dev/tcp/127.0.0.1/" + std::to_string(port_.number()); }

  // `header` ends with \r\n as printf writes it.
  std::string page(const std::string& path, const std::string& header = "") const {
    const std::string script = "exec 3<>" + file() + " && printf 'GET " + path +
                               " HTTP/1.0\\r\\nHost: localhost\\r\\n" + header +
                               "\\r\\n' >&3 && cat <&3";
    return test_support::run({"bash", "-c", script}).output;
  }

 private:
  test_support::ReservedPort port_;
};

TEST_F(BuilderPages, liveness_readiness_and_metrics_are_served) {
  start();
  EXPECT_THAT(page("/live"), HasSubstr("\r\n\r\nOK"));
  EXPECT_THAT(page("/ready"), HasSubstr("\r\n\r\nOK"));
  const std::string metrics = page("/metrics");
  for (const char* line :
       {"\nprocess_cpu_seconds_total ", "\nnodepool_ready 1\n", "\nnodepool_problems 0\n"}) {
    EXPECT_THAT(metrics, HasSubstr(line));
  }
  host_.commands().wait_until("the image's size", [this] {
    return page("/metrics").contains("\nnodepool_image_size_bytes{");
  });
  const std::string shown = page("/metrics");
  const Completed checked = test_support::run(  // tools/bootstrap --tests installs promtool
      {"bash", "-c", "promtool check metrics <<<\"$1\"", "bash",
       shown.substr(shown.find("\r\n\r\n") + 4)});
  EXPECT_EQ(checked.status, 0) << checked.output << checked.error;
  EXPECT_THAT(page("/node-list"), HasSubstr(" 404 "));
  EXPECT_EQ(host_.stop(SIGTERM), 0);
}

TEST_F(BuilderPages, idle_clients_of_one_address_take_16_descriptors) {
  start();
  // bash returns 1 at the end of the connection, more than 128 after a timeout, which is shorter
  // than that of idle connections.
  const std::string script = "for i in {1..17}; do exec {client}<>" + file() +
                             "; : ${first:=$client}; done; read -t 20 -u $first; echo $?";
  EXPECT_EQ(test_support::run({"bash", "-c", script}).output, "1\n");
  EXPECT_THAT(page("/live"), HasSubstr("\r\n\r\nOK"));
  EXPECT_EQ(host_.stop(SIGTERM), 0);
}

TEST_F(BuilderPages, metrics_need_a_token_without_anonymous_read) {
  host_.write("tokens.yaml",  // the hash of "secret"
              "tokens: [{name: prometheus, scope: read, hash: "
              "sha256:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b}]\n");
  start("api: {anonymous-read: false, tokens: " + (host_.directory() / "tokens.yaml").string() +
        "}\n");
  EXPECT_THAT(page("/metrics"), HasSubstr(" 401 "));
  EXPECT_THAT(page("/metrics"), Not(HasSubstr("nodepool_image_size_bytes")));
  EXPECT_THAT(page("/ready"), HasSubstr("\r\n\r\nOK"));
  EXPECT_THAT(page("/metrics", "Authorization: Bearer wrong\\r\\n"), HasSubstr(" 401 "));
  const std::string metrics = page("/metrics", "Authorization: Bearer secret\\r\\n");
  EXPECT_THAT(metrics, HasSubstr("\nnodepool_ready 1\n"));
  EXPECT_THAT(metrics, HasSubstr("no-store"));
  EXPECT_EQ(host_.stop(SIGTERM), 0);
}

TEST_F(BuilderPages, a_port_that_is_in_use_is_a_problem_of_the_builder) {
  const test_support::TcpListener other(test_support::TcpListener::Behaviour::silent);
  host_.configure({.more = "webapp: {listen_address: 127.0.0.1, builder-port: " +
                           std::to_string(other.port()) + "}\n"});
  host_.start();
  host_.wait_for("dib-image-list", "ready");
  EXPECT_THAT(host_.commands().nodepool({"status", "-o", "json"}).output,
              HasSubstr(": the web server cannot listen at 127.0.0.1, port " +
                        std::to_string(other.port()) + ": Address already in use"));
  EXPECT_EQ(host_.stop(SIGTERM), 0);
}

TEST_F(BuilderPages, changed_keys_that_wait_for_a_restart_are_reported) {
  start();
  const auto wait_for_report_of = [this](const std::string& keys) {
    host_.commands().wait_until("the report", [this, &keys] {
      return page("/ready?detail").contains("changed keys that wait for a restart: " + keys + "\n");
    });
  };
  configure("api: {anonymous-read: false}\n");
  wait_for_report_of("api");
  // With anonymous-read, tokens are not used.
  configure("api: {tokens: /tokens.yaml}\n", ", port: 1");
  wait_for_report_of("webapp");
  EXPECT_EQ(host_.stop(SIGTERM), 0);
}

TEST_F(BuilderProcess, sigint_waits_for_what_is_under_way_unless_it_comes_twice) {
  host_.hold();
  host_.start();
  host_.wait_for("dib-image-list", "building");
  host_.builder().signal(SIGINT);
  host_.wait_for_output("another signal stops");
  EXPECT_TRUE(host_.builder().running());
  host_.end_hold();
  EXPECT_EQ(host_.builder().wait(), 0);
  EXPECT_THAT(host_.records("dib-image-list", "ready"), SizeIs(1));

  host_.hold();
  host_.start();
  ASSERT_EQ(host_.commands().nodepool({"image-build", "deb"}).status, 0);
  host_.wait_for("dib-image-list", "building");
  host_.builder().signal(SIGINT);
  // Two of the same kind that arrive together are one.
  host_.commands().wait_until("the signal's arrival", [this] {
    return host_.builder().standard_output().contains("another signal stops");
  });
  host_.builder().signal(SIGINT);
  EXPECT_EQ(host_.builder().wait(), 0);
  EXPECT_THAT(host_.records("dib-image-list", "failed"), Not(IsEmpty()));
}

TEST_F(BuilderProcess, nothing_that_makes_images_outlives_it_when_it_is_killed) {
  host_.replace_script(R"(#!/bin/sh
setsid sh -c 'trap "" TERM; sh -c "echo \$PPID > away"; sleep 1000; sleep 1000' &
echo half > $DIB_IMAGE_FILENAME.qcow2
sleep 1000
)");
  host_.start();
  const auto away = host_.directory() / "away";
  host_.commands().wait_until("a process that is away", [&away] {
    return std::filesystem::exists(away) && !test_support::read_file(away).empty();
  });
  const auto proc =
      std::filesystem::path("/proc") / std::to_string(std::stoi(test_support::read_file(away)));
  EXPECT_TRUE(std::filesystem::exists(proc));
  host_.kill();
  host_.commands().wait_until("its end", [&proc] { return !std::filesystem::exists(proc); });
}

TEST_F(BuilderProcess, a_limit_of_file_sizes_is_reported_and_does_not_kill) {
  host_.start();
  host_.wait_for("image-list", "ready");
  constexpr rlim_t kLimit = 4096;  // bytes
  const rlimit limit{kLimit, RLIM_INFINITY};
  ASSERT_EQ(::prlimit(host_.builder().pid(), RLIMIT_FSIZE, &limit, nullptr), 0);
  ASSERT_EQ(host_.commands().nodepool({"image-build", "deb"}).status, 0);
  host_.wait_for_output("storage failure");
  EXPECT_TRUE(host_.builder().running());
  const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
  ASSERT_EQ(::prlimit(host_.builder().pid(), RLIMIT_FSIZE, &none, nullptr), 0);
  EXPECT_EQ(host_.stop(SIGTERM), 0);
}

TEST_F(BuilderProcess, a_build_can_be_followed) {
  host_.start();
  host_.wait_for("image-list", "ready");
  host_.hold();
  const auto follower = host_.commands().start_nodepool({"image-build", "deb", "--follow"});
  host_.commands().wait_until("the build's output", [&follower] {
    return follower->standard_output() == "making formats qcow2\n";
  });
  EXPECT_TRUE(follower->running());
  host_.end_hold();
  EXPECT_EQ(follower->wait(), 0);
  EXPECT_EQ(follower->standard_output(), "making formats qcow2\nExit code: 0\n");
  EXPECT_THAT(follower->standard_error(), HasSubstr(" is ready\n"));
}

TEST_F(BuilderProcess, with_fake_it_makes_no_real_images) {
  host_.start({"--fake", "--build-workers", "2", "--upload-workers", "1"});
  host_.wait_for("image-list", "ready");
  EXPECT_FALSE(std::filesystem::exists(host_.directory() / "pid"));
}

TEST_F(BuilderProcess, a_missing_image_directory_is_reported) {
  host_.write("nodepool.yaml",
              "store: sqlite://" + host_.directory().string() + "/nodepool.db\nproviders: []\n");
  host_.start();
  EXPECT_EQ(host_.builder().wait(), 1);
  EXPECT_THAT(host_.log(), HasSubstr("`images-dir` is not set"));
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(SQLite, BuilderOnStore,
                         testing::Values(store_for_builders<EmbeddedStore>()));

}  // namespace nodepool::integration
