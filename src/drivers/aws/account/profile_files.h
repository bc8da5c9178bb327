#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "config/environment.h"

namespace nodepool::drivers::aws {

// Keys of one section; those of an indented block below `ec2 =` are "ec2.endpoint_url".
using ProfileKeys = std::map<std::string, std::string, std::less<>>;

// The files that AWS' own programs read, as they are now; empty where there are none.
struct ProfileFiles {
  std::map<std::string, ProfileKeys, std::less<>> credentials;   // by profile
  std::map<std::string, ProfileKeys, std::less<>> profiles;      // of `config`, by profile
  std::map<std::string, ProfileKeys, std::less<>> services;      // of `config`: `[services NAME]`
  std::map<std::string, ProfileKeys, std::less<>> sso_sessions;  // … `[sso-session NAME]`
};

// The sections of such a file. Throws AccountError, with the line but not its text: it may hold a
// secret.
std::map<std::string, ProfileKeys, std::less<>> parse_profiles(std::string_view text,
                                                               const std::string& name);

// AWS_SHARED_CREDENTIALS_FILE and AWS_CONFIG_FILE, or those in ~/.aws, whether or not they exist.
std::set<std::string> profile_file_names(const config::Environment& environment);

// Throws AccountError for a file that is there and cannot be read.
ProfileFiles read_profile_files(const config::Environment& environment);

// The value of a variable; empty if it is not set.
std::string variable(const config::Environment& environment, std::string_view name);

}  // namespace nodepool::drivers::aws
