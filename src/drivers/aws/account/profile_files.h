#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "config/environment.h"

namespace nodepool::drivers::aws {

// The keys of one section. Keys in an indented block below `ec2 =` are "ec2.endpoint_url".
using ProfileKeys = std::map<std::string, std::string, std::less<>>;
using ProfileSections = std::map<std::string, ProfileKeys, std::less<>>;

// The contents of AWS's credentials and config files; empty if they do not exist.
struct ProfileFiles {
  ProfileSections credentials;  // by profile
  ProfileSections profiles;     // of `config`, by profile
  ProfileSections services;     // of `config`: `[services NAME]`
};

// Parses such a file into its sections. Throws AccountError with the line number, but not its text:
// it may contain a secret.
ProfileSections parse_profiles(std::string_view text, const std::string& name);

// AWS_SHARED_CREDENTIALS_FILE or ~/.aws/credentials, whether or not it exists; empty: no HOME.
std::string credentials_file(const config::Environment& environment);
// AWS_CONFIG_FILE or ~/.aws/config.
std::string config_file(const config::Environment& environment);
// Both files, as far as they are known.
std::set<std::string> profile_file_names(const config::Environment& environment);

// Reads both files. Throws AccountError for an unreadable or invalid file.
ProfileFiles read_profile_files(const config::Environment& environment);

}  // namespace nodepool::drivers::aws
