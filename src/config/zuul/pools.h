#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/zuul/provider.h"

// What the conversions of several drivers have in common.
namespace nodepool::config::zuul {

// The provider's keys that all its pools share: attempts and time limits.
ZuulProvider shared_settings(Source& provider);

// Calls `convert` for each pool with a copy of `shared`. Reports what the pools and the provider
// have beyond that.
std::vector<ZuulProvider> convert_pools(
    Source& provider, const ZuulProvider& shared,
    const std::function<void(Source& pool, ZuulProvider& target)>& convert);

// Names the pool's provider: after Nodepool's provider, and the pool if there are several.
std::string name_of(const Source& provider, const Source& pool, std::size_t pools);

// The pool if it has the key, otherwise the provider, whose keys are defaults of all its pools.
Source& closest(Source& provider, Source& pool, std::string_view key);

// Sets `key` in `target` to the value of the closest, or its default.
void copy_closest(Source& provider, Source& pool, std::string_view key, Value::Mapping& target);

// Sets `resource` in the pool's `resource-limits` to the limit `key` of the pool or else of its
// provider, if there is one.
void copy_limit(Source& provider, Source& pool, std::string_view key, std::string_view resource,
                ZuulProvider& target);

// The images of a provider by name. `read` converts the keys of its driver.
struct Images {
  std::map<std::string, ZuulImage, std::less<>> built = {};
  std::map<std::string, ZuulImage, std::less<>> in_cloud = {};
};
using ReadImage = void (*)(Source& source, ZuulImage& image);
Images read_images(Source& provider, const Config& config, ReadImage read);

// Copies the connection type, if Zuul has it.
void copy_connection_type(Source& source, Value::Mapping& target);

// A label of a pool with its image. Nothing, and reported, if it has no image of the provider.
std::optional<ZuulLabel> label_with_image(Source& source, const Images& images);

// Adds the label; if the provider has one of that name, the new one counts, as in Nodepool.
void add_label(ZuulProvider& provider, ZuulLabel label);

// The properties of uploads under `key`, as Zuul's `tags`.
void copy_image_tags(Source& source, std::string_view key, ZuulImage& target);

// The static tags of nodes under `key` and those with values from the request under `dynamic_key`,
// as Zuul's `tags`.
void copy_tags(Source& source, std::string_view key, std::string_view dynamic_key,
               Value::Mapping& target);

// A mapping whose values are all text.
Value text_mapping(const std::map<std::string, std::string>& texts);

}  // namespace nodepool::config::zuul
