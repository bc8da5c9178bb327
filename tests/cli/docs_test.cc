// The commands in the manual: all can be parsed; those of using-nodes.md are run in their order.

#include <gmock/gmock.h>
#include <wordexp.h>

#include <filesystem>
#include <regex>
#include <sstream>

#include "cli/argument_normalizer.h"
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

  // The words of a line, split like in a shell, without the comment.
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

std::vector<std::filesystem::path> pages() {
  const std::filesystem::path docs = NODEPOOL_DOCS;
  std::vector<std::filesystem::path> pages = {docs.parent_path() / "README.md",
                                              docs.parent_path() / "CONTRIBUTING.md"};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(docs)) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  }
  return pages;
}

// All of the text that the expression's first group matches.
std::vector<std::string> found_in(const std::string& text, const std::regex& expression) {
  std::vector<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at) {
    found.push_back((*at)[1]);
  }
  return found;
}

TEST(DocsNameTest, commands_of_examples_can_be_understood) {
  // An indented line, also in a list, up to a pipe or a comment.
  const std::regex example(R"((?:^|\n) {4,8}(?:\$ )?nodepool ((?:[^\n|#\\]|\\\n)*))");
  std::size_t count = 0;
  for (const std::filesystem::path& page : pages()) {
    for (std::string line : found_in(read_file(page.string()), example)) {
      line = std::regex_replace(line, std::regex(R"(\\\n)"), " ");
      wordexp_t words{};
      ASSERT_EQ(::wordexp(line.c_str(), &words, WRDE_NOCMD), 0) << page << ": " << line;
      std::ostringstream out;
      std::ostringstream err;
      const auto parsed =
          parse_arguments({words.we_wordv, words.we_wordv + words.we_wordc}, "1", out, err);
      ::wordfree(&words);
      const auto* exit = std::get_if<Exit>(&parsed);
      EXPECT_TRUE(exit == nullptr || exit->status == 0) << page << ": " << line << err.str();
      ++count;
    }
  }
  EXPECT_GE(count, 30U);
}

TEST(DocsNameTest, commands_and_options_that_sentences_name_exist) {
  const std::regex named("`nodepool ([^`\n]+)`");
  std::size_t count = 0;
  for (const std::filesystem::path& page : pages()) {
    for (const std::string& text : found_in(read_file(page.string()), named)) {
      // "[--detail]" is optional, "LEASE\|NODE…" stands for something.
      const std::vector<std::string> words = found_in(text, std::regex(R"(([^\s\[\]]+))"));
      EXPECT_NO_THROW(normalize_arguments(words)) << page << ": " << text;
      ++count;
    }
  }
  EXPECT_GE(count, 50U);
}

}  // namespace
}  // namespace nodepool::cli
