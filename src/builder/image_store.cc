#include "builder/image_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "builder/checksums.h"

namespace nodepool::builder {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kBuildIdSize = 32;
constexpr std::size_t kSequenceNumberSize = 10;
constexpr std::size_t kMd5Size = 32;  // hexadecimal digits
constexpr std::size_t kSha256Size = 64;
constexpr std::string_view kPartial = ".partial";
constexpr std::uintmax_t kNoSpace = 1 << 20;  // bytes; less counts as full

[[noreturn]] void store_failed(const std::string& doing, const fs::path& path,
                               const std::error_code& error) {
  throw std::runtime_error(doing + " " + path.string() + ": " + error.message());
}

// The beginning of the file; empty if the file does not exist.
std::string first_characters(const fs::path& path, std::size_t count) {
  std::ifstream file(path, std::ios::binary);
  std::string text(count, '\0');
  file.read(text.data(), static_cast<std::streamsize>(count));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

void write_whole(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file)
    store_failed("cannot write", path, std::make_error_code(static_cast<std::errc>(errno)));
}

// Writes the file or directory to the disk, so that it survives a power failure. Some network file
// systems cannot do this for directories.
void sync_to_disk(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool is_synced = descriptor >= 0 && (::fsync(descriptor) == 0 || errno == EINVAL);
  const std::error_code error(errno, std::generic_category());
  if (descriptor >= 0) ::close(descriptor);
  if (!is_synced) store_failed("cannot write to the disk", path, error);
}

void remove_file(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) store_failed("cannot delete", path, error);
}

bool is_decimal(char digit) {
  return digit >= '0' && digit <= '9';
}

bool is_format(std::string_view suffix) {
  return suffix.find_first_of(".-") == std::string_view::npos && suffix != "md5" &&
         suffix != "sha256" && suffix != "d";
}

// The build and the suffix after its name's dot. Returns nothing if the file belongs to no build.
std::optional<std::pair<ImageStore::Key, std::string>> parse_file_name(std::string_view name) {
  std::optional<std::pair<ImageStore::Key, std::string>> numbered;
  // Names of images may contain dots and numbers, suffixes dashes.
  for (std::size_t dot = name.find('.'); dot != std::string_view::npos;
       dot = name.find('.', dot + 1)) {
    const std::optional<ImageStore::Key> key = parse_build_name(name.substr(0, dot));
    if (!key) continue;
    std::pair named(*key, std::string(name.substr(dot + 1)));
    if (!is_sequence_number(key->second)) return named;
    if (!numbered) numbered = std::move(named);
  }
  return numbered;
}

}  // namespace

std::string image_file(std::string_view output, std::string_view format) {
  return std::string(output).append(".").append(format);
}

std::string partial_file(std::string_view output, std::string_view format) {
  return image_file(output, format).append(kPartial);
}

std::optional<ImageStore::Key> parse_build_name(std::string_view name) {
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return std::nullopt;
  const std::string_view id = name.substr(dash + 1);
  const auto is_digit = [](char digit) {
    return is_decimal(digit) || (digit >= 'a' && digit <= 'f');
  };
  const bool is_uuid = id.size() == kBuildIdSize && std::ranges::all_of(id, is_digit);
  if (!is_uuid && !is_sequence_number(id)) return std::nullopt;
  return ImageStore::Key(name.substr(0, dash), id);
}

bool is_sequence_number(std::string_view build_id) {
  return build_id.size() == kSequenceNumberSize && std::ranges::all_of(build_id, is_decimal);
}

std::string ImageStore::builder_id(const std::string& new_id) const {
  const fs::path path = directory_ / "builder_id.txt";
  std::error_code error;
  fs::create_directories(directory_, error);
  if (error) store_failed("cannot create the directory", directory_, error);
  if (fs::exists(path)) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
      store_failed("cannot read", path, std::make_error_code(static_cast<std::errc>(errno)));
    const std::string id{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (!id.empty()) return id;  // otherwise the disk was full, or the machine crashed
  }
  const fs::path incomplete = path.string() + ".new";
  write_whole(incomplete, new_id);
  fs::rename(incomplete, path, error);
  if (error) store_failed("cannot rename", incomplete, error);
  return new_id;
}

