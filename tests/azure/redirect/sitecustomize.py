"""Lets an unmodified Python program find the simulated cloud: it has Azure's hosts in its source.

Python imports this module when it starts with this folder in PYTHONPATH. Requests of the library `requests` for Azure's
hosts go to AZURE_STAND_IN instead, with the header Host that they would have had.
"""
import os
import urllib.parse

import requests.adapters

HOSTS = ('management.azure.com', 'login.microsoftonline.com')
original = requests.adapters.HTTPAdapter.send


def send(self, request, *arguments, **options):
    url = urllib.parse.urlsplit(request.url)
    if url.hostname in HOSTS:
        request.url = os.environ['AZURE_STAND_IN'] + request.path_url
        request.headers['Host'] = url.netloc
    return original(self, request, *arguments, **options)


requests.adapters.HTTPAdapter.send = send
