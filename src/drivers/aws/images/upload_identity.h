#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "driver/images.h"
#include "model/installation.h"

// By what an upload finds again what it has made before somebody cut it off, and others find what
// is left of it.
namespace nodepool::drivers::aws {

// Whether both are of the same upload: its build, its number, its provider.
bool is_of_upload(const driver::Metadata& tags, const driver::Metadata& upload);

// By which a call is carried out once for the upload, whoever makes it, however often. `call` tells
// the upload's calls apart.
std::string upload_token(const driver::Metadata& upload, std::string_view call);

// The key of the object that is imported: NAME.BUILD.UPLOAD.MARK.FORMAT. An object that is being
// put there in parts has no tags, so its key says whose it is.
std::string object_key(const std::string& name, const std::string& format,
                       const driver::Metadata& upload);

// What tags would say, if it is the key of an upload to this provider of this installation.
std::optional<driver::Metadata> marks_in_key(std::string_view key, const std::string& provider,
                                             const model::Installation& installation);

}  // namespace nodepool::drivers::aws
