#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "builder/build_log.h"
#include "builder/image_store.h"
#include "builder/logged_run.h"

namespace nodepool::builder {

// A file of a build that is to be made from another one.
struct Conversion {
  ImageStore store;
  std::string image;
  std::string build_id;
  std::set<std::string> formats;   // that there are
  std::string format;              // that is to be made, see can_be_made()
  std::int64_t build_timeout = 0;  // seconds
};

// Makes files of one format from files of another, with qemu-img.
class FormatConverter {
 public:
  explicit FormatConverter(ProgramSite site) : site_(std::move(site)) {}
  virtual ~FormatConverter() = default;
  FormatConverter(const FormatConverter&) = delete;
  FormatConverter& operator=(const FormatConverter&) = delete;

  // Makes the file, without checksums. It has its name only when it is whole; what was begun is
  // deleted if it does not succeed. `log` outlives the task. Throws std::runtime_error that says
  // why and names the log; Cancelled, after qemu-img has ended.
  Task<> convert(Conversion wanted, const BuildLog& log);

 protected:
  // Runs qemu-img. The last of the arguments is the file to make. Throws.
  virtual Task<ProgramEnd> run(std::vector<std::string> arguments, std::int64_t build_timeout,
                               const BuildLog& log);

  const ProgramSite& site() const { return site_; }

 private:
  ProgramSite site_;
};

}  // namespace nodepool::builder
