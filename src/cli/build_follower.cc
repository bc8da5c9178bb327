#include "cli/build_follower.h"

#include <algorithm>
#include <fstream>
#include <ostream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "async/file_watch.h"
#include "async/finally.h"
#include "async/task_scope.h"

namespace nodepool::cli {

namespace {

using model::BuildState;
using model::ImageBuild;

// The result of a build, as the end of a sentence; null: its record has been deleted.
std::string result_text(const ImageBuild* build) {
  if (build == nullptr) return "has been deleted";
  if (build->failure) return "failed: " + *build->failure;
  return "is " + std::string(to_string(build->state));
}

}  // namespace

BuildFollower::BuildFollower(Session& session, model::ImageTable& images,
                             model::ComponentTable& components, std::string image, bool wait)
    : session_(session),
      images_(images),
      components_(components),
      image_(std::move(image)),
      wait_(wait) {
  subscriptions_.push_back(images.observe([this](const std::string& changed) {
    if (changed == image_) changed_.set();
  }));
  subscriptions_.push_back(
      components.observe([this](const model::ComponentTable::Change&) { changed_.set(); }));
  for (const ImageBuild* build : images_.builds_of(image_)) known_.insert(build->id);
}

bool BuildFollower::has_builder() const {
  return std::ranges::any_of(components_.all(), [](const auto& entry) {
    return entry.second.kind == model::Component::Kind::builder;
  });
}

std::string BuildFollower::obstacle() const {
  if (images_.is_paused(image_)) return "Image " + image_ + " is paused (see image-unpause)";
  if (!has_builder()) return "No builder is running";
  return {};
}

Task<int> BuildFollower::run() {
  std::ostream& err = session_.context().err;
  if (wait_ && !obstacle().empty()) err << obstacle() << ", waiting\n";
  const std::string id = co_await next_build();
  log_ = std::filesystem::path(session_.config().build_log_dir) / model::build_log_name(image_, id);
  const ImageBuild* build = images_.find_build(image_, id);
  err << "Build " << image_ << "-" << id << " by "
      << (build == nullptr ? "" : build->builder.value_or("an unknown builder")) << ", log "
      << log_.string() << std::endl;
  co_await wait_for_end(id);
  const ImageBuild* ended = images_.find_build(image_, id);
  if (shown_ == 0) err << "The log is not on this host, or empty\n";
  const bool ready = ended != nullptr && ended->state == BuildState::ready;
  err << "Build " << image_ << "-" << id << " " << result_text(ended) << std::endl;
  co_return ready ? 0 : 1;
}

Task<std::string> BuildFollower::next_build() {
  while (true) {
    for (const ImageBuild* build : images_.builds_of(image_)) {
      if (!known_.contains(build->id)) co_return build->id;
    }
    if (!wait_ && !obstacle().empty()) {
      throw std::runtime_error(obstacle() + "; the build starts when that changes");
    }
    co_await changed_.wait();
  }
}

Task<> BuildFollower::wait_for_end(std::string id) {
  async::TaskScope scope(session_.runtime(), [](const std::string&, const std::string&) {});
  scope.spawn("log of a build", watch_log());
  const auto end_watch = [&scope] { return scope.stop(); };
  Task<> following = follow(std::move(id));
  co_await async::finally(std::move(following), end_watch);
  show_new_output();
}

Task<> BuildFollower::follow(std::string id) {
  while (true) {
    show_new_output();
    const ImageBuild* build = images_.find_build(image_, id);
    if (build == nullptr || build->state != BuildState::building) co_return;
    if (!wait_ && !has_builder()) {
      throw std::runtime_error("No builder is running any more: build " + image_ + "-" + id +
                               " was interrupted");
    }
    co_await changed_.wait();
  }
}

Task<> BuildFollower::watch_log() {
  async::FileWatch watch(session_.runtime().executor, {log_}, async::FileWatch::Sees::every_write);
  while (true) {
    co_await watch.changed();
    changed_.set();
  }
}

void BuildFollower::show_new_output() {
  std::ifstream file(log_, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(shown_));
  std::vector<char> block(1 << 16);
  while (file) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    session_.context().out.write(block.data(), file.gcount());
    shown_ += static_cast<std::size_t>(file.gcount());
  }
  session_.context().out.flush();
}

}  // namespace nodepool::cli
