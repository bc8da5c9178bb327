// Every command of the page for those who use nodes, run in its order.

#include <gmock/gmock.h>
#include <wordexp.h>

#include <filesystem>
#include <sstream>

#include "tests/cli/cli_test.h"

namespace nodepool::cli {
namespace {

using test_support::read_file;

class DocsTest : public CliTest {
 protected:
  DocsTest() : directory_before_(std::filesystem::current_path()), path_(::getenv("PATH")) {
    config_ = "store: sqlite:///unused\nlabels: [{name: debian-12}]\nproviders: []\n";
    run(launcher_.add_pool("rack", {"debian-12"}));
    const std::filesystem::path bin = directory_.path() / "bin";
    std::filesystem::create_directory(bin);
    for (const char* program : {"ssh", "ansible-playbook"}) {
      directory_.write("bin/" + std::string(program), "#!/bin/sh\n");
      std::filesystem::permissions(bin / program, std::filesystem::perms(0755));
    }
    environment_ = {{"PATH", bin.string() + ":/usr/bin:/bin"}};
    ::setenv("PATH", environment_.front().second.c_str(), 1);
    std::filesystem::current_path(directory_.path());
  }
  ~DocsTest() override {
    std::filesystem::current_path(directory_before_);
    ::setenv("PATH", path_.c_str(), 1);
  }

  // The words of a line as a shell takes it apart, without the comment.
  static std::vector<std::string> words_of(const std::string& line) {
    wordexp_t expanded{};
    EXPECT_EQ(::wordexp(line.substr(0, line.find(" # ")).c_str(), &expanded, WRDE_NOCMD), 0)
        << line;
    std::vector<std::string> words(expanded.we_wordv, expanded.we_wordv + expanded.we_wordc);
    ::wordfree(&expanded);
    return words;
  }

 private:
  std::filesystem::path directory_before_;
  std::string path_;
};

TEST_F(DocsTest, every_command_of_the_page_works) {
  constexpr std::string_view kPrompt = "    $ nodepool ";
  std::istringstream page(read_file(std::string(NODEPOOL_DOCS) + "/using-nodes.md"));
  std::size_t count = 0;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with(kPrompt)) continue;
    ++count;
    EXPECT_EQ(nodepool(words_of(line.substr(kPrompt.size()))), 0) << line << "\n" << err();
  }
  EXPECT_GE(count, 15U);
  EXPECT_TRUE(std::filesystem::exists("ci.yaml"));
}

}  // namespace
}  // namespace nodepool::cli
