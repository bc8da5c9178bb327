// The installed manual pages and shell completion, read by other programs.

#include <gmock/gmock.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "cli/declaration.h"
#include "cli/manual/roff.h"
#include "tests/support/child.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::cli {
namespace {

using test_support::Completed;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

const std::string kDirectory = NODEPOOL_MANUAL_DIR;

std::string rendered(const std::string& page) {
  const Completed man =
      test_support::run({"mandoc", "-Tascii", "-Owidth=100", kDirectory + "/" + page});
  // Bold and italics are letters struck over others.
  std::string text;
  for (const char c : man.output) {
    if (c == '\b') {
      text.pop_back();
    } else {
      text += c;
    }
  }
  return text;
}

TEST(ManPageTest, pages_are_clean) {
  for (const char* page : {"nodepool.1", "nodepool-launcher.8", "nodepool-builder.8"}) {
    const Completed lint =
        test_support::run({"mandoc", "-Tlint", "-Wstyle", kDirectory + "/" + page});
    EXPECT_EQ(lint.status, 0) << page;
    EXPECT_EQ(lint.output + lint.error, "") << page;
  }
}

TEST(ManPageTest, every_command_is_there_with_its_options) {
  const std::string page = rendered("nodepool.1");
  for (const Declaration& declaration : declarations()) {
    const std::size_t begin = page.find("\n   nodepool " + declaration.name + "\n");
    ASSERT_NE(begin, std::string::npos) << declaration.name;
    const std::string section = page.substr(begin, page.find("\n   nodepool ", begin + 1) - begin);
    for (const Option& option : declaration.options) {
      EXPECT_THAT(section, HasSubstr(names_of(option).back())) << declaration.name;
    }
  }
  EXPECT_THAT(page, HasSubstr("-c CONFIG"));
}

TEST(ManPageTest, the_daemons_have_pages) {
  EXPECT_THAT(rendered("nodepool-launcher.8"), HasSubstr("--no-webapp"));
  EXPECT_THAT(rendered("nodepool-launcher.8"), Not(HasSubstr("--build-workers")));
  EXPECT_THAT(rendered("nodepool-builder.8"), HasSubstr("--build-workers"));
  EXPECT_THAT(rendered("nodepool-builder.8"), HasSubstr("By default 4."));
}

TEST(ManPageTest, nothing_in_a_text_is_taken_for_a_request) {
  EXPECT_EQ(roff_text(".x\n'y .z"), "\\&.x\n\\&\\(aqy .z");
  EXPECT_EQ(roff_text("a-b \\n \"q\" `c`"), "a\\-b \\en \\(dqq\\(dq \\(gac\\(ga");
}

class CompletionTest : public testing::Test {
 protected:
  CompletionTest() {
    // Stands for nodepool: has a listing with what should not be taken for anything but a name.
    directory_.write("nodepool",
                     "#!/bin/sh\n"
                     "echo \"$@\" >> $HERE/calls\n"
                     "case \"$*\" in *'label-list -o name')\n"
                     "  printf '%s\\n' small 'sm $(touch pwned)' large ;; esac\n");
    std::filesystem::permissions(directory_.path() / "nodepool", std::filesystem::perms(0755));
  }

  // What bash offers for the last word.
  std::vector<std::string> offered(const std::vector<std::string>& words) {
    std::string script = "source " + kDirectory + "/nodepool.bash\ncompopt() { :; }\nCOMP_WORDS=(";
    for (const std::string& word : words) script += "'" + word + "' ";
    script += ")\nCOMP_CWORD=" + std::to_string(words.size() - 1) +
              "\n_nodepool\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
    const Completed bash =
        test_support::run({"bash", "--norc", "-c", script},
                          {.environment = {{"PATH", directory_.path().string() + ":/usr/bin:/bin"},
                                           {"HERE", directory_.path()}},
                           .working_directory = directory_.path()});
    EXPECT_EQ(bash.error, "");
    std::istringstream lines(bash.output);
    std::vector<std::string> all;
    for (std::string line; std::getline(lines, line);) {
      if (!line.empty()) all.push_back(line);
    }
    return all;
  }

  test_support::TemporaryDirectory directory_;
};

TEST_F(CompletionTest, commands_and_options) {
  EXPECT_THAT(offered({"nodepool", "request"}), testing::ElementsAre("request", "request-list"));
  EXPECT_THAT(offered({"nodepool", ""}), IsSupersetOf({"list", "store", "help", "-c"}));
  EXPECT_THAT(offered({"nodepool", "list", "--no"}), testing::ElementsAre("--no-headers"));
  EXPECT_THAT(offered({"nodepool", "list", "-o", ""}),
              testing::ElementsAre("table", "wide", "json", "yaml", "name"));
  EXPECT_THAT(offered({"nodepool", "list", "--de"}),
              testing::UnorderedElementsAre("--detail", "--debug"));
  EXPECT_THAT(offered({"nodepool", "store", ""}), testing::ElementsAre("copy"));
  EXPECT_THAT(offered({"nodepool", "store", "copy", "--r"}), testing::ElementsAre("--replace"));
  EXPECT_THAT(offered({"nodepool", "help", "conf"}),
              testing::UnorderedElementsAre("config-schema", "config-validate"));
}

TEST_F(CompletionTest, names_of_what_there_is_are_text) {
  EXPECT_THAT(offered({"nodepool", "-c", "my.yaml", "request", "sm"}),
              testing::ElementsAre("small", R"(sm\ \$\(touch\ pwned\))"));
  EXPECT_EQ(test_support::read_file(directory_.path() / "calls"),
            "-c my.yaml label-list -o name\n");
  EXPECT_FALSE(std::filesystem::exists(directory_.path() / "pwned"));
  EXPECT_THAT(offered({"nodepool", "list", "--label", "l"}), testing::ElementsAre("large"));
}

TEST_F(CompletionTest, files) {
  directory_.write("my.yaml", "");
  EXPECT_THAT(offered({"nodepool", "-c", "my"}), testing::ElementsAre("my.yaml"));
  EXPECT_THAT(offered({"nodepool", "request", "--inventory", "my"}),
              testing::ElementsAre("my.yaml"));
  EXPECT_THAT(offered({"nodepool", "run", "small", "--", "l"}), IsEmpty());
}

TEST_F(CompletionTest, zsh_takes_it) {
  const Completed syntax = test_support::run({"zsh", "-n", kDirectory + "/_nodepool"});
  EXPECT_EQ(syntax.status, 0) << syntax.error;
  // Completes a line in a shell of its own, with the Tab key pressed twice.
  const std::string script =
      "zmodload zsh/zpty\nzpty shell zsh -f -i\n"
      "zpty -w shell 'PS1=; fpath=(" +
      kDirectory +
      " $fpath); autoload -U compinit; compinit -u -D; "
      "zstyle \":completion:*\" list-prompt \"\"; print BEGIN'\n"
      "zpty -r shell output '*BEGIN*BEGIN*'\n"
      "zpty -w -n shell $'nodepool config-val\\t\\n'\n"
      "zpty -r shell output '*config-validate*'\nprint -r -- $output\nzpty -d shell\n";
  const Completed shell =
      test_support::run({"timeout", "20", "zsh", "-f", "-c", script},
                        {.environment = {{"PATH", directory_.path().string() + ":/usr/bin:/bin"},
                                         {"HERE", directory_.path()},
                                         {"TERM", "dumb"}},
                         .working_directory = directory_.path()});
  EXPECT_THAT(shell.output, HasSubstr("config-validate")) << shell.error;
}

}  // namespace
}  // namespace nodepool::cli
