#pragma once

#include <optional>
#include <string>

#include "driver/images.h"
#include "model/installation.h"

// The owner tags of uploaded images, in names like those of machines (owner_names.h). As for the
// Python Nodepool, the resource group `npimages_PROVIDER` names the provider. Its images are named
// `npimageUPLOAD`; but upload ids are unique for a build and a provider only, and names in a
// region. Hence `npimage-UPLOAD-BUILD-MARK`, where MARK identifies provider and installation.
namespace nodepool::drivers::ibmvpc {

// The name of the resource group of a provider's images.
std::string image_group_name(const std::string& provider);

// The name of the image with these owner tags. 62 characters for a usual build id; IBM accepts 63.
std::string image_name(const driver::Metadata& upload);

// The owner tags of an image of the provider's resource group. An image of another installation has
// its mark in place of its id.
driver::Metadata image_tags(const std::string& name, const std::string& provider,
                            const model::Installation& installation);

// The key of the object from which the image is imported. IBM accepts no folders, and reads the
// format from the end.
std::string object_key(const std::string& image_name, const std::string& format);

// The owner tags of an object, if it is of an upload of this provider and installation.
std::optional<driver::Metadata> object_tags(const std::string& key, const std::string& provider,
                                            const model::Installation& installation);

}  // namespace nodepool::drivers::ibmvpc
