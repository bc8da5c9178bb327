"""Page blobs that disks are uploaded to, behind URLs with a signature."""
import re
import secrets
import time

from arm import Answer

LARGEST_WRITE = 4 << 20


def failed(status, code, **headers):
    text = f'<?xml version="1.0" encoding="utf-8"?><Error><Code>{code}</Code><Message>{code}</Message></Error>'
    return Answer(status, text.encode(), {'Content-Type': 'application/xml', 'x-ms-error-code': code, **headers})


class Blobs:
    def __init__(self, directory):
        self.directory = directory
        self.grants = {}  # by path: signature, end, file, ranges written

    def create(self, name, size):
        """A blob's file."""
        path = self.directory / name
        with path.open('wb') as file:
            file.truncate(size)
        return path

    def grant(self, base, file, seconds):
        """A URL for the file."""
        path, signature = f'/blob/{secrets.token_hex(6)}/abcd', secrets.token_urlsafe(32)
        self.grants[path] = {'signature': signature, 'end': time.time() + seconds, 'file': file,
                             'ranges': set()}
        return f'{base}{path}?sv=2018-03-28&sr=b&si={secrets.token_hex(8)}&sig={signature}'

    def is_granted(self, file):
        return any(grant['file'] == file for grant in self.grants.values())

    def revoke(self, file):
        self.grants = {path: grant for path, grant in self.grants.items() if grant['file'] != file}

    def handle(self, request):
        grant = self.grants.get(request.path)
        if grant is None or request.query.get('sig') != grant['signature'] or grant['end'] < time.time():
            return failed(403, 'AuthenticationFailed')
        size = grant['file'].stat().st_size
        span = re.fullmatch(r'bytes=(\d+)-(\d+)', request.headers.get('x-ms-range', request.headers.get('range', '')))
        first, last = map(int, span.groups()) if span else (0, size - 1)
        what = request.query.get('comp')
        if request.method == 'GET' and what == 'pagelist':
            pages = ''.join(
                f'<PageRange><Start>{a}</Start><End>{b}</End></PageRange>' for a, b in sorted(grant['ranges']))
            return Answer(200, f'<?xml version="1.0" encoding="utf-8"?><PageList>{pages}</PageList>'.encode(),
                          {'Content-Type': 'application/xml', 'x-ms-blob-content-length': str(size)})
        if request.method == 'GET' and what is None:
            with grant['file'].open('rb') as file:
                file.seek(first)
                return Answer(206 if span else 200, file.read(last - first + 1),
                              {'Content-Type': 'application/octet-stream', 'x-ms-blob-type': 'PageBlob'})
        if request.method != 'PUT' or what != 'page':
            return failed(400, 'InvalidQueryParameterValue')
        if request.headers.get('x-ms-page-write', '').lower() != 'update':
            return failed(400, 'InvalidHeaderValue')
        if len(request.body) > LARGEST_WRITE:
            return failed(413, 'RequestBodyTooLarge')
        if not span or first % 512 or (last + 1) % 512 or last - first + 1 != len(request.body):
            return failed(416 if span else 400, 'InvalidPageRange' if span else 'MissingRequiredHeader')
        if last >= size:
            return failed(416, 'InvalidPageRange')
        with grant['file'].open('r+b') as file:
            file.seek(first)
            file.write(request.body)
        grant['ranges'].add((first, last))
        return Answer(201, None, {'ETag': f'"{secrets.token_hex(8)}"', 'x-ms-blob-sequence-number': '0'})
