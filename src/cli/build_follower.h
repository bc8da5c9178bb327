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

// Shows what the next build of an image writes, as it is written, where the builder is on this
// host; elsewhere it only tells how the build ends, and why if it fails.
class BuildFollower {
 public:
  // Builds that there are already are not followed. Unless it is to `wait`, it ends when there is
  // nobody who would make one. All outlive this.
  BuildFollower(Session& session, model::ImageTable& images, model::ComponentTable& components,
                std::string image, bool wait);

  // Returns when the build has ended: 0 if it is ready, otherwise 1. Throws Cancelled, and
  // std::runtime_error if it is not worth waiting for.
  Task<int> run();

 private:
  // Why nothing happens, for a person; empty: nothing is known that would keep it from happening.
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
