#include "cloud/helper_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <optional>

#include "async/event_loop.h"
#include "driver/cloud_error.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::cloud {
namespace {

using driver::CloudError;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

class HelperProgramTest : public testing::Test {
 protected:
  std::string output(const std::string& script, config::Environment environment = {}) {
    return loop_.run(output_of(runtime_, program(script, std::move(environment))));
  }

  static HelperProgram program(const std::string& script, config::Environment environment = {}) {
    return {
        .what = "helper", .arguments = {"sh", "-c", script}, .environment = std::move(environment)};
  }

  std::string failure(HelperProgram program) {
    try {
      loop_.run(output_of(runtime_, std::move(program)));
    } catch (const CloudError& error) {
      EXPECT_EQ(error.kind(), CloudError::Kind::auth);
      return error.what();
    }
    return "none";
  }

  async::EventLoop loop_;
  async::SystemClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  test_support::TemporaryDirectory directory_;
};

TEST(HelperEnvironment, has_the_variables_of_cloud_tools_and_no_other_secrets) {
  EXPECT_THAT(helper_environment({{"PATH", "/bin"},
                                  {"NODEPOOL_PASSWORD", "secret"},
                                  {"OS_PASSWORD", "secret"},
                                  {"DATABASE_URL", "secret"},
                                  {"AWS_PROFILE", "ci"},
                                  {"LC_ALL", "C"},
                                  {"https_proxy", "http://p"}}),
              ElementsAre(Pair("PATH", "/bin"), Pair("AWS_PROFILE", "ci"), Pair("LC_ALL", "C"),
                          Pair("https_proxy", "http://p")));
}

TEST_F(HelperProgramTest, its_own_variables_go_over_those_of_this_process) {
  ::setenv("NODEPOOL_SECRET", "secret", 1);
  ::setenv("AWS_PROFILE", "ours", 1);
  const std::string seen = output("env", {{"AWS_PROFILE", "its own"}, {"WANTED", "yes"}});
  ::unsetenv("NODEPOOL_SECRET");
  ::unsetenv("AWS_PROFILE");
  EXPECT_THAT(seen, AllOf(HasSubstr("AWS_PROFILE=its own\n"), HasSubstr("WANTED=yes\n"),
                          HasSubstr("PATH="), Not(HasSubstr("ours")), Not(HasSubstr("SECRET"))));
}

// One that went on in the background would hold the output open, too.
TEST_F(HelperProgramTest, what_it_has_started_ends_with_it) {
  const std::string pid = output("sleep 1000 & echo $!");
  EXPECT_EQ(::kill(std::stoi(pid), 0), -1) << "it is gone";
}

TEST_F(HelperProgramTest, one_that_takes_too_long_is_ended_with_all_that_it_has_started) {
  const std::string file = (directory_.path() / "pid").string();
  HelperProgram slow = program("sleep 1000 & echo $! >" + file + "; wait");
  slow.time_limit = std::chrono::seconds(1);
  EXPECT_EQ(failure(std::move(slow)), "helper sh timed out");
  EXPECT_EQ(::kill(std::stoi(test_support::read_file(file)), 0), -1) << "it is gone";
}

TEST_F(HelperProgramTest, its_output_is_bounded) {
  EXPECT_EQ(failure(program("yes credentials")), "helper writes more than 1 MiB");
  testing::internal::CaptureStderr();
  EXPECT_EQ(output("yes complaint | head -c 10000000 >&2; echo done"), "done\n");
  const std::string errors = testing::internal::GetCapturedStderr();
  EXPECT_THAT(errors, HasSubstr("complaint\n"));
  EXPECT_EQ(errors.size(), std::size_t{64} << 10);
}

TEST_F(HelperProgramTest, a_failure_does_not_show_its_output) {
  EXPECT_EQ(failure(program("echo secret; exit 3")), "helper sh failed with exit status 3");
}

}  // namespace
}  // namespace nodepool::cloud
