#include "coordination/path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "coordination/store.h"

namespace nodepool::coordination {
namespace {

using testing::HasSubstr;

TEST(PathTest, absolute_paths_without_trailing_slash_are_valid) {
  for (const std::string path : {"/", "/a", "/a/b", "/a b/...", "/a/.b", "/a/b.", "/\xc3\xbc"}) {
    EXPECT_NO_THROW(require_valid_path(path)) << path;
  }
}

TEST(PathTest, malformed_paths_are_refused_with_the_reason) {
  for (const std::string path : {"", "a", "a/b", "/a/", "//", "//a", "/a//b", "/.", "/..", "/a/./b",
                                 "/a/..", "/a\tb", "/a\x7f"}) {
    EXPECT_THROW(require_valid_path(path), StoreError) << path;
  }
  EXPECT_THROW(require_valid_path(std::string("/a\0b", 4)), StoreError);
  try {
    require_valid_path("/a/../b");
    ADD_FAILURE();
  } catch (const StoreError& error) {
    EXPECT_EQ(error.kind(), StoreError::Kind::invalid);
    EXPECT_THAT(error.what(), HasSubstr("/a/../b"));
    EXPECT_THAT(error.what(), HasSubstr("relative"));
  }
}

TEST(PathTest, parents_and_names_join_to_the_path) {
  EXPECT_EQ(parent_path("/a/b/c"), "/a/b");
  EXPECT_EQ(parent_path("/a"), "/");
  EXPECT_EQ(base_name("/a/b/c"), "c");
  EXPECT_EQ(base_name("/a"), "a");
  EXPECT_EQ(join_path("/a/b", "c"), "/a/b/c");
  EXPECT_EQ(join_path("/", "a"), "/a");
}

TEST(PathTest, a_path_is_within_itself_and_its_parents_only) {
  EXPECT_TRUE(is_within("/a", "/a"));
  EXPECT_TRUE(is_within("/a/b", "/a"));
  EXPECT_TRUE(is_within("/a", "/"));
  EXPECT_TRUE(is_within("/", "/"));
  EXPECT_FALSE(is_within("/ab", "/a"));
  EXPECT_FALSE(is_within("/a", "/a/b"));
  EXPECT_FALSE(is_within("/", "/a"));
}

TEST(PathTest, relative_paths_have_no_leading_slash) {
  EXPECT_EQ(relative_path("/a/b/c", "/a"), "b/c");
  EXPECT_EQ(relative_path("/a/b", "/"), "a/b");
  EXPECT_EQ(relative_path("/a", "/a"), "");
  EXPECT_EQ(relative_path("/", "/"), "");
}

TEST(TransactionTest, operations_are_kept_in_order_with_their_arguments) {
  Transaction transaction;
  EXPECT_TRUE(transaction.empty());
  transaction.create("/a", "data", CreateMode::ephemeral)
      .set("/b", "new", 3)
      .remove("/c")
      .check("/d", 4);
  ASSERT_EQ(transaction.size(), 4);
  const auto& operations = transaction.operations();
  EXPECT_EQ(operations[0].kind, Transaction::Kind::create);
  EXPECT_EQ(operations[0].path, "/a");
  EXPECT_EQ(operations[0].data, "data");
  EXPECT_EQ(operations[0].mode, CreateMode::ephemeral);
  EXPECT_EQ(operations[1].kind, Transaction::Kind::set);
  EXPECT_EQ(operations[1].version, 3);
  EXPECT_EQ(operations[2].kind, Transaction::Kind::remove);
  EXPECT_EQ(operations[2].version, kAnyVersion);
  EXPECT_EQ(operations[3].kind, Transaction::Kind::check);
  EXPECT_EQ(operations[3].version, 4);
}

TEST(StoreErrorTest, the_message_names_kind_path_and_detail) {
  const StoreError error = store_error(StoreError::Kind::bad_version, "/a", "version 2, not 1");
  EXPECT_STREQ(error.what(), "version conflict: /a (version 2, not 1)");
  EXPECT_TRUE(error.is_rejection());
  EXPECT_FALSE(store_error(StoreError::Kind::unknown_outcome, "/a").is_rejection());
}

}  // namespace
}  // namespace nodepool::coordination
