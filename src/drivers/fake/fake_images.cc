#include "drivers/fake/fake_images.h"

#include "driver/cloud_error.h"

namespace nodepool::drivers::fake {

using driver::CloudError;

Task<std::string> FakeImages::upload(driver::ProviderImage /*image*/, std::string name,
                                     driver::ImageFile file, driver::Metadata metadata,
                                     Progress progress) {
  Task<std::string> uploading = client_.upload_image(std::move(name), std::move(metadata));
  const std::string id = co_await std::move(uploading);
  progress(file.size);
  co_return id;
}

Task<> FakeImages::remove(std::string /*name*/, std::string external_id) {
  try {
    co_await client_.remove_image(std::move(external_id));
  } catch (const CloudError& error) {
    if (error.kind() != CloudError::Kind::not_found) throw;
  }
}

Task<std::vector<driver::CloudImage>> FakeImages::list() {
  co_return co_await client_.images();
}

}  // namespace nodepool::drivers::fake
