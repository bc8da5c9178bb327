"""What moto lacks of images, or has too simply: imports, the state of snapshots that are written, checksums of parts."""
import base64
import hashlib
import itertools
import threading

from moto.core.responses import ActionResult
from moto.ebs.models import EBSBackend
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.responses import EC2Response
from moto.s3.models import s3_backends
from moto.s3.responses import S3Response

GIB = 1 << 30


class Imports:
    """Of snapshots ("import-snap-…") and images ("import-ami-…"). A task ends when it is looked at, unless it is held."""

    def __init__(self):
        self.lock = threading.RLock()
        self.held = False
        self.reset()

    def reset(self):
        self.tasks = {}
        self.tokens = {}
        self.numbers = itertools.count(1)

    def begin(self, response, kind, container):
        token = response._get_param('ClientToken')
        with self.lock:
            if token in self.tokens:
                return self.tasks[self.tokens[token]]
            task_id = f'import-{"ami" if kind == "image" else "snap"}-{next(self.numbers):017x}'
            bucket = container['UserBucket']
            self.tokens[token] = task_id
            self.tasks[task_id] = {
                'id': task_id, 'kind': kind, 'status': 'active', 'message': 'pending', 'tags': response._parse_tag_specification(),
                'bucket': bucket['S3Bucket'], 'key': bucket['S3Key'], 'format': container['Format'],
                'image': None, 'snapshot': None}
            return self.tasks[task_id]

    def work_on(self, response, task):
        if self.held or task['status'] != 'active':
            return
        key = s3_backends[response.current_account]['aws'].buckets[task['bucket']].keys.get(task['key'])
        if key is None:
            task.update(status='deleted', message='ClientError: Disk validation failed [Unable to read the object]')
            return
        backend = response.ec2_backend
        volume = backend.create_volume(size=-(-key.size // GIB), zone_name=f'{response.region}a')
        description = f'Created by AWS-VMImport service for {task["id"]}'
        task['snapshot'] = backend.create_snapshot(volume.id, description)
        backend.delete_volume(volume.id)
        if task['kind'] == 'image':
            task['image'] = make_image(backend, task['id'], task['snapshot'].id)
        task.update(status='completed', message='')

    def shown(self, response, kind):
        wanted = response._get_param('ImportTaskIds', [])
        with self.lock:
            unknown = [task for task in wanted if task not in self.tasks]
            if unknown:
                raise EC2ClientError('InvalidConversionTaskId.Malformed', f'no task {unknown}')
            found = [task for task in self.tasks.values()
                     if task['kind'] == kind and (not wanted or task['id'] in wanted)]
            for task in found:
                self.work_on(response, task)
            return found

    def cancel(self, response):
        with self.lock:
            task = self.tasks.get(response._get_param('ImportTaskId'))
            if task is None or task['status'] != 'active':
                raise EC2ClientError('InvalidConversionTaskId', 'no task that could be cancelled')
            task.update(status='deleted', message='cancelled')
            return task


imports = Imports()


def make_image(backend, name, snapshot_id):
    """Of the snapshot: moto's own makes one by itself."""
    image = backend.register_image(name, '')
    del backend.snapshots[image.ebs_snapshot.id]
    image.ebs_snapshot = backend.snapshots[snapshot_id]
    return image


def register_image(self):
    """moto's own leaves out the tags."""
    backend, name = self.ec2_backend, self._get_param('Name')
    (device,) = self._get_param('BlockDeviceMappings')
    snapshot = device['Ebs']['SnapshotId']
    if snapshot not in backend.snapshots or backend.snapshots[snapshot].status != 'completed':
        raise EC2ClientError('InvalidSnapshot.NotFound', snapshot)
    if any(image.name == name for image in backend.amis.values()):
        raise EC2ClientError('InvalidAMIName.Duplicate', name)
    image = make_image(backend, name, snapshot)
    image.add_tags(self._parse_tag_specification().get('image', {}))
    return ActionResult({'ImageId': image.id})


def tags_of(task):
    (tags,) = task['tags'].values()
    return [{'Key': key, 'Value': value} for key, value in tags.items()]


def import_snapshot(self):
    task = imports.begin(self, 'snapshot', self._get_param('DiskContainer'))
    return ActionResult({'ImportTaskId': task['id'], 'Tags': tags_of(task)})


def import_image(self):
    (container,) = self._get_param('DiskContainers')
    task = imports.begin(self, 'image', container)
    return ActionResult({'ImportTaskId': task['id'], 'Status': task['status'], 'Tags': tags_of(task)})


def describe_import_snapshot_tasks(self):
    return ActionResult({'ImportSnapshotTasks': [{
        'ImportTaskId': task['id'], 'Tags': tags_of(task), 'SnapshotTaskDetail': {
            'Status': task['status'], 'StatusMessage': task['message'], 'Format': task['format'],
            **({'SnapshotId': task['snapshot'].id} if task['snapshot'] else {})}}
        for task in imports.shown(self, 'snapshot')]})


def describe_import_image_tasks(self):
    return ActionResult({'ImportImageTasks': [{
        'ImportTaskId': task['id'], 'Tags': tags_of(task), 'Status': task['status'], 'StatusMessage': task['message'],
        **({'ImageId': task['image'].id, 'SnapshotDetails': [{'SnapshotId': task['snapshot'].id}]}
           if task['image'] else {})}
        for task in imports.shown(self, 'image')]})


def cancel_import_task(self):
    task = imports.cancel(self)
    return ActionResult({'ImportTaskId': task['id'], 'State': task['status']})


moto_start, moto_complete = EBSBackend.start_snapshot, EBSBackend.complete_snapshot


def start_snapshot(self, *arguments, **named):
    snapshot = moto_start(self, *arguments, **named)
    self.ec2_backend.snapshots[snapshot.snapshot_id].status = 'pending'
    return snapshot


def complete_snapshot(self, snapshot_id):
    self.ec2_backend.snapshots[snapshot_id].status = 'completed'
    return moto_complete(self, snapshot_id)


moto_serialized = S3Response.serialized


def serialized(self, result):
    """moto's own list of parts leaves out their checksums."""
    content = result.result
    if isinstance(content, dict) and 'PartNumberMarker' in content:
        upload = self.backend.get_bucket(self.bucket_name).multiparts[content['UploadId']]
        for part in content['Parts']:
            digest = hashlib.sha256(upload.parts[part['PartNumber']].value).digest()
            part['ChecksumSHA256'] = base64.b64encode(digest).decode()
    return moto_serialized(self, result)


def install():
    for action in (register_image, import_snapshot, import_image, describe_import_snapshot_tasks,
                   describe_import_image_tasks, cancel_import_task):
        setattr(EC2Response, action.__name__, action)
    EBSBackend.start_snapshot, EBSBackend.complete_snapshot = start_snapshot, complete_snapshot
    S3Response.serialized = serialized
