#include <gtest/gtest.h>

#include "cloud/base64.h"
#include "cloud/url_text.h"

namespace nodepool::cloud {
namespace {

TEST(UrlText, has_escapes_for_all_that_might_mean_something) {
  EXPECT_EQ(url_text(""), "");
  EXPECT_EQ(url_text("aZ09-._~"), "aZ09-._~");
  EXPECT_EQ(url_text("a b/c?d&e=f%"), "a%20b%2Fc%3Fd%26e%3Df%25");
  EXPECT_EQ(url_text("é"), "%C3%A9");
}

// The examples of RFC 4648, section 10.
TEST(Base64, is_that_of_the_standard) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

}  // namespace
}  // namespace nodepool::cloud
