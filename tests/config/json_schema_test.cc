#include "config/json_schema.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "support.h"

namespace nodepool::config {
namespace {

using Json = nlohmann::ordered_json;

Json array(std::initializer_list<std::string_view> items) {
  Json json = Json::array();
  for (const std::string_view item : items) json.push_back(item);
  return json;
}

TEST(JsonSchema, DescribesTheTopLevel) {
  const Json json = Json::parse(json_schema(test_drivers()).dump());
  EXPECT_EQ(json["$schema"], "https://json-schema.org/draft/2020-12/schema");
  EXPECT_EQ(json["type"], "object");
  EXPECT_EQ(json["additionalProperties"], false);

  const Json& port = json["properties"]["webapp"]["properties"]["port"];
  EXPECT_EQ(port["type"], "integer");
  EXPECT_EQ(port["default"], 8005);
  EXPECT_EQ(port["maximum"], 65535);
  EXPECT_FALSE(port["description"].get<std::string>().empty());

  const Json& label = json["properties"]["labels"]["items"];
  EXPECT_EQ(label["required"], array({"name"}));
  EXPECT_EQ(json["properties"]["tenant-resource-limits"]["items"]["additionalProperties"]["type"],
            "integer");
  const Json& image = json["properties"]["diskimages"]["items"]["properties"];
  EXPECT_EQ(image["release"]["anyOf"][1]["type"], "integer");
  EXPECT_EQ(image["env-vars"]["additionalProperties"]["type"], "string");
  EXPECT_FALSE(image.contains("shell-type"));
  EXPECT_EQ(json["properties"]["store"]["pattern"], "^(?:zookeeper|sqlite:///.+)$");
}

TEST(JsonSchema, ChecksAProviderByItsDriver) {
  const Json json = json_schema(test_drivers());
  const Json& item = json["properties"]["providers"]["items"];
  EXPECT_EQ(item["properties"]["driver"]["enum"], array({"fake", "openstack", "static"}));
  EXPECT_EQ(item["required"], array({"name"}));

  const Json& conditions = item["allOf"];
  ASSERT_EQ(conditions.size(), 3U);
  EXPECT_EQ(conditions[2]["if"]["properties"]["driver"]["const"], "static");
  EXPECT_EQ(conditions[2]["if"]["required"], array({"driver"}));
  EXPECT_EQ(conditions[2]["then"]["$ref"], "#/$defs/provider-static");
  EXPECT_FALSE(conditions[1]["if"].contains("required")) << "the default driver needs no key";

  const Json& rack = json["$defs"]["provider-static"];
  EXPECT_TRUE(rack["properties"].contains("max-concurrency"));
  const Json& node = rack["properties"]["pools"]["items"]["properties"]["nodes"]["items"];
  EXPECT_EQ(node["properties"]["connection-type"]["enum"], array({"ssh", "winrm"}));
  EXPECT_EQ(node["allOf"][0]["not"]["required"], array({"ssh-port", "connection-port"}));
}

}  // namespace
}  // namespace nodepool::config
