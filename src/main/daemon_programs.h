#pragma once

#include <cstddef>

#include <CLI/CLI.hpp>

#include "program/options.h"

// The names and options of the daemons, also for their manual pages.
namespace nodepool {

inline program::Program launcher_program() {
  return {.name = "nodepool-launcher",
          .log_name = "nodepool",
          .pid_file = "/var/run/nodepool/nodepool.pid"};
}

// The builder's own options.
struct BuilderChoices {
  std::size_t build_workers = 1;
  std::size_t upload_workers = 4;
  bool fake = false;
};

// Parsing writes `choices`, which outlives the program.
inline program::Program builder_program(BuilderChoices& choices) {
  const auto add_options = [&choices](CLI::App& app) {
    app.add_option("--build-workers", choices.build_workers, "Number of images to build at a time")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    app.add_option("--upload-workers", choices.upload_workers,
                   "Number of images to upload at a time")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    app.add_flag("--fake", choices.fake, "Create dummy files instead of images, for tests");
  };
  return {.name = "nodepool-builder",
          .log_name = "nodepool-builder",
          .pid_file = "/var/run/nodepool/nodepool-builder.pid",
          .add_options = add_options};
}

}  // namespace nodepool
