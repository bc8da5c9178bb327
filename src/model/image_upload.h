#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "coordination/store.h"
#include "model/record.h"

namespace nodepool::model {

enum class UploadState {
  uploading,
  ready,
  deleting,  // it is being removed from the cloud, then the record
  failed,
};

std::string_view to_string(UploadState state);
std::optional<UploadState> parse_upload_state(std::string_view text);

inline constexpr UploadState kAllUploadStates[] = {UploadState::uploading, UploadState::ready,
                                                   UploadState::deleting, UploadState::failed};

// One upload of a build to a provider:
// /nodepool/images/<image>/builds/<build id>/providers/<provider>/images/<id>. Field names are the
// record's keys; an absent optional is null in the record. Times are seconds since the epoch.
struct ImageUpload {
  std::string image;        // names and ids of the path; not part of the record
  std::string build_id;     //
  std::string provider;     //
  std::string id;           // ten digits
  coordination::Stat stat;  // of the record's last known version; not part of the record

  UploadState state = UploadState::uploading;
  double state_time = 0;
  Json external_id;  // the cloud's: a string, or an object for some clouds
  std::optional<std::string> external_name;
  std::optional<std::string> format;    // "qcow2"
  std::optional<std::string> username;  // these three are copied from the build
  std::optional<std::string> python_path;
  std::optional<std::string> shell_type;
  std::optional<std::string> failure;  // why it has failed; ours, and only there if it has
  UnknownKeys unknown;

  // Changes the state and stamps it with `now`, also if the state stays the same.
  void set_state(UploadState new_state, double now) {
    state = new_state;
    state_time = now;
  }

  // It has failed: the state, and why (see failure_text()).
  void fail(std::string_view why, double now);
};

// Reads the record at this place. Throws RecordError.
ImageUpload parse_image_upload(std::string image, std::string build_id, std::string provider,
                               std::string id, const coordination::Entry& entry);

// The record's text: every known key, nulls included, then the unknown ones.
std::string to_record(const ImageUpload& upload);

}  // namespace nodepool::model
