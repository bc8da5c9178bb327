"""Object storage: moto's S3 with access tokens of IAM, for the imports of images."""
import threading

from moto.core import DEFAULT_ACCOUNT_ID
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.s3.models import s3_backends
from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.wrappers import Request, Response

from ibm_catalog import BUCKET, BUCKET_LOCATION


class Silent(WSGIRequestHandler):
    def log(self, *_):
        pass


class Storage:
    def __init__(self):
        self.application = DomainDispatcherApplication(create_backend_app)
        self.server = None
        self.reset()

    @property
    def backend(self):
        return s3_backends[DEFAULT_ACCOUNT_ID]['aws']

    def reset(self):
        """One bucket, with an object of another program."""
        self.backend.reset()
        self.backend.create_bucket(BUCKET, BUCKET_LOCATION)
        self.backend.put_object(BUCKET, 'README', b'images of the CI')

    def find(self, bucket, key):
        """The bucket's location, and the object's size. ('', None): there is none."""
        found = self.backend.buckets.get(bucket)
        thing = found.keys.get(key) if found else None
        return (found.location, thing.size) if thing else ('', None)

    def objects(self):
        return {f'{name}/{key}': thing.size for name, bucket in self.backend.buckets.items()
                for key, thing in bucket.keys.items()}

    def serve(self, suite):
        """Serves on a free port, and returns the URL. `suite.storage_failure()` is asked before each call."""
        def call(environ, start_response):
            request = Request(environ)
            headers = {name.lower(): value for name, value in request.headers.items()}
            failure = suite.storage_failure(request.method, request.path, headers)
            if failure:
                status, code = failure
                text = f'<Error><Code>{code}</Code><Message>{code}</Message><Resource>{request.path}</Resource></Error>'
                return Response(text, status, mimetype='application/xml')(environ, start_response)
            return self.application(environ, start_response)
        self.server = make_server('127.0.0.1', 0, call, threaded=True, request_handler=Silent)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return f'http://127.0.0.1:{self.server.server_port}'
