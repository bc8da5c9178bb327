#pragma once

#include <cstddef>

#include <CLI/CLI.hpp>

#include "program/options.h"

// How the daemons are called and what they take: for themselves, and for their manual pages.
namespace nodepool {

inline program::Program launcher_program() {
  return {.name = "nodepool-launcher",
          .log_name = "nodepool",
          .pid_file = "/var/run/nodepool/nodepool.pid"};
}

// What the builder's command line says beside what all daemons have.
struct BuilderChoices {
  std::size_t build_workers = 1;
  std::size_t upload_workers = 4;
  bool fake = false;
};

// `choices` is filled in, and outlives the program.
inline program::Program builder_program(BuilderChoices& choices) {
  const auto add_options = [&choices](CLI::App& app) {
    app.add_option("--build-workers", choices.build_workers, "number of images to build at a time")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    app.add_option("--upload-workers", choices.upload_workers,
                   "number of images to upload at a time")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    app.add_flag("--fake", choices.fake, "make files that are no images, for trials");
  };
  return {.name = "nodepool-builder",
          .log_name = "nodepool-builder",
          .pid_file = "/var/run/nodepool/nodepool-builder.pid",
          .add_options = add_options};
}

}  // namespace nodepool
