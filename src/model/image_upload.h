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
  deleting,  // deleted from the cloud, then the record
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
  coordination::Stat stat;  // of the last known version of the record; not part of it

  UploadState state = UploadState::uploading;
  double state_time = 0;
  Json external_id;  // the cloud's: a string, or an object for some clouds
  std::optional<std::string> external_name;
  std::optional<std::string> format;    // "qcow2"
  std::optional<std::string> username;  // these three are copied from the build
  std::optional<std::string> python_path;
  std::optional<std::string> shell_type;
  std::optional<std::string> failure;  // only of failed uploads; not known to the Python Nodepool
  UnknownKeys unknown;

  // Sets the state, and its time to `now` even if the state is unchanged.
  void set_state(UploadState new_state, double now) {
    state = new_state;
    state_time = now;
  }

  // Sets the state to failed, with the reason (see failure_text()).
  void fail(std::string_view why, double now);
};

// Parses the record of an upload. Throws RecordError.
ImageUpload parse_image_upload(std::string image, std::string build_id, std::string provider,
                               std::string id, const coordination::Entry& entry);

// The record's text: every known key, nulls included, then the unknown ones.
std::string to_record(const ImageUpload& upload);

}  // namespace nodepool::model
