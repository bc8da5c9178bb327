#include "driver/request_template.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace nodepool::driver {
namespace {

TEST(RequestTemplateTest, fields_become_what_the_request_has) {
  model::NodeRequest request;
  request.id = "200-0000000001";
  request.node_types = {"small", "large"};
  request.requestor = "zuul";
  request.requestor_data =
      model::Json::parse(R"({"build": {"uuid": "abc", "retries": 2}, "list": [true, null]})");
  request.relative_priority = 7;
  request.tenant_name = "t";
  struct Case {
    const char* text;
    const char* expected;
  };
  for (const auto& [text, expected] : std::initializer_list<Case>{
           {"", ""},
           {"plain", "plain"},
           {"id-{request.id}!", "id-200-0000000001!"},
           {"{request.labels}", "['small', 'large']"},
           {"{request.labels[1]}", "large"},
           {"{request.requestor}", "zuul"},
           {"{request.requestor_data[build][uuid]}", "abc"},
           {"{request.requestor_data}",
            "{'build': {'uuid': 'abc', 'retries': 2}, 'list': [True, None]}"},
           {"{request.relative_priority}", "7"},
           {"{request.event_id}", "None"},
           {"{request.tenant_name:>3}", "  t"},
           {"{request.tenant_name:*^3s}", "*t*"},
           {"{{{request.tenant_name}}}", "{t}"},
       }) {
    EXPECT_EQ(fill_in(text, request), expected) << text;
  }
}

TEST(RequestTemplateTest, what_cannot_be_made_is_an_error) {
  for (const char* text :
       {"{", "}", "{request.id", "{}", "{node.id}", "{request.password}", "{request.labels[0]}",
        "{request.labels[x]}", "{request.labels[0}", "{request.id:%Y}", "{request.id!r}"}) {
    EXPECT_THROW(fill_in(text, {}), std::invalid_argument) << text;
  }
}

}  // namespace
}  // namespace nodepool::driver
