#pragma once

#include <string_view>

#include "config/schema.h"

// Configuration keys that cloud drivers share. Join them with a driver's own keys:
// `.fields = joined(connection_fields(), {…})`. cloud/config/loading.h reads them.
namespace nodepool::cloud {

// Of a cloud image: the name in labels; the user to log in as.
const config::Field& image_name_field();
const config::Field& username_field();

// Of a cloud image or a diskimage: settings for Ansible; `connection-type` and `connection-port`;
// all of these.
const config::Field& python_path_field();
const config::Field& shell_type_field();
const config::Fields& connection_fields();
const config::Fields& access_fields();

// Of an entry of the provider's `diskimages`: `name`; `pause`; these, `meta` and `validate`.
const config::Field& diskimage_name_field();
const config::Field& pause_field();
const config::Fields& diskimage_fields();

// Of a provider with image uploads: `image-name-format`, `image-upload-timeout`, whose description
// must be a literal, and `post-upload-hook`.
config::Fields upload_fields(std::string_view timeout_description);
// The last of these alone.
const config::Field& post_upload_hook_field();

// Of a provider: timeouts and number of launch attempts; all of these, with a default boot timeout.
const config::Field& boot_timeout_field();
const config::Field& launch_timeout_field();
const config::Field& launch_retries_field();
config::Fields launch_fields(std::string_view boot_timeout = "60");

// Of a provider: `rate`.
config::Field rate_field(std::string_view default_value,
                         std::string_view description = "Maximum calls per second. 0: unlimited.");

// Of a provider: `diskimages`, `cloud-images` and `pools`; of a pool: `labels`. The entries have
// the schema `entry`.
config::Field diskimages_field(const config::Schema& entry);
config::Field cloud_images_field(const config::Schema& entry);
config::Field pools_field(const config::Schema& entry,
                          config::Required required = config::Required::strictly);
config::Field labels_field(const config::Schema& entry,
                           config::Required required = config::Required::always);

// Of a pool: `use-internal-ip`; `host-key-checking`; another boolean.
const config::Field& internal_ip_field();
const config::Field& host_key_field();
config::Field flag_field(std::string_view key, std::string_view default_value,
                         std::string_view description);

// The same keys of a pool, with the provider's values as defaults; see cloud::flag().
config::Fields of_pool(config::Fields provider);

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

// Of a label or an image: `tags`. Of a label: `dynamic-tags`.
config::Field tags_field(std::string_view description);
const config::Field& dynamic_tags_field();

// The description of metadata with substituted request fields (driver/request_template.h). It
// follows the description of metadata without.
inline constexpr std::string_view kMadeOfRequest =
    "Metadata with values from the request: `{request.id}`, `{request.labels[0]}`, "
    "`{request.requestor}`, `{request.requestor_data}`, `{request.relative_priority}`, "
    "`{request.event_id}`, `{request.created_time}`, `{request.tenant_name}`.";

}  // namespace nodepool::cloud
