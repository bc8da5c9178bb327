#include "builder/local_images.h"

namespace nodepool::builder {

Task<> LocalImages::identify(std::string new_id) {
  const auto read = [store = files_, id = std::move(new_id)] { return store.builder_id(id); };
  builder_id_ = co_await threads_.run("builder_id.txt", read);
}

Task<> LocalImages::start() {
  const auto clear = [store = files_] { store.remove_partials(); };
  co_await threads_.run("partial images", clear);
  co_await scan();
}

Task<> LocalImages::scan() {
  const std::uint64_t number = ++scans_begun_;
  const auto read = [store = files_] { return store.contents(); };
  ImageStore::Contents found = co_await threads_.run("images-dir", read);
  if (number < scan_seen_) co_return;  // a later scan has finished first
  scan_seen_ = number;
  contents_ = std::move(found);
}

const std::set<std::string>* LocalImages::formats_of(const std::string& image,
                                                     const std::string& build_id) const {
  const model::ImageBuild* build = images_.find_build(image, build_id);
  if (build != nullptr && !has_files_of(*build)) return nullptr;
  const auto found = contents_.find(ImageStore::Key(image, build_id));
  return found == contents_.end() ? nullptr : &found->second;
}

}  // namespace nodepool::builder
