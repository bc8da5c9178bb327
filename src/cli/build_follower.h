#pragma once

#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "async/event.h"
#include "cli/session.h"
#include "model/component_table.h"
#include "model/image_table.h"

namespace nodepool::cli {

// Follows the next build of an image: prints its log while it is written, if the builder is on this
// host, and the result of the build.
class BuildFollower {
 public:
  // Existing builds are not followed. Unless `wait` is set, run() fails if the image is paused or
  // no builder runs. The references outlive this.
  BuildFollower(Session& session, model::ImageTable& images, model::ComponentTable& components,
                std::string image, bool wait);

  // Returns when the build has ended: 0 if it is ready, otherwise 1. Throws Cancelled, and
  // std::runtime_error if no builder makes the build.
  Task<int> run();

 private:
  // Why the image is not built; empty: no reason is known.
  std::string obstacle() const;
  bool has_builder() const;
  Task<std::string> next_build();
  Task<> wait_for_end(std::string id);
  Task<> follow(std::string id);
  Task<> watch_log();
  void show_new_output();

  Session& session_;
  const model::ImageTable& images_;
  const model::ComponentTable& components_;
  std::string image_;
  bool wait_;
  std::set<std::string> known_;
  std::filesystem::path log_;
  std::size_t shown_ = 0;  // bytes of the log
  async::Event changed_{"the image, or the log of its build, has changed"};
  std::vector<coordination::Subscription> subscriptions_;
};

}  // namespace nodepool::cli
