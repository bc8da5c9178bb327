#include <gmock/gmock.h>

#include "coordination/lock.h"
#include "coordination/tree.h"
#include "model/paths.h"
#include "tests/cli/cli_test.h"

namespace nodepool::cli {
namespace {

using testing::HasSubstr;

class ListTest : public CliTest {
 protected:
  void create(const std::string& path) { run(coordination::ensure_path(store_, path)); }

  void create_upload(const std::string& path) {
    create(path);
    run(store_.set(path, R"({"state": "ready"})", coordination::kAnyVersion));
  }
};

TEST_F(ListTest, a_listing_is_printed_in_the_chosen_format) {
  EXPECT_EQ(nodepool({"label-list", "-o", "json"}), 0);
  EXPECT_EQ(out(), "[]\n");
  EXPECT_EQ(nodepool({"label-list", "--output=yaml"}), 0);
  EXPECT_EQ(out(), "[]\n");
  EXPECT_EQ(nodepool({"label-list", "-o", "xml"}), 2);
  EXPECT_THAT(err(), HasSubstr("'xml' is not one of table, wide, json, yaml, name"));
}

TEST_F(ListTest, an_empty_installation_has_an_empty_table) {
  EXPECT_EQ(nodepool({"list"}), 0);
  EXPECT_EQ(out(),
            "+----+----------+-------+-----------+-------------+------+-------+-----+--------+\n"
            "| ID | Provider | Label | Server ID | Public IPv4 | IPv6 | State | Age | Locked |\n"
            "+----+----------+-------+-----------+-------------+------+-------+-----+--------+\n"
            "+----+----------+-------+-----------+-------------+------+-------+-----+--------+\n");
  EXPECT_EQ(nodepool({"list", "--json"}), 0);
  EXPECT_EQ(out(), "[]\n");
  EXPECT_EQ(err(), "");
}

TEST_F(ListTest, a_listing_that_cannot_be_written_is_a_failure) {
  out_is_full_ = true;
  EXPECT_EQ(nodepool({"list"}), 1);
  EXPECT_EQ(err(), "nodepool: cannot write to standard output\n");
  EXPECT_EQ(nodepool_bare({"--version"}), 1);
  EXPECT_EQ(err(), "nodepool: cannot write to standard output\n");
}

TEST_F(ListTest, a_watched_listing_ends_when_it_cannot_be_written) {
  out_is_full_ = true;
  EXPECT_EQ(nodepool({"list", "--watch"}), 1);
  EXPECT_EQ(err(), "nodepool: cannot write to standard output\n");
}

TEST_F(ListTest, nodes_are_listed_by_id_and_nothing_is_written) {
  run(launcher_.add_node(make_node("small")));
  model::Node held = make_node("large");
  held.type.push_back("huge");
  held.state = model::NodeState::in_use;
  const std::string held_id = run(launcher_.add_node(held));
  coordination::Lock lock(store_, random_, model::node_lock_path(held_id));
  EXPECT_TRUE(run(lock.try_acquire()));
  EXPECT_EQ(nodepool({"list"}), 0);
  EXPECT_EQ(out(),
            "+------------+----------+------------+-----------+-------------+------+--------+------"
            "-------+----------+\n"
            "| ID         | Provider | Label      | Server ID | Public IPv4 | IPv6 | State  | Age  "
            "       | Locked   |\n"
            "+------------+----------+------------+-----------+-------------+------+--------+------"
            "-------+----------+\n"
            "| 0000000000 | rack     | small      | host1     | 192.0.2.1   |      | ready  | "
            "00:00:01:05 | unlocked |\n"
            "| 0000000001 | rack     | large,huge | host1     | 192.0.2.1   |      | in-use | "
            "00:00:01:05 | locked   |\n"
            "+------------+----------+------------+-----------+-------------+------+--------+------"
            "-------+----------+\n");
  EXPECT_FALSE(run(store_.exists(model::node_lock_path("0000000000"))));
}

TEST_F(ListTest, details_and_json_have_all_columns) {
  model::Node node = make_node("small");
  node.hostname = "host1";
  node.az = "az1";
  node.comment = "";
  node.user_data.text = R"({"zuul_system": "abc", "project_name": null})";
  node.connection_port.text = R"({"token": "secret"})";
  run(launcher_.add_node(node));
  EXPECT_EQ(nodepool({"list", "--detail"}), 0);
  EXPECT_THAT(out(), HasSubstr("| Locked   | Pool | Hostname | Private IPv4 | AZ  | Username | "
                               "Port     | Launcher | Allocated To | Hold Job | Comment | "
                               "User Data                                    | Driver Data |\n"));
  EXPECT_THAT(out(), HasSubstr("{'zuul_system': 'abc', 'project_name': None}"));
  EXPECT_EQ(nodepool({"list", "--json"}), 0);
  EXPECT_EQ(
      out(),
      R"([{"id": "0000000000", "provider": "rack", "label": ["small"], "server_id": "host1", )"
      R"("public_ipv4": "192.0.2.1", "ipv6": null, "state": "ready", "age": "00:00:01:05", )"
      R"("locked": "unlocked", "pool": "main", "hostname": "host1", "private_ipv4": null, )"
      R"("AZ": "az1", "username": "zuul", "connection_port": "redacted", "launcher": null, )"
      R"("allocated_to": null, "hold_job": null, "comment": "", )"
      R"("user_data": {"zuul_system": "abc", "project_name": null}, "driver_data": null, )"
      R"("tenant": null, "requestor": null, "lease": null, "expires": null, "age_seconds": 65}])"
      "\n");
}

TEST_F(ListTest, a_port_may_be_a_number_or_a_text_with_one) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"22", "22"}, {R"("22")", R"("22")"}, {"null", R"("redacted")"}, {R"("x")", R"("redacted")"}};
  for (const auto& [given, shown] : cases) {
    model::Node node = make_node("small");
    node.connection_port.text = given;
    const std::string id = run(launcher_.add_node(node));
    EXPECT_EQ(nodepool({"list", "--json"}), 0);
    EXPECT_THAT(out(), HasSubstr(std::string(R"("connection_port": )") + shown + ",")) << given;
    run(store_.remove(model::node_path(id), coordination::kAnyVersion));
  }
}

