#pragma once

#include "config/schema.h"

// Keys that the drivers of clouds have in common, to be joined to a driver's own:
// `.fields = joined(username_fields(), {…})`. What reads them is in cloud/config/loading.h.
namespace nodepool::cloud {

// Of a cloud image: as whom machines that are made from it are logged in to, and what Ansible wants
// to know of them.
const config::Field& username_field();
const config::Field& python_path_field();
const config::Field& shell_type_field();

// Of a cloud image or a diskimage: `connection-type` and `connection-port`.
const config::Fields& connection_fields();

// Of an entry of the provider's `diskimages`: `name`, `pause`, `meta`, `validate`.
const config::Fields& diskimage_fields();

// Of a provider that images are uploaded to: `image-name-format`, `image-upload-timeout`,
// `post-upload-hook`.
const config::Fields& upload_fields();
// … and the last of these by itself.
const config::Field& post_upload_hook_field();

// Of a provider: how long its machines may take, and how often one is tried.
const config::Field& boot_timeout_field();
const config::Field& launch_timeout_field();
const config::Field& launch_retries_field();

// Of a provider: `diskimages` and `cloud-images`, whose entries have these keys. The schemas stay.
config::Field diskimages_field(const config::Schema& entry);
config::Field cloud_images_field(const config::Schema& entry);

// Of a pool: `max-cores`, `max-ram`, `max-volumes`, `max-volume-gb`, `ignore-provider-quota`.
const config::Fields& limit_fields();
// … and the first two of these by themselves.
const config::Fields& core_and_memory_fields();

// Of a label, `name`; and `diskimage` and `cloud-image`, one of which it has.
const config::Field& label_name_field();
const config::Fields& label_image_fields();

// Of a label: `userdata`; `console-log`.
const config::Field& user_data_field();
const config::Field& console_log_field();

// The description of metadata whose values are made of the request (driver/request_template.h),
// behind that of metadata which are not.
inline constexpr std::string_view kMadeOfRequest =
    "Metadata with values from the request: `{request.id}`, `{request.labels[0]}`, "
    "`{request.requestor}`, `{request.requestor_data}`, `{request.relative_priority}`, "
    "`{request.event_id}`, `{request.created_time}`, `{request.tenant_name}`.";

}  // namespace nodepool::cloud
