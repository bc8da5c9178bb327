#include "cli/arguments.h"

#include <gmock/gmock.h>

#include <limits>
#include <sstream>

#include "cli/declaration.h"
#include "config/duration.h"

namespace nodepool::cli {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

class ArgumentsTest : public testing::Test {
 protected:
  std::variant<Arguments, Exit> parse(std::vector<std::string> arguments) {
    out_.str({});
    err_.str({});
    return parse_arguments(std::move(arguments), "12.0.0", out_, err_);
  }
  Arguments parsed(std::vector<std::string> arguments) {
    auto result = parse(std::move(arguments));
    EXPECT_TRUE(std::holds_alternative<Arguments>(result)) << err_.str();
    return std::get<Arguments>(std::move(result));
  }
  template <typename Kind>
  Kind command(std::vector<std::string> arguments) {
    return std::get<Kind>(parsed(std::move(arguments)).command);
  }
  int status(std::vector<std::string> arguments) {
    auto result = parse(std::move(arguments));
    const Exit* exit = std::get_if<Exit>(&result);
    return exit == nullptr ? -1 : exit->status;
  }

  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(ArgumentsTest, the_version_is_printed) {
  for (const auto& given :
       {std::vector<std::string>{"--version"}, {"-V"}, {"list", "-V"}, {"--vers"}}) {
    EXPECT_EQ(status(given), 0);
    EXPECT_EQ(out_.str(), "Nodepool version: 12.0.0\n");
  }
}

TEST_F(ArgumentsTest, the_declaration_says_how_the_store_is_opened) {
  EXPECT_EQ(parsed({"list"}).store_use, StoreUse::read);
  EXPECT_EQ(parsed({"list", "--watch"}).store_use, StoreUse::write);  // reading has no watches
  EXPECT_EQ(parsed({"status"}).store_use, StoreUse::read);
  EXPECT_EQ(parsed({"explain", "debian"}).store_use, StoreUse::read);
  EXPECT_EQ(parsed({"ssh", "0000000001"}).store_use, StoreUse::read);
  EXPECT_EQ(parsed({"export-image-data", "file"}).store_use, StoreUse::read);
  EXPECT_EQ(parsed({"config-validate", "--online"}).store_use, StoreUse::read);
  EXPECT_EQ(parsed({"import-image-data", "file"}).store_use, StoreUse::create);
  EXPECT_EQ(parsed({"delete", "0000000001"}).store_use, StoreUse::write);
}

TEST_F(ArgumentsTest, help_is_printed) {
  EXPECT_EQ(status({"--help"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("config-validate"));
  EXPECT_EQ(status({"run", "-h"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("Usage: nodepool run [OPTIONS] LABEL... -- COMMAND...\n"));
  EXPECT_EQ(err_.str(), "");
}

TEST_F(ArgumentsTest, help_describes_a_command) {
  EXPECT_EQ(status({"help"}), 0);
  const std::string all = out_.str();
  EXPECT_EQ(status({"--help"}), 0);
  EXPECT_EQ(out_.str(), all);
  EXPECT_THAT(all, HasSubstr("\nImages:\n  dib-image-list          List image builds\n"));
  EXPECT_EQ(status({"help", "hold"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("Usage: nodepool hold [OPTIONS] ID...\n\nArguments:\n"));
  EXPECT_EQ(status({"help", "store", "copy"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("Usage: nodepool store copy [OPTIONS] FROM TO\n"));
  EXPECT_EQ(status({"help", "hodl"}), 2);
  EXPECT_THAT(err_.str(),
              HasSubstr("nodepool: error: unknown command 'hodl'; did you mean `hold`?"));
}

TEST_F(ArgumentsTest, every_command_has_help) {
  for (const Declaration& declaration : declarations()) {
    std::vector<std::string> given = {"help"};
    for (std::size_t begin = 0; begin <= declaration.name.size();) {
      const std::size_t end = std::min(declaration.name.find(' ', begin), declaration.name.size());
      given.push_back(declaration.name.substr(begin, end - begin));
      begin = end + 1;
    }
    EXPECT_EQ(status(given), 0) << declaration.name;
    EXPECT_THAT(out_.str(), HasSubstr("Usage: nodepool ")) << declaration.name;
  }
}

TEST_F(ArgumentsTest, a_misspelled_command_gets_a_suggestion) {
  EXPECT_EQ(status({"request-lits"}), 2);
  EXPECT_THAT(err_.str(),
              HasSubstr("unknown command 'request-lits'; did you mean `request-list`?"));
  EXPECT_EQ(status({"list", "--detial"}), 2);
  EXPECT_THAT(err_.str(),
              StartsWith("Usage: nodepool list [OPTIONS]\nnodepool list: error: unknown "
                         "option --detial; did you mean `--detail`?\n"));
  EXPECT_EQ(status({"store", "cpy", "a", "b"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("unknown command 'store cpy'; did you mean `store copy`?"));
  EXPECT_EQ(status({"list", "--no"}), -1);
  EXPECT_EQ(status({"list", "--l", "x"}), -1);
  EXPECT_EQ(status({"request", "a", "--l"}), 2);
}

TEST_F(ArgumentsTest, a_label_may_be_called_as_a_command) {
  EXPECT_THAT(command<RequestNodes>({"request", "list", "help", "run"}).labels,
              ElementsAre("list", "help", "run"));
}

TEST_F(ArgumentsTest, listings_have_forms_and_filters) {
  const Listing listing = command<ListNodes>({"list", "-o", "name", "--no-headers", "--label", "a",
                                              "--state=ready", "--label", "b", "--watch"})
                              .listing;
  EXPECT_EQ(listing.format, report::Format::names);
  EXPECT_FALSE(listing.headers);
  EXPECT_TRUE(listing.watch);
  EXPECT_THAT(listing.filters, ElementsAre(Pair("label", ElementsAre("a", "b")),
                                           Pair("state", ElementsAre("ready"))));
  EXPECT_EQ(status({"list", "-o", "xml"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("'xml' is not one of table, wide, json, yaml, name"));
  EXPECT_EQ(status({"history", "1", "-o", "name"}), 2);
  EXPECT_EQ(status({"list", "--state", "redy"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("'redy' is not one of init, building, testing, ready, in-use"));
  EXPECT_EQ(status({"request-list", "--state", "ready"}), 2);
  EXPECT_EQ(status({"dib-image-list", "--state", "uploading"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("'uploading' is not one of building, ready, deleting, failed, "
                                    "paused"));
  EXPECT_EQ(status({"image-list", "--state", "paused"}), 2);
  EXPECT_EQ(status({"label-list", "--state", "ready"}), 2);
}

TEST_F(ArgumentsTest, without_a_command_help_is_printed_but_it_is_an_error) {
  EXPECT_EQ(status({}), 1);
  EXPECT_THAT(out_.str(), HasSubstr("config-validate"));
  EXPECT_EQ(err_.str(), "");
}

TEST_F(ArgumentsTest, mistakes_are_explained_with_the_usage) {
  EXPECT_EQ(status({"frobnicate"}), 2);
  EXPECT_THAT(err_.str(), StartsWith("Usage: nodepool [OPTIONS]"));
  EXPECT_THAT(err_.str(), HasSubstr("nodepool: error: "));
  EXPECT_THAT(err_.str(), HasSubstr("frobnicate"));
  EXPECT_EQ(status({"hold"}), 2);
  EXPECT_THAT(err_.str(),
              StartsWith("Usage: nodepool hold [OPTIONS] ID...\nnodepool hold: error: "));
  EXPECT_EQ(status({"info", "1", "2"}), 2);
  EXPECT_EQ(status({"list", "--nonsense"}), 2);
  EXPECT_EQ(status({"-c"}), 2);
  EXPECT_EQ(out_.str(), "");
}

TEST_F(ArgumentsTest, common_options_come_before_the_command_or_after_it) {
  const Arguments arguments =
      parsed({"-c", "a.yaml", "-s", "b.yaml", "-l", "c.yaml", "--debug", "list"});
  EXPECT_EQ(arguments.config, "a.yaml");
  EXPECT_EQ(arguments.secure, "b.yaml");
  EXPECT_EQ(arguments.log_config, "c.yaml");
  EXPECT_TRUE(arguments.debug);
  const Arguments after = parsed({"-c", "x", "list", "-c", "a.yaml", "-o", "json", "-s", "b.yaml",
                                  "--logging-config", "c.yaml", "-d"});
  EXPECT_EQ(after.config, "a.yaml");
  EXPECT_EQ(after.secure, "b.yaml");
  EXPECT_EQ(after.log_config, "c.yaml");
  EXPECT_TRUE(after.debug);
  EXPECT_EQ(std::get<ListNodes>(after.command).listing.format, report::Format::json);
  EXPECT_EQ(parsed({"run", "small", "-c", "a.yaml", "--", "x", "-c", "y"}).config, "a.yaml");
  EXPECT_EQ(parsed({"store", "copy", "a", "b", "-c", "a.yaml"}).config, "a.yaml");
  const Arguments defaults = parsed({"config-validate"});
  EXPECT_EQ(defaults.config, "/etc/nodepool/nodepool.yaml");
  EXPECT_FALSE(defaults.secure);
  EXPECT_FALSE(defaults.debug);
}

TEST_F(ArgumentsTest, long_options_can_be_abbreviated) {
  EXPECT_TRUE(parsed({"--deb", "list"}).debug);
  EXPECT_TRUE(command<ListNodes>({"list", "--det"}).detail);
  EXPECT_TRUE(command<ListBuilds>({"dib-image-list", "--det"}).detail);
  EXPECT_TRUE(command<ListUploads>({"image-list", "--det"}).detail);
  EXPECT_TRUE(command<DeleteNodes>({"-c", "x", "delete", "1", "--no"}).now);
  EXPECT_EQ(command<RequestNodes>({"request", "a", "--le=3h"}).lease, hours(3));
  EXPECT_EQ(command<RunCommand>({"run", "--t", "5", "a", "--", "x", "--det"}).timeout, seconds(5));
  EXPECT_EQ(status({"list", "--x"}), 2);
}

TEST_F(ArgumentsTest, a_request_names_labels_and_times) {
  const auto request = command<RequestNodes>(
      {"request", "small", "large", "small", "--lease", "1d", "--timeout", "90", "--json"});
  EXPECT_THAT(request.labels, ElementsAre("small", "large", "small"));
  EXPECT_EQ(request.lease, hours(24));
  EXPECT_EQ(request.timeout, seconds(90));
  EXPECT_TRUE(request.json);
  EXPECT_EQ(command<RequestNodes>({"request", "a"}).lease, std::nullopt);
  EXPECT_EQ(command<RequestNodes>({"request", "a"}).timeout, minutes(10));
  EXPECT_EQ(status({"request"}), 2);
  EXPECT_EQ(status({"request", "a", "--lease", "soon"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("'soon' is not a duration such as 90, 30s, 10m, 2h or 1d"));
}

TEST_F(ArgumentsTest, what_follows_the_dashes_is_the_command_to_run) {
  const auto run =
      command<RunCommand>({"run", "small", "large", "--", "sh", "-c", "ls -- x", "--"});
  EXPECT_THAT(run.labels, ElementsAre("small", "large"));
  EXPECT_THAT(run.command, ElementsAre("sh", "-c", "ls -- x", "--"));
  EXPECT_EQ(status({"run", "small"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("COMMAND"));
  EXPECT_EQ(status({"run", "small", "--"}), 2);
  EXPECT_EQ(status({"run", "--", "ls"}), 2);
}

TEST_F(ArgumentsTest, several_leases_can_be_released) {
  EXPECT_THAT(command<ReleaseNodes>({"release", "200-0000000000", "0000000001"}).ids,
              ElementsAre("200-0000000000", "0000000001"));
  EXPECT_EQ(command<RenewLeases>({"renew", "200-0000000000", "--lease", "30m"}).duration,
            minutes(30));
}

TEST(DurationTest, is_a_century_at_most) {
  constexpr auto kCentury = std::chrono::days(36525);
  EXPECT_EQ(config::duration_of(90), seconds(90));
  EXPECT_EQ(config::duration_of(9'999'999'999), kCentury);
  EXPECT_EQ(config::duration_of(std::numeric_limits<std::int64_t>::max()), kCentury);
  EXPECT_EQ(config::duration_of(-90), seconds(-90));
  EXPECT_EQ(config::duration_of(std::numeric_limits<std::int64_t>::min()), -kCentury);
}

TEST(DurationTest, has_a_unit_or_is_in_seconds) {
  EXPECT_EQ(config::parse_duration("90"), seconds(90));
  EXPECT_EQ(config::parse_duration("30s"), seconds(30));
  EXPECT_EQ(config::parse_duration("10m"), minutes(10));
  EXPECT_EQ(config::parse_duration("2h"), hours(2));
  EXPECT_EQ(config::parse_duration("1d"), hours(24));
  for (const char* text : {"1s", "90s", "90m", "36h", "2d"}) {
    EXPECT_EQ(config::duration_words(*config::parse_duration(text)), text);
  }
  EXPECT_EQ(config::duration_words(seconds(7200)), "2h");
  for (const char* text : {"", "h", "0", "-5", "1.5h", "2 h", "2hh", "99999999999999999999",
                           "9223372036854775807d", "40000d"}) {
    EXPECT_EQ(config::parse_duration(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace nodepool::cli
