#pragma once

#include "config/schema.h"

// Configuration keys that cloud drivers share. Join them with a driver's own keys:
// `.fields = joined(connection_fields(), {…})`. cloud/config/loading.h reads them.
namespace nodepool::cloud {

// Of a cloud image: the user to log in as, and settings for Ansible.
const config::Field& username_field();
const config::Field& python_path_field();
const config::Field& shell_type_field();

// Of a cloud image or a diskimage: `connection-type` and `connection-port`.
const config::Fields& connection_fields();

// Of an entry of the provider's `diskimages`: `name`, `pause`, `meta`, `validate`.
const config::Fields& diskimage_fields();

// Of a provider with image uploads: `image-name-format`, `image-upload-timeout`,
// `post-upload-hook`.
const config::Fields& upload_fields();
// The last of these alone.
const config::Field& post_upload_hook_field();

// Of a provider: timeouts and number of launch attempts.
const config::Field& boot_timeout_field();
const config::Field& launch_timeout_field();
const config::Field& launch_retries_field();

// Of a provider: `diskimages` and `cloud-images`, whose entries have the schema `entry`, which must
// outlive the field.
config::Field diskimages_field(const config::Schema& entry);
config::Field cloud_images_field(const config::Schema& entry);

// Of a pool: `max-cores`, `max-ram`, `max-volumes`, `max-volume-gb`, `ignore-provider-quota`.
const config::Fields& limit_fields();
// The first two of these alone.
const config::Fields& core_and_memory_fields();

// Of a label: `name`; and `diskimage` and `cloud-image`, which exclude each other.
const config::Field& label_name_field();
const config::Fields& label_image_fields();

// Of a label: `userdata`; `console-log`.
const config::Field& user_data_field();
const config::Field& console_log_field();

// The description of metadata with substituted request fields (driver/request_template.h). It
// follows the description of metadata without.
inline constexpr std::string_view kMadeOfRequest =
    "Metadata with values from the request: `{request.id}`, `{request.labels[0]}`, "
    "`{request.requestor}`, `{request.requestor_data}`, `{request.relative_priority}`, "
    "`{request.event_id}`, `{request.created_time}`, `{request.tenant_name}`.";

}  // namespace nodepool::cloud
