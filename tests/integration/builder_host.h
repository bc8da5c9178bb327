#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/integration/installation.h"

namespace nodepool::integration {

// Settings of the builder other than paths.
struct BuilderSettings {
  std::string latency = "0";        // seconds that each call of the cloud takes
  std::string image = "deb";        // or "raw": what the provider takes
  std::string provider = "fake-1";  // of the driver `fake`
  std::string more = {};            // other top-level keys of nodepool.yaml
};

// A host with a builder, whose images a shell script makes. The script waits between hold() and
// end_hold().
class BuilderHost {
 public:
  // `records`: top-level keys of nodepool.yaml that choose the store; by default it is an embedded
  // store of its own.
  explicit BuilderHost(std::string records = "");
  // Shows the builder's log if the test has failed.
  ~BuilderHost();
  BuilderHost(const BuilderHost&) = delete;
  BuilderHost& operator=(const BuilderHost&) = delete;

  // Writes nodepool.yaml; a builder that runs reads it.
  void configure(const BuilderSettings& settings = {});

  // Writes a file into the host's directory.
  void write(const std::string& name, const std::string& content) const {
    site_.directory().write(name, content);
  }

  // Another script makes the images.
  void replace_script(const std::string& script);

  void hold();
  void end_hold();

  void start(const std::vector<std::string>& options = {});
  // As `kill -9`.
  void kill();
  // Orderly; returns the exit status.
  int stop(int signal);
  Child& builder() { return *builder_; }

  // Runs `nodepool` and waits, see Installation.
  const Installation& commands() const { return site_; }

  // The rows of `nodepool LISTING --json`; those in this state.
  nlohmann::json records(const std::string& listing) const;
  std::vector<nlohmann::json> records(const std::string& listing, const std::string& state) const;

  // Wait, and throw if it does not come to that: for so many rows of a listing in this state, for a
  // message in the builder's log, for a script that has begun its image.
  void wait_for(const std::string& listing, const std::string& state, std::size_t rows = 1) const;
  void wait_for_output(const std::string& text) const;
  void wait_for_half_an_image() const;
  // For one build and one upload that are both ready, and the files of that build alone.
  void expect_good_end() const;

  // What the builders of this host have logged so far.
  std::string log() const;
  const std::filesystem::path& directory() const { return site_.directory().path(); }
  std::filesystem::path images() const { return directory() / "images"; }
  std::vector<std::string> files() const;

 private:
  Installation site_;
  std::string records_;
  std::string earlier_logs_;
  std::unique_ptr<Child> builder_;
};

}  // namespace nodepool::integration
