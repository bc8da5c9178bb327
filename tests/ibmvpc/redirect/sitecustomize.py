"""Lets an unmodified Python program find the simulated cloud: the Python Nodepool has IBM's addresses in its source.

Python imports this module when it starts with this folder in PYTHONPATH. Requests of the library `requests` for the VPC
API, the resource manager and controller, and IAM go to IBM_STAND_IN instead, with the header Host that they would have
had.
"""
import os
import urllib.parse

from requests.adapters import HTTPAdapter

HOSTS = ('.iaas.cloud.ibm.com', 'resource-controller.cloud.ibm.com', 'iam.cloud.ibm.com')
original = HTTPAdapter.send


def send(self, request, *arguments, **more):
    parts = urllib.parse.urlsplit(request.url)
    if parts.netloc.endswith(HOSTS):
        request.url = os.environ['IBM_STAND_IN'] + urllib.parse.urlunsplit(('', '', *parts[2:]))
        request.headers['Host'] = parts.netloc
    return original(self, request, *arguments, **more)


HTTPAdapter.send = send
