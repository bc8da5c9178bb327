#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace nodepool::builder {

// What a client of a Gearman server gives with a job: the word that the payload is, or what the
// first of these keys says that its JSON object has; empty if there is none. Throws
// std::runtime_error for what cannot be read, or is no string.
std::string parameter(std::string_view payload, std::initializer_list<const char*> keys);

}  // namespace nodepool::builder
