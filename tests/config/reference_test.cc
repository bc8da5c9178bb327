#include "config/reference.h"

#include <gmock/gmock.h>

#include "config/check.h"
#include "support.h"

namespace nodepool::config {
namespace {

using testing::HasSubstr;

// Calls `visit` for every field of the schema and of nested schemas.
void for_each_field(const Schema& schema, const auto& visit);

void for_each_field(const Type& type, const auto& visit) {
  if (type.section) for_each_field(*type.section, visit);
  for (const Type& part : type.parts) for_each_field(part, visit);
}

void for_each_field(const Schema& schema, const auto& visit) {
  for (const Field& field : schema.fields) {
    visit(field);
    for_each_field(field.type, visit);
  }
}

TEST(Schemas, DescribeEveryKeyAndHaveValidDefaults) {
  const auto look = [](const Field& field) {
    EXPECT_FALSE(field.description.empty()) << field.key;
    EXPECT_TRUE(field.description.ends_with('.')) << field.key;
    const auto value = default_of(field);
    EXPECT_TRUE(value || !field.default_note.empty() || field.required != Required::never ||
                field.accepted == Accepted::by_daemons || field.key == "cert" ||
                field.key == "key" || field.key == "ca")
        << field.key << " has no default";
    if (!value) return;
    const Value section = Value::mapping({{.key = std::string(field.key), .value = *value}});
    EXPECT_THAT(check(section, {.fields = {field}}, {}), testing::IsEmpty()) << field.key;
  };
  for_each_field(nodepool_schema(), look);
  for_each_field(secure_schema(), look);
  for_each_field({.fields = common_provider_fields()}, look);
  for_each_field({.fields = common_pool_fields()}, look);
}

TEST(Reference, HasATableForEverySection) {
  const std::string text = reference_markdown(nodepool_schema(), "");
  EXPECT_THAT(text, testing::StartsWith("## Top level\n\nThe configuration of Nodepool."));
  EXPECT_THAT(text, HasSubstr("\n## `labels[]`\n"));
  EXPECT_THAT(text, HasSubstr("| `min-ready` | integer, nodes | `0` | Number of nodes"));
  EXPECT_THAT(text, HasSubstr("| `name` | string | **required** | Name of the image. |"));
  EXPECT_THAT(text, HasSubstr("| `release` | string or integer | empty |"));
  EXPECT_THAT(text, HasSubstr("| `elements` | list of strings | none |"));
  EXPECT_THAT(text, HasSubstr("| `labels` | list of sections | none |"));
  EXPECT_THAT(text, HasSubstr("| any other | integer |"));
  EXPECT_THAT(text, HasSubstr("`config-validate` rejects it."));
  EXPECT_THAT(text, testing::Not(HasSubstr("## `providers[]`")));
}

TEST(Reference, DescribesADriver) {
  const std::string text = reference_markdown(provider_schema(rack_schema()), "providers[]", 3);
  EXPECT_THAT(text, testing::StartsWith("### `providers[]`\n\nHosts that exist already.\n"));
  EXPECT_THAT(text, HasSubstr("### `providers[].pools[].nodes[]`\n\nA host.\n"));
  EXPECT_THAT(text, HasSubstr("Only one of `ssh-port` or `connection-port` is allowed."));
  EXPECT_THAT(text,
              HasSubstr("| `connection-type` | `ssh` or `winrm` | `ssh` | How to connect. |"));
  EXPECT_THAT(text, HasSubstr("**Deprecated:** use `connection-port`."));
  EXPECT_THAT(text, HasSubstr("| `labels` | list of label names or label names | **required** |"));
}

}  // namespace
}  // namespace nodepool::config
