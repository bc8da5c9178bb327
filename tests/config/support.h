#pragma once

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "config/load.h"
#include "config/nodepool_schema.h"
#include "config/schema.h"
#include "config/validate.h"

// Shared helpers of these tests.
namespace nodepool::config {

// A driver schema like the static driver's, and a fake one.
inline const Schema& rack_schema() {
  static const Schema node{
      .description = "A host.",
      .fields =
          {
              {.key = "name",
               .type = string(),
               .required = Required::always,
               .description = "Host name or address."},
              {.key = "labels",
               .type = one_of({list_of(label_name()), label_names()}),
               .required = Required::always,
               .description = "What the host serves."},
              {.key = "timeout",
               .type = integer(),
               .default_value = "5",
               .unit = "seconds",
               .description = "How long to wait for the host."},
              {.key = "connection-type",
               .type = word({"ssh", "winrm"}),
               .default_value = "ssh",
               .description = "How to connect."},
              {.key = "host-key",
               .type = one_of({string(), list_of(string())}),
               .default_note = "none",
               .description = "Expected keys."},
              {.key = "ssh-port",
               .type = integer(),
               .accepted = Accepted::by_daemons,
               .description = "Port.",
               .deprecated = "use `connection-port`"},
              {.key = "connection-port", .type = integer(), .description = "Port."},
          },
      .rules = {{Rule::Kind::at_most_one, {"ssh-port", "connection-port"}}}};
  static const Schema pool{.description = "A group of hosts.",
                           .fields = joined(common_pool_fields(), {{.key = "nodes",
                                                                    .type = list_of(section(node)),
                                                                    .required = Required::strictly,
                                                                    .description = "The hosts."}})};
  static const Schema schema{
      .description = "Hosts that exist already.",
      .fields = {{.key = "pools", .type = list_of(section(pool)), .description = "Its pools."},
                 {.key = "diskimages",
                  .type = list_of(section({.fields = {{.key = "name",
                                                       .type = diskimage_name(),
                                                       .required = Required::always,
                                                       .description = "Image."}}})),
                  .description = "Its images."}}};
  return schema;
}

inline DriverSchemas test_drivers() {
  static const Schema open{.description = "Takes anything.",
                           .other_keys = OtherKeys{.type = anything(), .description = "Anything."}};
  return {.schemas = {{"static", &rack_schema()}, {"fake", &open}, {"openstack", &open}}};
}

inline std::vector<std::string> lines(const std::vector<Problem>& problems) {
  std::vector<std::string> texts;
  for (const Problem& problem : problems) texts.push_back(to_string(problem));
  return texts;
}

// The results of the strict check of a text, as lines that begin with "f:".
inline std::vector<std::string> strict(std::string_view text, const Environment& environment = {}) {
  return lines(validate(text, "f", environment, test_drivers()));
}

// Files that are removed after the test.
class Files {
 public:
  Files() : directory_(std::filesystem::temp_directory_path() / unique_name()) {
    std::filesystem::create_directories(directory_);
  }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  ~Files() { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& name) const { return directory_ / name; }

  std::string write(const std::string& name, std::string_view text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

 private:
  static std::string unique_name() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    return std::string("nodepool-config-") + test->test_suite_name() + "-" + test->name() + "-" +
           std::to_string(getpid());
  }

  std::filesystem::path directory_;
};

// The result of load() for a text and optionally a secure file.
inline LoadResult load_text(std::string_view text,
                            const std::optional<std::string>& secure = std::nullopt,
                            const Environment& environment = {}) {
  const Files files;
  LoadOptions options{.path = files.write("nodepool.yaml", text),
                      .environment = environment,
                      .drivers = test_drivers()};
  if (secure) options.secure_path = files.write("secure.conf", *secure);
  return load(options);
}

// The error of load() without the directory, e.g. "nodepool.yaml:1:2: labels[0]: ..."; empty if it
// succeeds.
inline std::string refusal(std::string_view text,
                           const std::optional<std::string>& secure = std::nullopt) {
  try {
    load_text(text, secure);
  } catch (const ConfigError& error) {
    const std::string what = error.what();
    return what.substr(error.problem().file.rfind('/') + 1);
  }
  return {};
}

}  // namespace nodepool::config
