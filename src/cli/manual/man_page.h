#pragma once

#include <string>
#include <vector>

#include "program/options.h"

// Manual pages in the language of man(7), made from what the programs declare.
namespace nodepool::cli {

// What the pages say of the release.
struct Release {
  std::string version;  // "12.0.0"
  std::string date;     // "2026-11-23"
};

// nodepool(1): every command with its arguments and options.
std::string nodepool_page(const Release& release);

// What a daemon's page says beside its options.
struct DaemonPage {
  std::string name;                   // "nodepool-launcher"
  std::string summary;                // without a full stop
  std::vector<std::string> sections;  // what it does and hears: paragraphs
  std::vector<program::OptionHelp> options;
};

// nodepool-launcher(8), nodepool-builder(8).
std::string daemon_page(const DaemonPage& page, const Release& release);

}  // namespace nodepool::cli
