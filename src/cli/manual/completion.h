#pragma once

#include <string>

// Completion of the commands of `nodepool` in shells, from their declarations. Names of what there
// is come from the listings (-o name), and are taken for nothing but text.
namespace nodepool::cli {

std::string bash_completion();
std::string zsh_completion();

}  // namespace nodepool::cli
