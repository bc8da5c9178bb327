#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace nodepool::builder {

// The parameter in the payload of a Gearman job: the whole word, or the value of the first of
// `keys` in a JSON object; empty if there is none. Throws std::runtime_error if the payload is not
// valid JSON or the value is not a string.
std::string parameter(std::string_view payload, std::initializer_list<const char*> keys);

}  // namespace nodepool::builder
