"""Access tokens: by Google's token endpoint for the key of a service account, a refresh token or the token of another
identity provider, by IAM for the account that this identity may act as, by the metadata server for the account of the
machine."""
import base64
import datetime
import json
import secrets
import time

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

AUDIENCE = 'https://oauth2.googleapis.com/token'
JWT_GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
PLATFORM_SCOPE = 'https://www.googleapis.com/auth/cloud-platform'
IAM_SCOPES = {PLATFORM_SCOPE, 'https://www.googleapis.com/auth/iam'}  # for the token of a service account
LONGEST = 3600  # seconds that an assertion may be valid
SKEW = 60       # seconds that clocks may differ
KEY_ID = '5f6a2c0e'
USER = {'client_id': 'suite.apps.googleusercontent.com', 'client_secret': 'of-the-suite',
        'refresh_token': '1//of-the-suite'}


# Workload identity federation: https://google.aip.dev/auth/4117
EXCHANGE_GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange'
ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'
EXTERNAL = {'audience': '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/ci/providers/ci',
            'subject_token_type': 'urn:ietf:params:oauth:token-type:jwt'}


class Refused(Exception):
    """Of a grant: the code and the text of the answer."""


class Tokens:
    def __init__(self, email, settings):
        """`settings`: a mapping; token_seconds is how long a token is valid."""
        self.email = email
        self.settings = settings
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.issued = {}  # the time of expiry and the scopes, by token
        self.subject_token = secrets.token_urlsafe(48)

    def key_file(self, project, token_uri):
        """The content of a service account's key file."""
        key = self.key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                     serialization.NoEncryption()).decode()
        return {'type': 'service_account', 'project_id': project, 'private_key_id': KEY_ID, 'private_key': key,
                'client_email': self.email, 'client_id': '100000000000000000001', 'token_uri': token_uri,
                'universe_domain': 'googleapis.com'}

    def issue(self, scopes):
        token = f'ya29.{secrets.token_urlsafe(48)}'
        seconds = self.settings['token_seconds']
        self.issued[token] = time.time() + seconds, frozenset(scopes)
        return {'access_token': token, 'expires_in': int(seconds), 'token_type': 'Bearer'}

    def revoke_all(self):
        self.issued.clear()

    def external_account(self, directory, url, impersonates):
        """The content of a file for workload identity federation, whose own token is in another file."""
        file = directory / 'subject.json'
        file.write_text(json.dumps({'id_token': self.subject_token}))
        impersonation = f'{url}/v1/projects/-/serviceAccounts/{self.email}:generateAccessToken'
        return {'type': 'external_account', **EXTERNAL, 'token_url': f'{url}/token',
                'credential_source': {'file': str(file), 'format': {'type': 'json', 'subject_token_field_name': 'id_token'}},
                **({'service_account_impersonation_url': impersonation} if impersonates else {})}

    def scopes(self, token):
        """None: the token is not or no longer valid."""
        expiry, scopes = self.issued.get(token, (0, None))
        return scopes if time.time() < expiry else None

    def grant(self, form):
        """The answer to a request at the token endpoint."""
        kind = form.get('grant_type')
        if kind == 'refresh_token':
            if any(form.get(name) != value for name, value in USER.items()):
                raise Refused('invalid_grant', 'Bad Request')
            return {**self.issue([PLATFORM_SCOPE]), 'scope': PLATFORM_SCOPE}
        if kind == EXCHANGE_GRANT:
            wanted = {**EXTERNAL, 'subject_token': self.subject_token, 'requested_token_type': ACCESS_TOKEN}
            if wrong := [name for name, value in wanted.items() if form.get(name) != value]:
                raise Refused('invalid_grant', f'Not the suite\'s: {wrong}')
            return {**self.issue(form.get('scope', '').split()), 'issued_token_type': ACCESS_TOKEN}
        if kind != JWT_GRANT:
            raise Refused('unsupported_grant_type', f'Invalid grant_type: {kind}')
        return self.issue(self.read_assertion(form.get('assertion', '')))

    def impersonate(self, token, content):
        """The answer to a request for a token of the service account, with the token of another identity."""
        if not IAM_SCOPES & (self.scopes(token) or set()):
            raise Refused('UNAUTHENTICATED', 'Request had invalid authentication credentials.')
        if not content.get('scope') or not content.get('lifetime', '3600s').endswith('s'):
            raise Refused('INVALID_ARGUMENT', 'Request contains an invalid argument.')
        issued = self.issue(content['scope'])
        end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=issued['expires_in'])
        return {'accessToken': issued['access_token'], 'expireTime': end.strftime('%Y-%m-%dT%H:%M:%SZ')}

    def read_assertion(self, assertion):
        """Its scopes."""
        try:
            head, claims, signature = assertion.split('.')
            header, content = json.loads(decode(head)), json.loads(decode(claims))
            signature = decode(signature)
        except ValueError:
            raise Refused('invalid_grant', 'Invalid JWT: Failed to decode.') from None
        if header.get('alg') != 'RS256' or header.get('typ', 'JWT') != 'JWT' or header.get('kid', KEY_ID) != KEY_ID:
            raise Refused('invalid_grant', 'Invalid JWT Signature.')
        try:
            self.key.public_key().verify(signature, f'{head}.{claims}'.encode(), padding.PKCS1v15(), hashes.SHA256())
        except InvalidSignature:
            raise Refused('invalid_grant', 'Invalid JWT Signature.') from None
        if content.get('iss') != self.email or content.get('sub', self.email) != self.email:
            raise Refused('invalid_grant', 'Invalid grant: account not found')
        if content.get('aud') not in (AUDIENCE, self.settings['token_uri']):
            raise Refused('invalid_grant', 'Invalid JWT: aud is not the token endpoint.')
        self.check_times(content)
        if not content.get('scope'):
            raise Refused('invalid_scope', 'Invalid OAuth scope or ID token audience provided.')
        return content['scope'].split()

    @staticmethod
    def check_times(content):
        begin, end, now = content.get('iat'), content.get('exp'), time.time()
        if not isinstance(begin, int) or not isinstance(end, int) or not (
                begin - SKEW <= now <= end + SKEW and begin < end <= begin + LONGEST):
            raise Refused('invalid_grant', 'Invalid JWT: Token must be a short-lived token (60 minutes) and in a '
                          'reasonable timeframe. Check your iat and exp values in the JWT claim.')


def decode(part):
    """base64url without padding."""
    return base64.b64decode(part + '=' * (-len(part) % 4), altchars=b'-_', validate=True)
