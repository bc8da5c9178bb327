#pragma once

#include <string>

// Shell completion of `nodepool`, generated from the declarations of its commands. Names of
// existing objects come from the listings (-o name); the shell never evaluates them.
namespace nodepool::cli {

std::string bash_completion();
std::string zsh_completion();

}  // namespace nodepool::cli
