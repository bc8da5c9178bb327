// Tokens of the request API are made here, and checked there.

#include <gmock/gmock.h>

#include "api/token_file.h"
#include "tests/cli/cli_test.h"

namespace nodepool::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class TokenCommandTest : public CliTest {};

TEST_F(TokenCommandTest, a_token_is_printed_with_its_entry) {
  ASSERT_EQ(nodepool({"token-create", "gitlab", "--tenant", "acme", "--max-nodes", "20"}), 0);
  EXPECT_THAT(out(), StartsWith("Token: np_"));
  const std::string token = out().substr(7, out().find('\n') - 7);
  const std::string entry = out().substr(out().find("  - name"));
  const api::Tokens tokens = api::Tokens::parse("tokens:\n" + entry, "tokens.yaml");
  const api::Client* client = tokens.find(token, 0);
  ASSERT_NE(client, nullptr);
  EXPECT_EQ(client->name, "gitlab");
  EXPECT_EQ(client->scope, api::Client::Scope::request);
  EXPECT_EQ(client->tenant, "acme");
  EXPECT_EQ(client->max_nodes, 20U);
}

TEST_F(TokenCommandTest, what_the_launcher_would_refuse_is_refused) {
  EXPECT_NE(nodepool({"token-create", "git lab"}), 0);
  EXPECT_THAT(err(), HasSubstr("name"));
  EXPECT_NE(nodepool({"token-create", "gitlab", "--expires", "soon"}), 0);
}

}  // namespace
}  // namespace nodepool::cli