TEST_F(ListTest, a_bad_record_is_left_out_with_a_warning) {
  run(launcher_.add_node(make_node("small")));
  run(store_.create(model::node_path(""), "not JSON",
                    coordination::CreateMode::persistent_sequential));
  testing::internal::CaptureStderr();
  EXPECT_EQ(nodepool({"list", "--json"}), 0);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("Ignoring the record /nodepool/nodes/0000000001"));
  EXPECT_THAT(out(), HasSubstr("0000000000"));
}

TEST_F(ListTest, requests) {
  launcher_.react(requestor::LauncherDouble::Reaction::ignore);
  create("/nodepool/requests");
  model::NodeRequest request;
  request.requestor = "zuul";
  request.node_types = {"small", "large"};
  request.declined_by = {"pool1"};
  request.relative_priority = 3;
  request.event_id = "e1";
  run(store_.create(model::request_path("300-"), to_record(request),
                    coordination::CreateMode::persistent_sequential));
  request.state = model::RequestState::fulfilled;
  request.nodes = {"0000000007", "0000000008"};
  run(store_.create(model::request_path("100-"), to_record(request),
                    coordination::CreateMode::persistent_sequential));
  EXPECT_EQ(nodepool({"request-list"}), 0);
  EXPECT_EQ(out(),
            "+----------------+----------+-----------+-----------+-------------+-------------------"
            "----+-------------+----------+\n"
            "| Request ID     | Priority | State     | Requestor | Node Types  | Nodes             "
            "    | Declined By | Event ID |\n"
            "+----------------+----------+-----------+-----------+-------------+-------------------"
            "----+-------------+----------+\n"
            "| 100-0000000001 | 3        | fulfilled | zuul      | small,large | "
            "0000000007,0000000008 | pool1       | e1       |\n"
            "| 300-0000000000 | 3        | requested | zuul      | small,large |                   "
            "    | pool1       | e1       |\n"
            "+----------------+----------+-----------+-----------+-------------+-------------------"
            "----+-------------+----------+\n");
  EXPECT_EQ(nodepool({"request-list", "--json"}), 0);
  EXPECT_THAT(out(),
              HasSubstr(R"({"id": "300-0000000000", "relative_priority": 3, "state": )"
                        R"("requested", "requestor": "zuul", "node_types": ["small", )"
                        R"("large"], "nodes": [], "declined_by": ["pool1"], )"
                        R"("event_id": "e1", "provider": null, "tenant": null, "holder": null, )"
                        R"("age": null, "age_seconds": null}])"));
}

TEST_F(ListTest, labels_with_what_there_is_of_each) {
  run(launcher_.add_pool("rack", {"small", "large"}));
  run(launcher_.add_pool("cloud", {"small"}));
  run(launcher_.add_node(make_node("small")));
  model::Node busy = make_node("small");
  busy.allocated_to = "200-0000000000";
  run(launcher_.add_node(busy));
  run(launcher_.add_node(make_node("forgotten")));
  EXPECT_EQ(nodepool({"label-list"}), 0);
  EXPECT_EQ(out(),
            "+-------+----------------------+------+-------+\n"
            "| Label | Pools                | Free | Nodes |\n"
            "+-------+----------------------+------+-------+\n"
            "| large | rack-main            | 0    | 0     |\n"
            "| small | cloud-main,rack-main | 1    | 2     |\n"
            "+-------+----------------------+------+-------+\n");
  EXPECT_EQ(nodepool({"label-list", "--json"}), 0);
  EXPECT_EQ(out(),
            R"([{"label": "large", "pools": ["rack-main"], "free": 0, "nodes": 0}, )"
            R"({"label": "small", "pools": ["cloud-main", "rack-main"], "free": 1, "nodes": 2}])"
            "\n");
}

