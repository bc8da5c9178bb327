// What all listings have in common: forms, filters, what a terminal gets.

#include <gmock/gmock.h>

#include "coordination/tree.h"
#include "model/lease.h"
#include "model/paths.h"
#include "tests/cli/cli_test.h"

namespace nodepool::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ListingFormsTest : public CliTest {
 protected:
  ListingFormsTest() {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
    launcher_.react(requestor::LauncherDouble::Reaction::ignore);
    run(launcher_.add_node(make_node("small")));
    model::Node leased = make_node("large");
    leased.state = model::NodeState::in_use;
    leased.provider = "cloud";
    leased.tenant_name = "tenant-a";
    leased.user_data = model::lease_user_data({"200-0000000003", 1'700'003'600, "nodepool:ada@b1"});
    run(launcher_.add_node(leased));
  }

  std::string listed(std::vector<std::string> arguments) {
    EXPECT_EQ(nodepool(std::move(arguments)), 0) << err();
    return out();
  }
};

TEST_F(ListingFormsTest, names_are_one_id_a_line) {
  EXPECT_EQ(listed({"list", "-o", "name"}), "0000000000\n0000000001\n");
  EXPECT_EQ(listed({"list", "-o", "name", "--label", "huge"}), "");
  run(launcher_.add_pool("rack", {"small", "large"}));
  EXPECT_EQ(listed({"label-list", "-o", "name"}), "large\nsmall\n");
}

TEST_F(ListingFormsTest, an_upload_is_named_by_all_that_it_is_known_by) {
  const std::string path = "/nodepool/images/deb/builds/b1/providers/rack/images/0000000001";
  run(coordination::ensure_path(store_, path));
  run(store_.set(path, R"({"state": "ready"})", coordination::kAnyVersion));
  EXPECT_EQ(listed({"image-list", "-o", "name"}), "b1/0000000001/rack/deb\n");
}

TEST_F(ListingFormsTest, wide_has_all_columns) {
  const std::string wide = listed({"list", "-o", "wide"});
  EXPECT_THAT(wide, HasSubstr("| User Data "));
  EXPECT_THAT(wide, HasSubstr("| Driver Data | Tenant   | Requestor | Lease          | Expires"));
  EXPECT_THAT(wide, HasSubstr("| tenant-a |           | 200-0000000003 | 2023-11-14 23:13:20.000 "
                              "+0000 |\n"));
  EXPECT_THAT(listed({"request-list", "-o", "wide"}),
              HasSubstr("| Provider | Tenant | Holder | Age |\n"));
  EXPECT_THAT(listed({"dib-image-list", "-o", "wide"}),
              HasSubstr("| Build State | Log | Problem |"));
}

TEST_F(ListingFormsTest, without_headers_there_are_rows_alone) {
  EXPECT_EQ(listed({"list", "--no-headers"}),
            "0000000000  rack   small  host1  192.0.2.1  -  ready   00:00:01:05  unlocked\n"
            "0000000001  cloud  large  host1  192.0.2.1  -  in-use  00:00:01:05  unlocked\n");
  EXPECT_EQ(listed({"label-list", "--no-headers"}), "");
}

TEST_F(ListingFormsTest, filters_leave_what_has_one_of_the_values) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--label", "small"}, "0000000000\n"},
      {{"--label", "small", "--label", "large"}, "0000000000\n0000000001\n"},
      {{"--label", "small", "--state", "in-use"}, ""},
      {{"--state", "in-use"}, "0000000001\n"},
      {{"--provider", "rack"}, "0000000000\n"},
      {{"--tenant", "tenant-a"}, "0000000001\n"},
      {{"--tenant", "null"}, ""},
      {{"--label", "smal"}, ""}};
  for (const auto& [filter, expected] : cases) {
    std::vector<std::string> arguments = {"list", "-o", "name"};
    arguments.insert(arguments.end(), filter.begin(), filter.end());
    EXPECT_EQ(listed(arguments), expected) << testing::PrintToString(filter);
  }
  // What is not shown can be filtered by, and stays unshown.
  EXPECT_THAT(listed({"list", "--tenant", "tenant-a"}), Not(HasSubstr("Tenant")));
}

TEST_F(ListingFormsTest, requests_are_filtered_by_their_labels) {
  run(coordination::ensure_path(store_, "/nodepool/requests"));
  model::NodeRequest request;
  request.node_types = {"small", "large"};
  request.tenant_name = "tenant-a";
  run(store_.create(model::request_path("300-"), to_record(request),
                    coordination::CreateMode::persistent_sequential));
  EXPECT_EQ(listed({"request-list", "-o", "name", "--label", "large"}), "300-0000000000\n");
  EXPECT_EQ(listed({"request-list", "-o", "name", "--label", "huge"}), "");
  EXPECT_EQ(listed({"request-list", "-o", "name", "--tenant", "tenant-a", "--state", "requested"}),
            "300-0000000000\n");
}

TEST_F(ListingFormsTest, a_terminal_gets_colours_and_what_fits) {
  out_is_terminal_ = true;
  terminal_width_ = 70;
  const std::string listing = listed({"list"});
  EXPECT_THAT(listing, HasSubstr("| \x1b[32mready\x1b[0m  |"));
  EXPECT_THAT(listing, HasSubstr("| 0000000001 |"));
  EXPECT_THAT(listing, HasSubstr("…"));
  const std::string rule = listing.substr(0, listing.find('\n'));
  EXPECT_LE(rule.size(), 100U);
  terminal_width_ = 1000;
  EXPECT_THAT(listed({"list"}), Not(HasSubstr("…")));
  EXPECT_THAT(listed({"list", "--json"}), StartsWith("[{\"id\": \"0000000000\""));
}

TEST_F(ListingFormsTest, a_terminal_can_get_plain_tables) {
  const std::string plain = listed({"list"});
  out_is_terminal_ = true;
  terminal_width_ = 70;
  environment_.emplace_back("NO_COLOR", "1");
  EXPECT_THAT(listed({"list"}), AllOf(Not(HasSubstr("\x1b")), HasSubstr("…")));
  environment_.back() = {"NO_COLOR", ""};
  EXPECT_THAT(listed({"list"}), AllOf(HasSubstr("\x1b"), HasSubstr("…")));
  environment_.back() = {"TERM", "dumb"};
  EXPECT_EQ(listed({"list"}), plain);
}

TEST_F(ListingFormsTest, a_tab_of_a_record_is_a_blank_on_a_terminal) {
  run(launcher_.add_node(make_node("tab\there")));
  EXPECT_THAT(listed({"list", "-o", "wide"}), HasSubstr("| tab\there |"));
  out_is_terminal_ = true;
  terminal_width_ = 300;
  EXPECT_THAT(listed({"list"}), HasSubstr("| tab here |"));
  EXPECT_THAT(listed({"list", "-o", "wide"}), HasSubstr("| tab here |"));
}

TEST_F(ListingFormsTest, terminal_control_characters_of_a_record_are_escaped) {
  out_is_terminal_ = true;
  model::Node node = make_node("evil\x1b[2J");
  run(launcher_.add_node(node));
  EXPECT_THAT(listed({"list"}), HasSubstr("evil\\x1b[2J"));
}

}  // namespace
}  // namespace nodepool::cli