std::vector<fs::directory_entry> ImageStore::entries() const {
  std::vector<fs::directory_entry> found;
  std::error_code error;
  fs::directory_iterator entries(directory_, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    found.push_back(*entries);
  }
  if (error) store_failed("cannot read the directory", directory_, error);
  return found;
}

ImageStore::Contents ImageStore::contents() const {
  Contents contents;
  std::error_code error;  // ignored: the file may be deleted meanwhile
  for (const fs::directory_entry& entry : entries()) {
    const auto named = parse_file_name(entry.path().filename().string());
    if (!named) continue;
    const auto& [key, suffix] = *named;
    std::set<std::string>& formats = contents[key];
    if (is_format(suffix) && entry.is_regular_file(error)) formats.insert(suffix);
  }
  return contents;
}

void ImageStore::remove_partials() const {
  for (const fs::directory_entry& entry : entries()) {
    const auto named = parse_file_name(entry.path().filename().string());
    if (!named || is_sequence_number(named->first.second)) continue;
    if (named->second.ends_with(kPartial)) remove_file(entry.path());
  }
}

std::string ImageStore::output(std::string_view image, std::string_view build_id) const {
  return (directory_ / std::string(image).append("-").append(build_id)).string();
}

void ImageStore::complete(const std::string& output, const std::set<std::string>& formats) const {
  for (const std::string& format : formats) {
    const std::string image = image_file(output, format);
    if (!fs::is_regular_file(image)) {
      throw std::runtime_error("the program succeeded, but did not create " + image);
    }
    if (fs::file_size(image) == 0) {
      throw std::runtime_error("the program succeeded, but " + image + " is empty");
    }
    const fs::path md5 = image + ".md5";
    const fs::path sha256 = image + ".sha256";
    if (first_characters(md5, kMd5Size).size() != kMd5Size ||
        first_characters(sha256, kSha256Size).size() != kSha256Size) {
      const Checksums sums = checksums_of(image);
      const std::string name = fs::path(image).filename();
      write_whole(md5, sums.md5 + "  " + name + "\n");
      write_whole(sha256, sums.sha256 + "  " + name + "\n");
    }
    for (const fs::path& file : {fs::path(image), md5, sha256}) sync_to_disk(file);
  }
  sync_to_disk(directory_);
}

void ImageStore::finish_partial(const std::string& output, const std::string& format) const {
  const std::string partial = partial_file(output, format);
  std::error_code error;
  const std::uintmax_t size = fs::file_size(partial, error);
  if (error) store_failed("cannot read", partial, error);
  if (size == 0) throw std::runtime_error(partial + " is empty");
  // Before it has the name of a complete file: no record tells whether it is.
  sync_to_disk(partial);
  fs::rename(partial, image_file(output, format), error);
  if (error) store_failed("cannot rename", partial, error);
}

driver::ImageFile ImageStore::file(std::string_view image, std::string_view build_id,
                                   const std::string& format) const {
  const std::string path = image_file(output(image, build_id), format);
  if (!fs::is_regular_file(path)) throw std::runtime_error("file not found: " + path);
  if (fs::file_size(path) == 0) throw std::runtime_error("the file is empty: " + path);
  return {.path = path,
          .format = format,
          .size = fs::file_size(path),
          .md5 = first_characters(path + ".md5", kMd5Size),
          .sha256 = first_characters(path + ".sha256", kSha256Size)};
}

void ImageStore::remove_format(std::string_view image, std::string_view build_id,
                               const std::string& format) const {
  const std::string path = image_file(output(image, build_id), format);
  for (const char* suffix : {"", ".md5", ".sha256"}) remove_file(path + suffix);
  remove_file(path + std::string(kPartial));
}

void ImageStore::remove(std::string_view image, std::string_view build_id) const {
  const std::string prefix = fs::path(output(image, build_id)).filename().string() + ".";
  std::exception_ptr failure;
  for (const fs::directory_entry& entry : entries()) {
    if (!entry.path().filename().string().starts_with(prefix)) continue;
    try {
      remove_file(entry.path());
    } catch (const std::runtime_error&) {
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

std::string ImageStore::shortage() const {
  std::error_code error;
  const fs::space_info space = fs::space(directory_, error);
  if (error || space.available >= kNoSpace) return {};
  return "the disk of " + directory_.string() + " is full";
}

}  // namespace nodepool::builder