TEST_F(ListTest, the_records_of_a_provider) {
  run(launcher_.add_node(make_node("small")));
  model::Node unnamed = make_node("small");
  unnamed.external_id = {};
  run(launcher_.add_node(unnamed));
  model::Node other = make_node("small");
  other.provider = "cloud";
  run(launcher_.add_node(other));
  create("/nodepool/images/img/builds/lock");
  create("/nodepool/images/img/builds/b1/providers/rack/images/lock");
  create_upload("/nodepool/images/img/builds/b1/providers/rack/images/0000000002");
  create_upload("/nodepool/images/img/builds/b1/providers/rack/images/0000000001");
  create_upload("/nodepool/images/img/builds/b1/providers/cloud/images/0000000001");
  create("/nodepool/images/img/builds/b2/providers/rack/images");
  EXPECT_EQ(nodepool({"info", "rack"}), 0);
  EXPECT_EQ(out(),
            "ZooKeeper data for provider rack\n"
            "\n"
            "Image data:\n"
            "+------------+----------+-----------------------+\n"
            "| Image Name | Build ID | Upload IDs            |\n"
            "+------------+----------+-----------------------+\n"
            "| img        | b1       | 0000000001,0000000002 |\n"
            "+------------+----------+-----------------------+\n"
            "\n"
            "Nodes:\n"
            "+------------+-----------+\n"
            "| ID         | Server ID |\n"
            "+------------+-----------+\n"
            "| 0000000000 | host1     |\n"
            "| 0000000001 | None      |\n"
            "+------------+-----------+\n");
  EXPECT_EQ(nodepool({"info", "rack", "--json"}), 0);
  EXPECT_EQ(out(), R"({"images": [{"image": "img", "build_id": "b1", )"
                   R"("upload_ids": ["0000000001", "0000000002"]}], )"
                   R"("nodes": [{"id": "0000000000", "server_id": "host1"}, )"
                   R"({"id": "0000000001", "server_id": null}]})"
                   "\n");
}

TEST_F(ListTest, erasing_asks_first) {
  const std::string id = run(launcher_.add_node(make_node("small")));
  for (const char* answer : {"\n", "n\n", "yes\n", ""}) {
    input_ = answer;
    EXPECT_EQ(nodepool({"erase", "rack"}), 0);
    EXPECT_EQ(out(),
              "\nWARNING! This action is not reversible!\n"
              "Erase ZooKeeper data for provider rack? [N/y] Aborting. No data erased.\n");
  }
  EXPECT_TRUE(run(store_.exists(model::node_path(id))));
  input_ = "y\n";
  EXPECT_EQ(nodepool({"erase", "rack"}), 0);
  EXPECT_EQ(out(),
            "\nWARNING! This action is not reversible!\n"
            "Erase ZooKeeper data for provider rack? [N/y] "
            "Erasing build data for rack...\nErasing node data for rack...\n");
  EXPECT_FALSE(run(store_.exists(model::node_path(id))));
}

TEST_F(ListTest, erasing_by_force_takes_locked_nodes_and_leaves_other_providers) {
  const std::string locked = run(launcher_.add_node(make_node("small")));
  coordination::Lock lock(store_, random_, model::node_lock_path(locked));
  EXPECT_TRUE(run(lock.try_acquire()));
  model::Node other = make_node("small");
  other.provider = "cloud";
  const std::string kept = run(launcher_.add_node(other));
  create("/nodepool/images/img/builds/b1/providers/rack/images/0000000001");
  create("/nodepool/images/img/builds/b1/providers/cloud/images/0000000001");
  EXPECT_EQ(nodepool({"erase", "rack", "--force"}), 0);
  EXPECT_EQ(out(), "Erasing build data for rack...\nErasing node data for rack...\n");
  EXPECT_FALSE(run(store_.exists(model::node_path(locked))));
  EXPECT_TRUE(run(store_.exists(model::node_path(kept))));
  EXPECT_FALSE(run(store_.exists("/nodepool/images/img/builds/b1/providers/rack")));
  EXPECT_TRUE(run(store_.exists("/nodepool/images/img/builds/b1/providers/cloud")));
}

}  // namespace
}  // namespace nodepool::cli
