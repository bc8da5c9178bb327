"""Lets an unmodified Python program find the simulated cloud: it knows no other address than Google's.

Python imports this module when it starts with this folder in PYTHONPATH. Requests of the library `httplib2` for Compute
Engine go to GCE_STAND_IN instead, with the header Host that they would have had. They go one after the other: `httplib2`
is not safe for threads, and those of the Python Nodepool's launcher share one client, which then fails now and then.
"""
import os
import threading
import urllib.parse

import httplib2

GOOGLE = 'compute.googleapis.com'
original = httplib2.Http.request
lock = threading.RLock()


def request(self, uri, method='GET', body=None, headers=None, **more):
    parts = urllib.parse.urlsplit(uri)
    if parts.netloc == GOOGLE:
        uri = os.environ['GCE_STAND_IN'] + urllib.parse.urlunsplit(('', '', *parts[2:]))
        headers = {**(headers or {}), 'Host': GOOGLE}
    with lock:
        return original(self, uri, method, body, headers, **more)


httplib2.Http.request = request
