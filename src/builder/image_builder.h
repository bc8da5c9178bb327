#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "builder/build_log.h"
#include "builder/format_converter.h"
#include "builder/image_store.h"
#include "builder/logged_run.h"
#include "config/config.h"

namespace nodepool::builder {

// One image to make.
struct BuildJob {
  config::DiskImage image;
  std::string build_id;
  std::set<std::string> formats;
  std::optional<std::string> elements_dir;
  BuildLog::Settings logs;
  ImageStore store;

  // The path of its files, without ".<format>".
  std::string output() const { return store.output(image.name, build_id); }
};

struct BuildResult {
  enum class Kind {
    ready,   // all files are there
    failed,  // the program says so, or took too long
    broken,  // something else was wrong: `problem`
  };
  Kind kind = Kind::ready;
  std::string problem = {};
  int exit_code = 0;              // of the program
  std::uint64_t lost_of_log = 0;  // bytes that there was no room for
};

// Makes images: everything about it but the records, and what a subclass does to make one. It runs
// any number of builds side by side.
class ImageBuilder {
 public:
  explicit ImageBuilder(ProgramSite site) : site_(std::move(site)), converter_(site_) {}
  virtual ~ImageBuilder() = default;
  ImageBuilder(const ImageBuilder&) = delete;
  ImageBuilder& operator=(const ImageBuilder&) = delete;

  // Makes all formats of the job with their checksums, and converts from one format to another
  // where that is missing. What has been made is deleted again if it does not succeed. Throws
  // Cancelled, after that, and nothing else.
  Task<BuildResult> build(BuildJob job);

 protected:
  // What is made of the formats that are wanted; the rest is converted from that.
  virtual std::set<std::string> formats_to_make(const std::set<std::string>& wanted) const {
    return wanted;
  }

  // Makes `formats` of the job, writing to the log; returns how what did it has ended. May leave
  // formats out. Throws.
  virtual Task<ProgramEnd> make(const BuildJob& job, const std::set<std::string>& formats,
                                const BuildLog& log) = 0;

  // Runs a program for no longer than a build may take, with its output in the log. Throws
  // std::system_error, Cancelled.
  Task<ProgramEnd> run(const BuildJob& job, std::vector<std::string> arguments,
                       const Environment& environment, const BuildLog& log);

  const ProgramSite& site() const { return site_; }

 private:
  Task<BuildResult> make_all(const BuildJob& job);
  Task<> convert_missing(const BuildJob& job, std::set<std::string> made, const BuildLog& log);

  ProgramSite site_;
  FormatConverter converter_;
};

// By the value of `builder:`.
using ImageBuilders = std::map<std::string, std::unique_ptr<ImageBuilder>, std::less<>>;

}  // namespace nodepool::builder
