#include "api/token_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "config/problem.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::api {
namespace {

using testing::HasSubstr;

const std::string kSecret = "a-token";

std::string one_token(const std::string& more) {
  return "tokens:\n  - name: gitlab\n    scope: request\n    hash: " + hash_of(kSecret) + "\n" +
         more;
}

std::string problem_of(const std::string& text) {
  try {
    Tokens::parse(text, "tokens.yaml");
  } catch (const config::ConfigError& error) {
    return error.what();
  }
  return "none";
}

TEST(TokenFile, a_token_is_known_by_its_hash) {
  // Output of `printf %s a-token | sha256sum`.
  EXPECT_EQ(hash_of("a-token"),
            "sha256:1f6076e3a47ba1ded08025ffe06e57af217c14f9407f33fba50f99b1c7019387");
}

TEST(TokenFile, a_token_is_invalid_after_its_expiry_date) {
  for (const char* day : {"1970-01-01", "1969-07-20", "2026-01-01"}) {
    const Tokens tokens =
        Tokens::parse(one_token("    expires: " + std::string(day) + "\n"), "tokens.yaml");
    EXPECT_EQ(tokens.find(kSecret, 1.8e9), nullptr) << day;
  }
  EXPECT_THAT(problem_of(one_token("    expires: 2027-01-31 or so\n")), HasSubstr("must be a day"));
}

TEST(TokenFile, a_file_that_other_users_may_write_is_rejected) {
  const test_support::TemporaryDirectory directory;
  const std::string file = directory.write("tokens.yaml", one_token(""));
  EXPECT_EQ(Tokens::read(file).size(), 1U);
  using std::filesystem::perms;
  for (const perms other : {perms::group_write, perms::others_write}) {
    std::filesystem::permissions(file, perms::owner_read | perms::owner_write | other);
    EXPECT_THROW(Tokens::read(file), config::ConfigError);
  }
}

TEST(TokenFile, a_missing_file_has_no_tokens) {
  const test_support::TemporaryDirectory directory;
  EXPECT_EQ(Tokens::read(directory.path() / "tokens.yaml").size(), 0U);
}

TEST(TokenFile, everything_about_a_client_is_read) {
  const Tokens tokens = Tokens::parse(one_token("    tenant: acme\n    max-nodes: 20\n"
                                                "    max-lease: 4h\n    rate: 2.5\n"),
                                      "tokens.yaml");
  const Client* client = tokens.find(kSecret, 0);
  ASSERT_NE(client, nullptr);
  EXPECT_EQ(*client, (Client{.name = "gitlab",
                             .scope = Client::Scope::request,
                             .tenant = "acme",
                             .max_nodes = 20,
                             .max_lease = std::chrono::hours(4),
                             .rate = 2.5}));
  EXPECT_EQ(tokens.find("another", 0), nullptr);
  EXPECT_EQ(tokens.find("", 0), nullptr);
}

TEST(TokenFile, a_token_is_valid_until_its_day) {
  const Tokens tokens = Tokens::parse(one_token("    expires: 2027-01-31\n"), "tokens.yaml");
  constexpr double kMidnight = 1801353600;  // 2027-01-31T00:00:00Z
  EXPECT_NE(tokens.find(kSecret, kMidnight - 1), nullptr);
  EXPECT_EQ(tokens.find(kSecret, kMidnight), nullptr);
}

TEST(TokenFile, what_is_not_understood_is_refused_with_its_place) {
  EXPECT_THAT(problem_of(one_token("    tennant: acme\n")), HasSubstr("tokens.yaml:5"));
  EXPECT_THAT(problem_of(one_token("    scope: root\n")), HasSubstr("scope"));
  EXPECT_THAT(problem_of(one_token("    max-lease: long\n")), HasSubstr("max-lease"));
  EXPECT_THAT(problem_of(one_token("    rate: 0\n")), HasSubstr("rate"));
  EXPECT_THAT(problem_of(one_token("    expires: soon\n")), HasSubstr("must be a day"));
  EXPECT_THAT(problem_of("tokens:\n  - name: a\n    scope: read\n"), HasSubstr("hash"));
  EXPECT_THAT(problem_of("tokens:\n  - {name: a, scope: read, hash: secret}\n"), HasSubstr("hash"));
  EXPECT_THAT(problem_of("{}"), HasSubstr("tokens"));
  EXPECT_EQ(problem_of("tokens: []"), "none");
}

TEST(TokenFile, a_new_token_is_known_by_its_entry) {
  const std::string token = new_token();
  EXPECT_NE(token, new_token());
  const Tokens tokens = Tokens::parse("tokens:\n" + to_yaml({.name = "jenkins",
                                                             .scope = "admin",
                                                             .hash = hash_of(token),
                                                             .tenant = "acme",
                                                             .labels = "small,large",
                                                             .priorities = "low",
                                                             .max_nodes = "3",
                                                             .max_lease = "90m",
                                                             .expires = "2099-12-31"}),
                                      "tokens.yaml");
  const Client* client = tokens.find(token, 0);
  ASSERT_NE(client, nullptr);
  EXPECT_EQ(client->name, "jenkins");
  EXPECT_EQ(client->max_nodes, 3U);
  EXPECT_EQ(client->max_lease, std::chrono::minutes(90));
  EXPECT_EQ(client->labels, (std::vector<std::string>{"small", "large"}));
  EXPECT_EQ(client->priorities, std::vector<std::string>{"low"});
  EXPECT_FALSE(client->may_name_tenants);
}

TEST(TokenFile, two_clients_cannot_have_one_token) {
  const std::string hash = hash_of(kSecret);
  EXPECT_THAT(problem_of("tokens:\n  - {name: a, scope: read, hash: \"" + hash +
                         "\"}\n  - {name: b, scope: admin, hash: \"" + hash + "\"}\n"),
              HasSubstr("occurs twice"));
}

}  // namespace
}  // namespace nodepool::api
