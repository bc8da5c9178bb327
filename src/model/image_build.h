#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordination/store.h"
#include "model/record.h"

namespace nodepool::model {

enum class BuildState {
  building,
  ready,
  deleting,  // its uploads and files are deleted, then the record
  failed,
};

std::string_view to_string(BuildState state);
std::optional<BuildState> parse_build_state(std::string_view text);

inline constexpr BuildState kAllBuildStates[] = {BuildState::building, BuildState::ready,
                                                 BuildState::deleting, BuildState::failed};

// One build of a disk image: /nodepool/images/<image>/builds/<id>. Field names are the record's
// keys; an absent optional is null in the record. Times are seconds since the epoch.
struct ImageBuild {
  std::string image;        // its name; not part of the record
  std::string id;           // 32 hex digits; not part of the record
  coordination::Stat stat;  // of the last known version of the record; not part of it

  BuildState state = BuildState::building;
  double state_time = 0;
  std::optional<std::string> builder;     // host name; absent from the record if unknown
  std::optional<std::string> builder_id;  // the same
  std::vector<std::string> formats;     // "qcow2", sorted; absent from the record if there are none
  std::optional<std::string> username;  // of the image; unknown while building
  std::optional<std::string> python_path;
  std::optional<std::string> shell_type;
  std::optional<std::string> failure;  // only of failed builds; not known to the Python Nodepool
  UnknownKeys unknown;

  // Sets the state, and its time to `now` even if the state is unchanged.
  void set_state(BuildState new_state, double now) {
    state = new_state;
    state_time = now;
  }

  // Sets the state to failed, with the reason (see failure_text()).
  void fail(std::string_view why, double now);

  bool has_format(std::string_view format) const;
};

// Parses the record of build `id` of `image`. Throws RecordError.
ImageBuild parse_image_build(std::string image, std::string id, const coordination::Entry& entry);

// The record's text: the known keys, then the unknown ones.
std::string to_record(const ImageBuild& build);

// The name of the build's log in `build-log-dir` of its builder: "<image>-<id>.log".
std::string build_log_name(std::string_view image, std::string_view build_id);

}  // namespace nodepool::model
