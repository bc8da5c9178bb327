#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/component.h"
#include "model/node.h"
#include "model/node_request.h"

namespace nodepool::model {
namespace {

using coordination::Entry;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// As written by the Python Nodepool 11.
constexpr auto kNodeRecord =
    R"({"state": "ready", "state_time": 1795230258.8000298, "cloud": null, "provider": "testp", )"
    R"("pool": "main", "type": ["t1"], "allocated_to": "200-0000000002", "az": null, "region": null, )"
    R"("public_ipv4": null, "private_ipv4": null, "public_ipv6": null, "host_id": null, )"
    R"("interface_ip": null, "connection_port": 22, "ssh_port": 22, "image_id": null, )"
    R"("launcher": "localhost-PoolWorker.testp-main-b7836c79", "created_time": 1795230258.7649817, )"
    R"("external_id": "test-900-0000000000", "hostname": null, "comment": null, "user_data": null, )"
    R"("hold_job": null, "host_keys": [], "username": null, "connection_type": null, )"
    R"("shell_type": null, "hold_expiration": null, "resources": null, "slot": null, )"
    R"("attributes": {"executor-zone": "z1"}, "python_path": null, "tenant_name": "ten", )"
    R"("driver_data": null, "requestor": "sys1", "node_properties": {}})";

TEST(NodeRecordTest, a_record_of_the_python_nodepool_comes_back_byte_for_byte) {
  const Node node = parse_node("0000000002", {kNodeRecord, {}});
  EXPECT_EQ(node.state, NodeState::ready);
  EXPECT_EQ(node.allocated_to, "200-0000000002");
  EXPECT_EQ(node.username, std::nullopt);
  EXPECT_EQ(node.external_id_text(), "test-900-0000000000");
  EXPECT_EQ(to_record(node), kNodeRecord);
}

TEST(NodeRecordTest, missing_keys_get_the_documented_defaults_and_all_keys_are_written) {
  const Node node = parse_node("0000000001", {R"({"state": "init"})", {}});
  EXPECT_EQ(node.username, "zuul");
  EXPECT_EQ(node.port(), 22);
  EXPECT_THAT(node.type, ElementsAre());
  const std::string text = to_record(node);
  for (const char* key : {"allocated_to", "ssh_port", "hold_expiration", "node_properties"}) {
    EXPECT_THAT(text, HasSubstr(std::string("\"") + key + "\": "));
  }
}

TEST(NodeRecordTest, unknown_keys_are_kept_and_zuuls_id_is_not) {
  const Node node = parse_node(
      "1", {R"({"id": "1", "state": "hold", "later": {"a": [1, "\u00e9"]}, "more": 2.5})", {}});
  EXPECT_THAT(node.unknown, ElementsAre(Pair("later", Json{R"({"a": [1, "\u00e9"]})"}),
                                        Pair("more", Json{"2.5"})));
  EXPECT_THAT(to_record(node), HasSubstr(R"("later": {"a": [1, "\u00e9"]}, "more": 2.5})"));
}

TEST(NodeRecordTest, old_and_odd_forms_are_read) {
  EXPECT_THAT(parse_node("1", {R"({"state": "ready", "type": "one"})", {}}).type,
              ElementsAre("one"));
  EXPECT_EQ(parse_node("1", {R"({"state": "ready", "ssh_port": 2022})", {}}).port(), 2022);
  EXPECT_EQ(parse_node("1", {R"({"state": "hold", "hold_expiration": "60"})", {}}).hold_expiration,
            60);
  EXPECT_EQ(
      parse_node("1", {R"({"state": "hold", "hold_expiration": "soon"})", {}}).hold_expiration, 0);
  const Node pod = parse_node(
      "1",
      {R"({"state": "ready", "connection_port": {"token": "t"}, "external_id": {"i": 1}})", {}});
  EXPECT_EQ(pod.port(), std::nullopt);
  EXPECT_EQ(pod.external_id_text(), R"({"i": 1})");
  EXPECT_EQ(parse_node("1", {R"({"state": "ready"})", {}}).external_id_text(), "");
  EXPECT_THAT(to_record(pod), HasSubstr(R"("connection_port": {"token": "t"})"));
}

TEST(NodeRecordTest, what_no_decision_reads_may_have_any_type_and_is_kept) {
  Node node = parse_node(
      "1",
      {R"({"state": "ready", "comment": 5, "hold_job": ["a"], "cloud": {}, "region": null})", {}});
  EXPECT_EQ(node.comment, std::nullopt);
  EXPECT_EQ(node.hold_job, std::nullopt);
  const std::string text = to_record(node);
  for (const char* kept :
       {R"("comment": 5,)", R"("hold_job": ["a"],)", R"("cloud": {},)", R"("region": null,)"}) {
    EXPECT_THAT(text, HasSubstr(kept));
  }
  EXPECT_EQ(to_record(parse_node("1", {text, {}})), text);
  node.comment = "its machine has ended";
  const std::string changed = to_record(node);
  EXPECT_THAT(changed, HasSubstr(R"("comment": "its machine has ended",)"));
  EXPECT_THAT(changed, testing::Not(HasSubstr(R"("comment": 5)"))) << "no key twice";
}

TEST(NodeRecordTest, of_a_repeated_key_the_last_value_counts) {
  const Node node =
      parse_node("1", {R"({"state": "ready", "az": "a", "x": 1, "az": "b", "x": 2})", {}});
  EXPECT_EQ(node.az, "b");
  EXPECT_THAT(node.unknown, ElementsAre(Pair("x", Json{"2"})));
}

TEST(NodeRecordTest, values_inside_values_are_kept_as_they_are) {
  const std::string inner =
      R"({"a": [{"b": [], "c": {}}, [1, [2.5]], null], "d": {"e": "\u00e9"}})";
  const Node node = parse_node("1", {R"({"user_data": )" + inner + R"(, "state": "ready"})", {}});
  EXPECT_EQ(node.user_data.text, inner);
  EXPECT_EQ(node.state, NodeState::ready);
}

TEST(NodeRecordTest, a_malformed_node_is_rejected_with_a_reason) {
  const auto reason = [](std::string text) -> std::string {
    try {
      parse_node("1", {std::move(text), {}});
    } catch (const RecordError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(reason(""), HasSubstr("empty"));
  EXPECT_THAT(reason("[]"), HasSubstr("must be a JSON object"));
  EXPECT_THAT(reason("{\"state\": "), HasSubstr("parse error"));
  EXPECT_THAT(reason(R"({"state": "wishful"})"), HasSubstr("unknown node state 'wishful'"));
  EXPECT_THAT(reason(R"({"state": "ready", "type": [1]})"), HasSubstr("'type'"));
  EXPECT_THAT(reason(R"({"state": "ready", "pool": 5})"), HasSubstr("'pool' is number"));
  EXPECT_THAT(reason("{\"state\": \"ready\", \"user_data\": " + std::string(5000, '[') +
                     std::string(5000, ']') + "}"),
              HasSubstr("nested too deeply"));
  std::string many = "[1";
  for (int i = 0; i < 250'000; ++i) many += ",1";
  EXPECT_THAT(reason("{\"state\": \"ready\", \"attributes\": {\"a\": " + many +
                     "]}, \"comment\": \"" + std::string(400'000, 'x') + "\"}"),
              HasSubstr("too many values"));
}

TEST(NodeStateTest, every_state_has_a_name_that_leads_back_to_it) {
  for (const NodeState state : kAllNodeStates) {
    EXPECT_EQ(parse_node_state(to_string(state)), state);
  }
  EXPECT_EQ(to_string(NodeState::in_use), "in-use");
  EXPECT_EQ(parse_node_state("in_use"), std::nullopt);
}

TEST(NodeStateTest, only_abandoned_states_are_reclaimed) {
  for (const NodeState state :
       {NodeState::ready, NodeState::hold, NodeState::init, NodeState::testing}) {
    EXPECT_FALSE(is_reclaimable(state)) << to_string(state);
  }
  for (const NodeState state :
       {NodeState::used, NodeState::in_use, NodeState::building, NodeState::failed,
        NodeState::aborted, NodeState::deleting, NodeState::deleted}) {
    EXPECT_TRUE(is_reclaimable(state)) << to_string(state);
  }
}

TEST(NodeStateTest, only_nodes_that_nothing_hands_out_are_discarded) {
  for (const NodeState state : {NodeState::init, NodeState::building, NodeState::testing,
                                NodeState::ready, NodeState::in_use, NodeState::hold}) {
    EXPECT_FALSE(is_discarded(state)) << to_string(state);
  }
  for (const NodeState state : {NodeState::used, NodeState::failed, NodeState::aborted,
                                NodeState::deleting, NodeState::deleted}) {
    EXPECT_TRUE(is_discarded(state)) << to_string(state);
  }
}

constexpr auto kRequestRecord =
    R"({"state": "fulfilled", "state_time": 1795230265.9253037, "declined_by": [], )"
    R"("node_types": ["t1"], "nodes": ["0000000002"], "reuse": true, "requestor": "sys1", )"
    R"("requestor_data": {"a": [1, {"b": "\u00e9"}]}, "provider": null, "relative_priority": 0, )"
    R"("event_id": "ev1", "created_time": 1795230264.9044974, "tenant_name": "ten"})";

TEST(RequestRecordTest, a_record_of_the_python_nodepool_comes_back_byte_for_byte) {
  const NodeRequest request = parse_node_request("200-0000000002", {kRequestRecord, {}});
  EXPECT_EQ(request.state, RequestState::fulfilled);
  EXPECT_EQ(to_record(request), kRequestRecord);
}

TEST(RequestRecordTest, what_zuul_leaves_out_is_written_by_us) {
  const NodeRequest request = parse_node_request(
      "100-0000000001", {R"({"state": "requested", "node_types": ["a"], "requestor": "z"})", {}});
  EXPECT_TRUE(request.reuse);
  const std::string text = to_record(request);
  for (const char* key : {"declined_by", "nodes", "reuse", "requestor_data", "provider", "event_id",
                          "created_time", "tenant_name"}) {
    EXPECT_THAT(text, HasSubstr(std::string("\"") + key + "\": "));
  }
}

TEST(RequestRecordTest, what_no_decision_reads_may_have_any_type_and_is_kept) {
  const std::string fields = R"("event_id": 7, "created_time": "now", "tenant_name": "ten")";
  const NodeRequest request =
      parse_node_request("100-0000000001", {R"({"state": "requested", )" + fields + "}", {}});
  EXPECT_EQ(request.event_id, std::nullopt);
  EXPECT_EQ(request.created_time, std::nullopt);
  EXPECT_EQ(request.tenant_name, "ten");
  EXPECT_THAT(to_record(request), HasSubstr(fields + "}"));
  EXPECT_THROW(
      parse_node_request("100-0000000001", {R"({"state": "requested", "tenant_name": 5})", {}}),
      RecordError);
}

// OpenTelemetry's ids of traces have 128 bits. Zuul attaches one to each request.
TEST(RequestRecordTest, large_integers_of_the_requestor_are_kept_as_they_are) {
  const std::string span =
      R"({"span_info": {"name": "RequestNodes", "trace_id": 340282366920938463463374607431768211455, )"
      R"("span_id": 18446744073709551615, "start_time": 1795230264904497400, "parent": null}})";
  const std::string large = "-100000000000000000000";
  const NodeRequest request = parse_node_request(
      "200-1",
      {R"({"state": "requested", "requestor_data": )" + span + R"(, "state_time": )" +
           R"(100000000000000000000, "created_time": )" + large + R"(, "later": )" + large + "}",
       {}});
  EXPECT_EQ(request.requestor_data.text, span);
  EXPECT_EQ(request.state_time, 1e20);
  EXPECT_THAT(request.unknown, testing::Contains(Pair("later", Json{large})));
  const std::string text = to_record(request);
  EXPECT_THAT(text, HasSubstr("\"requestor_data\": " + span));
  EXPECT_THAT(text, HasSubstr("\"later\": " + large));
  EXPECT_EQ(to_record(parse_node_request("200-1", {text, {}})), text);
}

TEST(RequestRecordTest, requests_are_ordered_by_priority_then_relative_priority_then_age) {
  const auto key = [](const char* id, int relative_priority) {
    NodeRequest request = parse_node_request(id, {R"({"state": "requested"})", {}});
    request.relative_priority = relative_priority;
    return request.service_key();
  };
  EXPECT_LT(key("100-0000000009", 9), key("200-0000000001", 0));
  EXPECT_LT(key("200-0000000009", 0), key("200-0000000001", 1));
  EXPECT_LT(key("200-0000000001", 0), key("200-0000000002", 0));
  EXPECT_LT(key("200-0000000001", -3), key("200-0000000000", 0));
}

TEST(RequestRecordTest, an_id_has_exactly_one_dash) {
  EXPECT_THROW(parse_node_request("nodash", {R"({"state": "requested"})", {}}), RecordError);
  EXPECT_THROW(parse_node_request("a-b-c", {R"({"state": "requested"})", {}}), RecordError);
}

TEST(RequestRecordTest, reasons_of_declines_are_a_key_of_our_own) {
  NodeRequest request = parse_node_request("100-0000000001", {R"({"state": "requested"})", {}});
  EXPECT_THAT(to_record(request), testing::Not(HasSubstr("decline_reasons")));
  request.decline_reasons["pool"] = "full";
  const std::string text = to_record(request);
  EXPECT_THAT(text, HasSubstr(R"("decline_reasons": {"pool": "full"})"));
  EXPECT_EQ(parse_node_request("100-0000000001", {text, {}}).decline_reasons,
            request.decline_reasons);
}

TEST(ComponentRecordTest, a_pool_is_written_as_the_python_nodepool_does) {
  Component pool;
  pool.kind = Component::Kind::pool;
  pool.hostname = "vm";
  pool.id = "localhost-PoolWorker.st-main-387a";
  pool.name = "main";
  pool.provider_name = "st";
  pool.state = "running";
  pool.supported_labels = {"s1"};
  pool.version = "11.0.0";
  const std::string text =
      R"({"hostname": "vm", "id": "localhost-PoolWorker.st-main-387a", "kind": "pool", )"
      R"("model_api": 0, "name": "main", "paused": false, "priority": 100, )"
      R"("provider_name": "st", "state": "running", "supported_labels": ["s1"], "version": "11.0.0"})";
  EXPECT_EQ(to_record(pool), text);
  EXPECT_EQ(parse_component(Component::Kind::pool, {text, {}}), pool);
}

TEST(ComponentRecordTest, a_daemon_says_more_of_itself_than_the_python_nodepool_does) {
  Component launcher;
  launcher.hostname = "vm";
  launcher.state = "running";
  launcher.version = "12.0.0";
  launcher.started = 1700000000;
  launcher.configuration_loaded = 1700000001;
  launcher.configuration_problem = "labels: missing";
  launcher.problems = {"provider sky is not in service"};
  const std::string text =
      R"({"configuration_loaded": 1700000001.0, "configuration_problem": "labels: missing", )"
      R"("hostname": "vm", "kind": "launcher", "model_api": 0, )"
      R"("problems": ["provider sky is not in service"], "started": 1700000000.0, )"
      R"("state": "running", "version": "12.0.0"})";
  EXPECT_EQ(to_record(launcher), text);
  EXPECT_EQ(parse_component(Component::Kind::launcher, {text, {}}), launcher);
}

TEST(ComponentRecordTest, the_version_tells_the_program_that_wrote_it) {
  const auto program = [](const std::string& version) {
    Component pool;
    pool.version = version;
    return implementation_of(pool);
  };
  EXPECT_EQ(program("11.0.0"), Implementation::python_nodepool);
  EXPECT_EQ(program("9.0.1.dev12"), Implementation::python_nodepool);
  EXPECT_EQ(program("12.0.0~debug"), Implementation::this_nodepool);
  EXPECT_EQ(program("13.1.0"), Implementation::this_nodepool);
  EXPECT_EQ(program(""), Implementation::unknown);
  EXPECT_EQ(program("unknown"), Implementation::unknown);
}

TEST(ComponentRecordTest, a_daemon_that_knows_no_times_still_says_its_problems) {
  Component launcher;
  launcher.hostname = "vm";
  launcher.configuration_problem = "labels: missing";
  launcher.problems = {"provider sky is not in service"};
  const std::string text =
      R"({"configuration_problem": "labels: missing", "hostname": "vm", "kind": "launcher", )"
      R"("model_api": 0, "problems": ["provider sky is not in service"], "state": "stopped", )"
      R"("version": ""})";
  EXPECT_EQ(to_record(launcher), text);
  EXPECT_EQ(parse_component(Component::Kind::launcher, {text, {}}), launcher);
}

// A part of a record may exceed the limits of a text of its size.
TEST(JsonTest, only_strings_are_parsed_for_their_value) {
  EXPECT_EQ(json_string("a\"b").string_value(), "a\"b");
  EXPECT_EQ(Json{" \"a\""}.string_value(), "a");
  EXPECT_EQ(Json{"[not JSON"}.string_value(), "");
  EXPECT_EQ(Json{}.string_value(), "");
}

TEST(JsonTest, text_is_brought_into_pythons_form) {
  EXPECT_EQ(Json::parse(R"({"b":[1,2.50,true,null],"a":"\/é"})").text,
            R"({"b": [1, 2.5, true, null], "a": "/\u00e9"})");
  EXPECT_THROW(Json::parse("{"), RecordError);
  EXPECT_EQ(json_string("a\"b").text, R"("a\"b")");
}

}  // namespace
}  // namespace nodepool::model
