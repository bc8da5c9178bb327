"""cinder's own fake back end, which stores nothing, as the metadata of a volume asks for.

  fake_create_delay  seconds of creating
  fake_create_error  anything: the volume goes to error
"""
import time

from cinder import exception
from cinder.tests import fake_driver


class ObedientVolumeDriver(fake_driver.FakeLoggingVolumeDriver):

    def create_volume(self, volume):
        wishes = volume.metadata or {}
        time.sleep(float(wishes.get('fake_create_delay', 0)))
        if 'fake_create_error' in wishes:
            raise exception.VolumeBackendAPIException(data='fake_create_error')

    def clone_image(self, context, volume, image_location, image_meta, image_service):
        self.create_volume(volume)
        return {}, True  # so that nobody copies the image

    def extend_volume(self, volume, new_size):
        pass
