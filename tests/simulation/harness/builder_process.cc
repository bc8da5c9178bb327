#include "tests/simulation/harness/builder_process.h"

#include <utility>

#include "coordination/path.h"
#include "coordination/tree.h"
#include "model/image_build.h"
#include "model/image_paths.h"
#include "model/node.h"
#include "tests/simulation/harness/chance.h"
#include "tests/simulation/harness/topology.h"

namespace nodepool::simulation {

namespace {

using coordination::CreateMode;
using coordination::StoreError;
using model::ImageUpload;
using model::UploadState;

constexpr auto kUploadRetryPause = std::chrono::seconds(5);

// All uploads are of one build: launchers look at uploads only.
constexpr auto kBuildId = "0123456789abcdef0123456789abcdef";

}  // namespace

BuilderProcess::BuilderProcess(World& world, async::Random& seeds, Clouds& clouds,
                               std::vector<std::string> providers, coordination::FaultPlan plan)
    : Process(world, seeds, "builder", std::move(plan)),
      clouds_(clouds),
      providers_(std::move(providers)),
      scope_(runtime_, [this](const std::string& name, const std::string& error) {
        world_.journal.violation(name + ": " + error);
      }) {
  scope_.spawn("builder", run());
}

void BuilderProcess::finish() {
  finishing_ = true;
  finish_.set();
}

Task<> BuilderProcess::run() {
  bool settled = false;
  while (!settled) {
    bool failed = false;
    const bool is_last_round = finishing_;
    for (const std::string& provider : providers_) {
      try {
        co_await look_after(std::string(kBuiltLabel), provider);
      } catch (const StoreError& error) {
        note(error.what());
        failed = true;
      }
    }
    settled = is_last_round && !failed;
    const async::Duration pause = is_last_round ? async::Duration(kUploadRetryPause)
                                                : seconds_between(runtime_.random, 5, 90);
    if (!settled) {
      co_await finish_.wait_until(runtime_.clock, runtime_.clock.now() + pause);
    }
  }
}

Task<> BuilderProcess::look_after(std::string image, std::string provider) {
  const std::vector<ImageUpload> known = co_await uploads(image, provider);
  std::size_t ready = 0;
  for (const ImageUpload& upload : known) ready += is_there(upload) ? 1 : 0;
  if (finishing_) {
    // Those of an older store may be of images that are gone.
    for (const ImageUpload& old : known) {
      if (old.state == UploadState::ready && !is_there(old)) co_await remove(old);
    }
    if (ready == 0) co_await upload(image, provider, /*surely=*/true);
    co_return;
  }
  // Now and then even the last one goes.
  for (const ImageUpload& old : known) {
    if (chance(runtime_.random, 0.4)) co_await remove(old);
  }
  if (chance(runtime_.random, 0.7)) co_await upload(image, provider, /*surely=*/false);
}

bool BuilderProcess::is_there(const ImageUpload& upload) const {
  return upload.state == UploadState::ready && clouds_.has_image(upload.external_id.string_value());
}

Task<std::vector<ImageUpload>> BuilderProcess::uploads(std::string image, std::string provider) {
  const std::string root = model::uploads_path(image, kBuildId, provider);
  co_await coordination::ensure_path(store_, root);
  std::vector<ImageUpload> found;
  const std::vector<std::string> ids = co_await store_.children(root);
  for (const std::string& id : ids) {
    const coordination::Entry entry =
        co_await store_.get(model::upload_path(image, kBuildId, provider, id));
    found.push_back(model::parse_image_upload(image, kBuildId, provider, id, entry));
  }
  co_return found;
}

Task<> BuilderProcess::upload(std::string image, std::string provider, bool surely) {
  ImageUpload upload;
  upload.set_state(UploadState::uploading, runtime_.clock.wall_seconds());
  const std::string path =
      co_await store_.create(model::upload_path(image, kBuildId, provider, ""), to_record(upload),
                             CreateMode::persistent_sequential);
  if (!surely) co_await runtime_.clock.sleep_for(seconds_between(runtime_.random, 0, 20));
  if (!surely && chance(runtime_.random, 0.2)) {
    upload.set_state(UploadState::failed, runtime_.clock.wall_seconds());
  } else {
    upload.external_id = model::json_string(clouds_.add_image(provider));
    upload.external_name = image;
    upload.format = "qcow2";
    upload.set_state(UploadState::ready, runtime_.clock.wall_seconds());
    world_.journal.count("builder: uploaded");
  }
  co_await store_.set(path, to_record(upload), coordination::kAnyVersion);
}

// First the record says so, then the image goes, then the record.
Task<> BuilderProcess::remove(ImageUpload upload) {
  const std::string path =
      model::upload_path(upload.image, upload.build_id, upload.provider, upload.id);
  upload.set_state(UploadState::deleting, runtime_.clock.wall_seconds());
  co_await store_.set(path, to_record(upload), coordination::kAnyVersion);
  co_await runtime_.clock.sleep_for(seconds_between(runtime_.random, 0, 10));
  if (!upload.external_id.is_null()) clouds_.remove_image(upload.external_id.string_value());
  co_await coordination::remove_tree(store_, path);
  world_.journal.count("builder: upload deleted");
}

}  // namespace nodepool::simulation
