#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "driver/images.h"
#include "model/installation.h"

// Identifies the resources of an upload: to resume it, and to find its remains.
namespace nodepool::drivers::aws {

// Whether both have the tags of the same upload: build, upload number and provider.
bool is_of_upload(const driver::Metadata& tags, const driver::Metadata& upload);

// The idempotency token of a call of the upload. `call` is the name of the call.
std::string upload_token(const driver::Metadata& upload, std::string_view call);

// The key of the object to import: NAME.BUILD.UPLOAD.MARK.FORMAT. MARK identifies the owner, as a
// multipart upload in progress has no tags.
std::string object_key(const std::string& name, const std::string& format,
                       const driver::Metadata& upload);

// The tags of the upload, from the key. Returns nothing if it is no upload of this provider and
// installation.
std::optional<driver::Metadata> tags_in_key(std::string_view key, const std::string& provider,
                                            const model::Installation& installation);

}  // namespace nodepool::drivers::aws
