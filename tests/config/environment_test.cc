#include "config/environment.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "config/problem.h"

namespace nodepool::config {
namespace {

TEST(ExpandHome, ReplacesATildeAtTheBeginning) {
  const Environment environment = {{"HOME", "/home/ci"}};
  EXPECT_EQ(expand_home("~/ca.pem", environment), "/home/ci/ca.pem");
  EXPECT_EQ(expand_home("~", environment), "/home/ci");
  for (const char* path : {"", "/etc/~/ca.pem", "~other/ca.pem", "ca~"}) {
    EXPECT_EQ(expand_home(path, environment), path);
  }
  EXPECT_EQ(expand_home("~/ca.pem", {}), "~/ca.pem");
}

TEST(Substitute, ReplacesTokensInTheRawText) {
  const Environment environment = {{"NODEPOOL_A", "1"}, {"NODEPOOL_B", "x: y"}};
  EXPECT_EQ(substitute("p: %(NODEPOOL_A) # %(NODEPOOL_A)\n", environment, "f"), "p: 1 # 1\n");
  EXPECT_EQ(substitute("{%(NODEPOOL_B)}", environment, "f"), "{x: y}");
}

TEST(Substitute, LeavesAnSBehindTheToken) {
  EXPECT_EQ(substitute("%(NODEPOOL_A)s", {{"NODEPOOL_A", "7"}}, "f"), "7s");
}

TEST(Substitute, TakesOnlyVariablesOfNodepool) {
  const Environment environment = {{"HOME", "/root"}, {"nodepool_x", "1"}, {"XNODEPOOL_Y", "2"}};
  for (const char* text : {"%(HOME)/x", "%(nodepool_x)", "%(XNODEPOOL_Y)", "%(NODEPOOL_UNSET)/x",
                           "%NODEPOOL_A", "% (NODEPOOL_A)"}) {
    EXPECT_EQ(substitute(text, environment, "f"), text);
  }
}

TEST(Substitute, GoesOnceOverTheVariablesInOrder) {
  const Environment forward = {{"NODEPOOL_A", "%(NODEPOOL_B)"}, {"NODEPOOL_B", "b"}};
  EXPECT_EQ(substitute("%(NODEPOOL_A)", forward, "f"), "b");
  const Environment backward = {{"NODEPOOL_B", "b"}, {"NODEPOOL_A", "%(NODEPOOL_B)"}};
  EXPECT_EQ(substitute("%(NODEPOOL_A)", backward, "f"), "%(NODEPOOL_B)");
  const Environment itself = {{"NODEPOOL_A", "<%(NODEPOOL_A)>"}};
  EXPECT_EQ(substitute("%(NODEPOOL_A)", itself, "f"), "<%(NODEPOOL_A)>");
}

TEST(Substitute, BoundsTheSize) {
  const Environment environment = {{"NODEPOOL_A", std::string(1 << 20, 'a')}};
  std::string text;
  for (int i = 0; i < 100; ++i) text += "%(NODEPOOL_A)";
  EXPECT_THROW(substitute(text, environment, "f"), ConfigError);
}

TEST(ProcessEnvironment, HasTheVariablesOfThisProcess) {
  setenv("NODEPOOL_TEST_VARIABLE", "a=b", 1);
  const std::pair<std::string, std::string> variable = {"NODEPOOL_TEST_VARIABLE", "a=b"};
  EXPECT_THAT(process_environment(), testing::Contains(variable));
  unsetenv("NODEPOOL_TEST_VARIABLE");
}

}  // namespace
}  // namespace nodepool::config
