#include "drivers/fake/fake_images.h"

#include "driver/if_exists.h"

namespace nodepool::drivers::fake {

Task<std::string> FakeImages::upload(driver::ProviderImage /*image*/, std::string name,
                                     driver::ImageFile file, driver::Metadata metadata,
                                     Progress progress) {
  Task<std::string> uploading = client_.upload_image(std::move(name), std::move(metadata));
  const std::string id = co_await std::move(uploading);
  progress(file.size);
  co_return id;
}

Task<> FakeImages::remove(std::string /*name*/, std::string external_id) {
  co_await driver::if_exists(client_.remove_image(std::move(external_id)));
}

Task<std::vector<driver::CloudImage>> FakeImages::list() {
  co_return co_await client_.images();
}

}  // namespace nodepool::drivers::fake
