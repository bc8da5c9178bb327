#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "config/load.h"
#include "config/validate.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::drivers {

// Configurations as their users write them, and what is said of them.
class ProviderConfigTest : public testing::Test {
 protected:
  explicit ProviderConfigTest(config::DriverSchemas drivers) : drivers_(std::move(drivers)) {}

  // Throws ConfigError.
  config::Config read(const std::string& text) const {
    config::LoadOptions options;
    options.path = directory_.write("nodepool.yaml", text);
    options.drivers = drivers_;
    return config::load(options).config;
  }

  // What `load` refuses, or "accepted".
  template <typename Load>
  static std::string error_of(Load load) {
    try {
      load();
    } catch (const config::ConfigError& error) {
      return error.what();
    }
    return "accepted";
  }

  // What config-validate says of the text, in the file "f".
  std::vector<std::string> problems(const std::string& text) const {
    std::vector<std::string> lines;
    for (const auto& problem : config::validate(text, "f", {}, drivers_)) {
      lines.push_back(config::to_string(problem));
    }
    return lines;
  }

  test_support::TemporaryDirectory directory_;

 private:
  config::DriverSchemas drivers_;
};

}  // namespace nodepool::drivers
