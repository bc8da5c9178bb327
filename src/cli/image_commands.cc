#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>

#include "cli/build_follower.h"
#include "cli/commands.h"
#include "cli/each.h"
#include "config/names.h"
#include "coordination/tree.h"
#include "model/change_image.h"
#include "model/image_build.h"
#include "model/image_paths.h"
#include "model/image_upload.h"

namespace nodepool::cli {

namespace {

using coordination::Entry;
using coordination::Store;
using coordination::StoreError;
using model::BuildState;
using model::ImageBuild;
using model::ImageUpload;
using model::UploadState;

// The record; nothing if there is none. Empty data also means none: a lock was taken below a record
// while that was being removed.
Task<std::optional<Entry>> read(Store& store, std::string path) {
  std::optional<Entry> entry = co_await coordination::find(store, std::move(path));
  if (entry && entry->data.empty()) entry.reset();
  co_return entry;
}

// Writes the record if it still has this version; returns whether it had.
Task<bool> write(Store& store, std::string path, std::string text, std::int32_t version) {
  try {
    co_await store.set(std::move(path), std::move(text), version);
    co_return true;
  } catch (const StoreError& error) {
    const bool changed =
        error.kind() == StoreError::Kind::bad_version || error.kind() == StoreError::Kind::no_node;
    if (!changed) throw;
  }
  co_return false;
}

// Calls `parse`; its error gets the path of the record.
template <typename Parse>
auto parsed(const std::string& path, Parse parse) {
  try {
    return parse();
  } catch (const model::RecordError& error) {
    throw std::runtime_error("the record " + path + " is invalid: " + error.what());
  }
}

void require_name(const std::string& name, const char* what = "a valid image name") {
  if (!config::is_part_of_path(name)) throw std::runtime_error("'" + name + "' is not " + what);
}

// "deb-0123" -> "deb" and "0123".
std::pair<std::string, std::string> split_build(const std::string& id) {
  const std::size_t dash = id.rfind('-');
  if (dash == std::string::npos) {
    throw std::runtime_error("'" + id + "' is not a build ID as shown by dib-image-list");
  }
  require_name(id.substr(0, dash));
  require_name(id.substr(dash + 1), "a valid build ID");
  return {id.substr(0, dash), id.substr(dash + 1)};
}

// Throws std::runtime_error if the image cannot be built.
Task<int> build(Session& session, std::string image, BuildImages command) {
  const auto& images = session.config().diskimages;
  const auto found = images.find(image);
  if (found == images.end()) {
    throw std::runtime_error("Trying to build a non disk-image-builder image: " + image);
  }
  if (found->second.pause) {
    throw std::runtime_error("Skipping build request for image " + image + "; paused");
  }
  std::optional<BuildFollower> follower;
  if (command.follow) {
    model::ComponentTable* components = co_await session.components();
    follower.emplace(session, *co_await session.images(), *components, image, command.wait);
  }
  co_await model::request_build(session.store(), image);
  if (follower) co_return co_await follower->run();
  co_return 0;
}

Task<int> pause(Session& session, std::string image) {
  require_name(image);
  if (!co_await model::pause_image(session.store(), image)) {
    throw std::runtime_error("image " + image +
                             " has no records: it has never been built or requested");
  }
  co_return 0;
}

Task<int> unpause(Session& session, std::string image) {
  require_name(image);
  co_await model::unpause_image(session.store(), std::move(image));
  co_return 0;
}

Task<int> delete_build(Session& session, std::string id, bool strict) {
  const auto [image, build_id] = split_build(id);
  const std::string path = model::build_path(image, build_id);
  while (true) {
    const std::optional<Entry> entry = co_await read(session.store(), path);
    if (!entry) {
      session.context().out << "Build " << id << " not found\n";
      co_return strict ? 1 : 0;
    }
    ImageBuild build =
        parsed(path, [&] { return model::parse_image_build(image, build_id, *entry); });
    if (build.state == BuildState::building) {
      session.context().out << "Cannot delete a build in progress\n";
      co_return strict ? 1 : 0;
    }
    build.set_state(BuildState::deleting, session.now());
    if (co_await write(session.store(), path, to_record(build), build.stat.version)) co_return 0;
  }
}

}  // namespace

Task<int> perform(Session& session, BuildImages command) {
  const Act act = [&session, &command](std::string image) {
    return build(session, std::move(image), command);
  };
  co_return co_await for_each(session.context(), command.images, act);
}

Task<int> perform(Session& session, PauseImages command) {
  const Act act = [&session](std::string image) { return pause(session, std::move(image)); };
  return for_each(session.context(), std::move(command.images), act);
}

Task<int> perform(Session& session, UnpauseImages command) {
  const Act act = [&session](std::string image) { return unpause(session, std::move(image)); };
  return for_each(session.context(), std::move(command.images), act);
}

Task<int> perform(Session& session, DeleteBuilds command) {
  const Act act = [&session, strict = command.strict](std::string id) {
    return delete_build(session, std::move(id), strict);
  };
  return for_each(session.context(), std::move(command.ids), act);
}

Task<int> perform(Session& session, DeleteUpload command) {
  require_name(command.image);
  require_name(command.build_id, "a valid build ID");
  require_name(command.provider, "a valid provider name");
  require_name(command.upload_id, "a valid upload ID");
  const std::string path =
      model::upload_path(command.image, command.build_id, command.provider, command.upload_id);
  while (true) {
    const std::optional<Entry> entry = co_await read(session.store(), path);
    if (!entry) {
      session.context().out << "Image upload not found\n";
      co_return command.strict ? 1 : 0;
    }
    ImageUpload upload = parsed(path, [&] {
      return model::parse_image_upload(command.image, command.build_id, command.provider,
                                       command.upload_id, *entry);
    });
    if (upload.state == UploadState::uploading) {
      session.context().out << "Cannot delete because image upload in progress\n";
      co_return command.strict ? 1 : 0;
    }
    upload.set_state(UploadState::deleting, session.now());
    if (co_await write(session.store(), path, to_record(upload), upload.stat.version)) co_return 0;
  }
}

}  // namespace nodepool::cli
