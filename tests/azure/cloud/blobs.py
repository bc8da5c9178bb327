"""Page blobs that disks are uploaded to, behind URLs with a signature."""
import re
import secrets
import time

from arm import Answer

LARGEST_WRITE = 4 << 20
PAGE = 512


def failed(status, code, **headers):
    text = f'<?xml version="1.0" encoding="utf-8"?><Error><Code>{code}</Code><Message>{code}</Message></Error>'
    return Answer(status, text.encode(), {'Content-Type': 'application/xml', 'x-ms-error-code': code, **headers})


def new_etag():
    return f'"0x{secrets.token_hex(8).upper()}"'


class Blobs:
    def __init__(self, directory):
        self.directory = directory
        self.grants = {}  # by path: signature, end, file
        self.blobs = {}  # by file: ranges written, ETag

    def create(self, name, size):
        """A blob's file."""
        path = self.directory / name
        with path.open('wb') as file:
            file.truncate(size)
        self.blobs[path] = {'ranges': set(), 'etag': new_etag()}
        return path

    def grant(self, base, file, seconds):
        """A URL for the file."""
        path, signature = f'/blob/{secrets.token_hex(6)}/abcd', secrets.token_urlsafe(32)
        self.grants[path] = {'signature': signature, 'end': time.time() + seconds, 'file': file}
        return f'{base}{path}?sv=2018-03-28&sr=b&si={secrets.token_hex(8)}&sig={signature}'

    def is_granted(self, file):
        return any(grant['file'] == file for grant in self.grants.values())

    def revoke(self, file):
        self.grants = {path: grant for path, grant in self.grants.items() if grant['file'] != file}

    def handle(self, request):
        grant = self.grants.get(request.path)
        if grant is None or request.query.get('sig') != grant['signature'] or grant['end'] < time.time():
            return failed(403, 'AuthenticationFailed')
        wanted = request.headers.get('x-ms-range', request.headers.get('range'))
        span = wanted and re.fullmatch(r'bytes=(\d+)-(\d*)', wanted)
        if wanted and not span:
            return failed(400, 'InvalidHeaderValue')
        path = grant['file']
        blob, size = self.blobs[path], path.stat().st_size
        first = int(span[1]) if span else 0
        last = int(span[2]) if span and span[2] else size - 1
        call = request.method, request.query.get('comp')
        if call == ('PUT', 'page'):
            return self.write(path, blob, request, span, first, last)
        if request.method not in ('GET', 'HEAD', 'PUT'):
            return failed(403, 'AuthorizationPermissionMismatch')
        if span and first >= size:
            return failed(416, 'InvalidPageRange' if call == ('GET', 'pagelist') else 'InvalidRange')
        if call == ('GET', 'pagelist'):
            return self.list_pages(blob, first, last, size)
        if call not in (('GET', None), ('HEAD', None)):
            return failed(400, 'InvalidQueryParameterValue')
        with path.open('rb') as file:
            file.seek(first)
            content = file.read(last - first + 1)
        part = {'Content-Range': f'bytes {first}-{first + len(content) - 1}/{size}'} if span else {}
        return Answer(206 if span else 200, content, {
            'Content-Type': 'application/octet-stream', 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-sequence-number': '0',
            'ETag': blob['etag'], **part})

    @staticmethod
    def list_pages(blob, first, last, size):
        """The written ranges between first and last."""
        merged = []
        for begin, end in sorted(blob['ranges']):
            if merged and begin <= merged[-1][1] + 1:
                merged[-1][1] = max(merged[-1][1], end)
            else:
                merged.append([begin, end])
        pages = ''.join(f'<PageRange><Start>{max(begin, first)}</Start><End>{min(end, last)}</End></PageRange>'
                        for begin, end in merged if begin <= last and end >= first)
        return Answer(200, f'<?xml version="1.0" encoding="utf-8"?><PageList>{pages}</PageList>'.encode(),
                      {'Content-Type': 'application/xml', 'x-ms-blob-content-length': str(size), 'ETag': blob['etag']})

    @staticmethod
    def write(path, blob, request, span, first, last):
        kind, size = request.headers.get('x-ms-page-write'), path.stat().st_size
        if kind is None or not span:
            return failed(400, 'MissingRequiredHeader')
        if kind.lower() != 'update':
            return failed(400, 'InvalidHeaderValue')
        if len(request.body) > LARGEST_WRITE:
            return failed(413, 'RequestBodyTooLarge')
        if first % PAGE or (last + 1) % PAGE or not span[2]:
            return failed(400, 'InvalidHeaderValue')
        if last >= size or last - first + 1 != len(request.body):
            return failed(416, 'InvalidPageRange')
        if (request.headers.get('if-match', '*') not in ('*', blob['etag'])
                or request.headers.get('if-none-match') in ('*', blob['etag'])):
            return failed(412, 'ConditionNotMet')
        with path.open('r+b') as file:
            file.seek(first)
            file.write(request.body)
        blob['ranges'].add((first, last))
        blob['etag'] = new_etag()
        return Answer(201, None, {'ETag': blob['etag'], 'x-ms-blob-sequence-number': '0'})
