#pragma once

#include <string>
#include <vector>

#include "program/options.h"

// Manual pages in the man(7) macro language, generated from the programs' declarations.
namespace nodepool::cli {

// The release that the pages name.
struct Release {
  std::string version;  // "12.0.0"
  std::string date;     // "2026-11-23"
};

// nodepool(1): every command with its arguments and options.
std::string nodepool_page(const Release& release);

// The content of a daemon's page.
struct DaemonPage {
  std::string name;                   // "nodepool-launcher"
  std::string summary;                // without a full stop
  std::vector<std::string> sections;  // paragraphs: what it does, and its signals
  std::vector<program::OptionHelp> options;
};

// nodepool-launcher(8), nodepool-builder(8).
std::string daemon_page(const DaemonPage& page, const Release& release);

}  // namespace nodepool::cli
