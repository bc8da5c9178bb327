"""Access tokens of IAM for an API key."""
import base64
import json
import secrets
import time

from ibm_catalog import ACCOUNT

API_KEY = 'key-of-the-suite'
KEY_GRANT = 'urn:ibm:params:oauth:grant-type:apikey'


class Refused(Exception):
    """Of a grant: the code and the text of the answer."""


class Tokens:
    def __init__(self, settings):
        """`settings`: a mapping; token_seconds is how long a token is valid."""
        self.settings = settings
        self.issued = {}  # the time of expiry by access token
        self.refresh_tokens = set()

    def issue(self):
        """A JWT, whose signature no client can verify."""
        begin, seconds = int(time.time()), self.settings['token_seconds']
        parts = [{'kid': 'suite', 'alg': 'RS256'}, {
            'iam_id': 'iam-ServiceId-suite', 'sub': 'ServiceId-suite', 'sub_type': 'ServiceId',
            'account': {'valid': True, 'bss': ACCOUNT}, 'iat': begin, 'exp': begin + int(seconds),
            'iss': 'https://iam.cloud.ibm.com/identity', 'grant_type': KEY_GRANT, 'scope': 'ibm openid'}]
        token = '.'.join([*(encode(json.dumps(part).encode()) for part in parts), encode(secrets.token_bytes(32))])
        refresh_token = secrets.token_urlsafe(24)
        self.issued[token] = time.time() + seconds
        self.refresh_tokens.add(refresh_token)
        return {'access_token': token, 'refresh_token': refresh_token, 'token_type': 'Bearer', 'scope': 'ibm openid',
                'expires_in': int(seconds), 'expiration': begin + int(seconds)}

    def revoke_all(self):
        self.issued.clear()

    def is_valid(self, headers):
        """`headers`: of a call, names in lower case."""
        kind, _, token = headers.get('authorization', '').partition(' ')
        return kind.lower() == 'bearer' and time.time() < self.issued.get(token, 0)

    def grant(self, form):
        """The answer to a request at the token endpoint."""
        kind = form.get('grant_type')
        if form.get('response_type', 'cloud_iam') != 'cloud_iam':
            raise Refused('BXNIM0106E', "Validation of property 'response_type' failed. Valid values: 'cloud_iam'")
        if kind == 'refresh_token' and form.get('refresh_token') in self.refresh_tokens:
            return self.issue()
        if kind == KEY_GRANT and form.get('apikey') == API_KEY:
            return self.issue()
        if kind == KEY_GRANT:
            raise Refused('BXNIM0415E', 'Provided API key could not be found.')
        raise Refused('BXNIM0137E', f'Grant type {kind} is not simulated, or the refresh token is unknown.')


def encode(content):
    return base64.urlsafe_b64encode(content).decode().rstrip('=')
