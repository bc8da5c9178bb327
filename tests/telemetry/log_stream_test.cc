#include "telemetry/log_stream.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/support/descriptor.h"

namespace nodepool::telemetry {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kPage = 4096;

// A pipe whose reader reads when the test says so.
class LogStreamTest : public testing::Test {
 protected:
  LogStreamTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    reader_ = test_support::Descriptor(ends[0]);
    writer_ = test_support::Descriptor(ends[1]);
  }

  static void set_blocking(const test_support::Descriptor& end, bool is_blocking) {
    ASSERT_EQ(::fcntl(end.get(), F_SETFL, is_blocking ? 0 : O_NONBLOCK), 0);
  }
  // Writes until the pipe takes no more.
  void fill() const {
    const std::string page(kPage, '\n');
    set_blocking(writer_, false);
    while (::write(writer_.get(), page.data(), page.size()) > 0) {
    }
    set_blocking(writer_, true);
  }
  // Empties the pipe.
  std::string read_all() const {
    std::string text;
    std::array<char, kPage> part{};
    set_blocking(reader_, false);
    for (ssize_t size = 0; (size = ::read(reader_.get(), part.data(), part.size())) > 0;) {
      text.append(part.data(), static_cast<std::size_t>(size));
    }
    set_blocking(reader_, true);
    return text;
  }

  test_support::Descriptor reader_;
  test_support::Descriptor writer_;
};

TEST_F(LogStreamTest, a_text_is_dropped_if_the_reader_has_stalled) {
  LogStream stream(writer_.get(), milliseconds(1));
  stream.write("one\n");
  EXPECT_EQ(read_all(), "one\n");
  fill();
  EXPECT_THROW(stream.write("two\n"), std::runtime_error);
  EXPECT_THAT(read_all(), testing::Not(testing::HasSubstr("two")));
  stream.write("three\n");
  EXPECT_EQ(read_all(), "three\n");
}

TEST_F(LogStreamTest, while_the_reader_is_stalled_texts_do_not_wait) {
  constexpr int kTexts = 200;
  constexpr milliseconds kPatience(50);
  LogStream stream(writer_.get(), kPatience);
  fill();
  const auto start = steady_clock::now();
  for (int i = 0; i < kTexts; ++i) EXPECT_THROW(stream.write("text\n"), std::runtime_error);
  EXPECT_GE(steady_clock::now() - start, kPatience);
  EXPECT_LT(steady_clock::now() - start, kTexts * kPatience / 2);
}

TEST_F(LogStreamTest, after_half_a_text_the_next_one_starts_on_a_new_line) {
  LogStream stream(writer_.get(), milliseconds(1));
  constexpr std::size_t kMore = std::size_t{1} << 20;  // than a pipe contains
  EXPECT_THROW(stream.write(std::string(kMore, 'x') + "\n"), std::runtime_error);
  EXPECT_THAT(read_all(), testing::MatchesRegex("x+"));
  stream.write("next\n");
  EXPECT_EQ(read_all(), "\nnext\n");
}

TEST_F(LogStreamTest, without_a_limit_a_text_waits_for_the_reader) {
  LogStream stream(writer_.get(), milliseconds(-1));
  fill();
  std::thread reader([this] {
    std::string text;
    std::array<char, kPage> part{};
    while (!text.contains("text\n")) {
      const ssize_t size = ::read(reader_.get(), part.data(), part.size());
      if (size <= 0) break;
      text.append(part.data(), static_cast<std::size_t>(size));
    }
  });
  EXPECT_NO_THROW(stream.write("text\n"));
  reader.join();
}

}  // namespace
}  // namespace nodepool::telemetry
