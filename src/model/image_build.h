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
  deleting,  // its files and uploads are being removed, then the record
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
  coordination::Stat stat;  // of the record's last known version; not part of the record

  BuildState state = BuildState::building;
  double state_time = 0;
  std::optional<std::string> builder;     // host name; absent from the record if not known
  std::optional<std::string> builder_id;  // the same
  std::vector<std::string> formats;     // "qcow2", sorted; absent from the record if there are none
  std::optional<std::string> username;  // the image's; not known while it is being built
  std::optional<std::string> python_path;
  std::optional<std::string> shell_type;
  std::optional<std::string> failure;  // why it has failed; ours, and only there if it has
  UnknownKeys unknown;

  // Changes the state and stamps it with `now`, also if the state stays the same.
  void set_state(BuildState new_state, double now) {
    state = new_state;
    state_time = now;
  }

  // It has failed: the state, and why (see failure_text()).
  void fail(std::string_view why, double now);

  bool has_format(std::string_view format) const;
};

// Reads the record of build `id` of `image`. Throws RecordError.
ImageBuild parse_image_build(std::string image, std::string id, const coordination::Entry& entry);

// The record's text: the known keys, then the unknown ones.
std::string to_record(const ImageBuild& build);

// What the file of its log is called, in `build-log-dir` of its builder: "<image>-<id>.log".
std::string build_log_name(std::string_view image, std::string_view build_id);

}  // namespace nodepool::model
