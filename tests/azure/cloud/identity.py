"""Tokens: of the login service, for a client's secret, certificate or federated token, and of the instance metadata."""
import base64
import datetime
import hashlib
import secrets
import time
import urllib.parse
import uuid

import jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from arm import Answer, Refused
from azure_catalog import CLIENT, SECRET, TENANT

RESOURCE = 'https://management.azure.com'
LOGIN = f'https://login.microsoftonline.com/{TENANT}'
ASSERTION = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
ISSUER, SUBJECT = 'https://cluster.example/', 'system:serviceaccount:ci:nodepool'
AUDIENCE = 'api://AzureADTokenExchange'


class Rejected(Exception):
    """An error of the login service, in the form of OAuth."""

    def __init__(self, status, error, code, text):
        super().__init__(text)
        self.answer = Answer(status, {
            'error': error, 'error_description': f'AADSTS{code}: {text}', 'error_codes': [code],
            'timestamp': f'{datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M:%SZ}', 'trace_id': str(uuid.uuid4()),
            'correlation_id': str(uuid.uuid4())})


class Identity:
    def __init__(self, directory, settings):
        """Writes auth.json, client.pem and federated-token. `settings`() has the lifetime of tokens."""
        self.directory, self.settings = directory, settings
        self.tokens = {}  # until when they are valid
        self.used = set()
        self.key, self.issuer_key = (rsa.generate_private_key(65537, 2048) for _ in range(2))
        name, now = x509.Name([]), datetime.datetime.now(datetime.UTC)
        self.certificate = (x509.CertificateBuilder().subject_name(name).issuer_name(name).serial_number(7)
                            .public_key(self.key.public_key()).not_valid_before(now - datetime.timedelta(1))
                            .not_valid_after(now + datetime.timedelta(30)).sign(self.key, hashes.SHA256()))
        pem = serialization.Encoding.PEM
        (directory / 'client.pem').write_bytes(
            self.key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()) +
            self.certificate.public_bytes(pem))
        self.federate()

    def federate(self, lifetime=3600, **claims):
        """Writes a token of the cluster's issuer, as Kubernetes projects it into a pod."""
        token = {'iss': ISSUER, 'sub': SUBJECT, 'aud': [AUDIENCE], 'exp': int(time.time() + lifetime), **claims}
        (self.directory / 'federated-token').write_text(jwt.encode(token, self.issuer_key, 'RS256'))

    def give(self):
        """A new token and its lifetime in seconds."""
        lifetime = self.settings()['token_lifetime']
        token = f'eyJ0eXAiOiJKV1QifQ.{secrets.token_urlsafe(900)}.{secrets.token_urlsafe(256)}'
        self.tokens[token] = time.time() + lifetime
        return token, lifetime

    def authorize(self, request):
        scheme, _, token = request.headers.get('authorization', '').partition(' ')
        challenge = {'WWW-Authenticate': f'Bearer authorization_uri="{LOGIN}", error="invalid_token"'}
        if not token or scheme.lower() != 'bearer':
            raise Refused(401, 'AuthenticationFailed', "The 'Authorization' header is missing.", challenge)
        if token not in self.tokens:
            raise Refused(401, 'InvalidAuthenticationToken', 'The access token is invalid.', challenge)
        if self.tokens[token] <= time.time():
            raise Refused(401, 'ExpiredAuthenticationToken', 'The access token has expired.', challenge)

    def login(self, request):
        """POST /TENANT/oauth2[/v2.0]/token"""
        try:
            return self.exchange(request)
        except Rejected as rejected:
            return rejected.answer

    def exchange(self, request):
        tenant, is_new = request.path.split('/')[1], '/v2.0/' in request.path
        form = {name: values[0] for name, values in urllib.parse.parse_qs(request.body.decode()).items()}
        if not request.headers.get('content-type', '').startswith('application/x-www-form-urlencoded'):
            raise Rejected(400, 'invalid_request', 900144, 'The request body has not the form of a form.')
        if tenant != TENANT:
            raise Rejected(400, 'invalid_request', 90002, f"Tenant '{tenant}' not found.")
        if form.get('grant_type') != 'client_credentials':
            raise Rejected(400, 'unsupported_grant_type', 70003, 'The grant type is not supported.')
        if form.get('client_id') != CLIENT:
            raise Rejected(400, 'unauthorized_client', 700016, f"Application '{form.get('client_id')}' was not found.")
        audience = form.get('scope' if is_new else 'resource', '')
        if audience.removesuffix('.default').rstrip('/') != RESOURCE or is_new != audience.endswith('/.default'):
            raise Rejected(400, 'invalid_scope' if is_new else 'invalid_resource', 70011 if is_new else 500011,
                           f"'{audience}' is not valid.")
        if 'client_assertion' in form:
            self.check_assertion(form, request)
        elif form.get('client_secret') != SECRET:
            raise Rejected(401, 'invalid_client', 7000215, 'Invalid client secret provided.')
        token, lifetime = self.give()
        if is_new:
            return Answer(200, {'token_type': 'Bearer', 'expires_in': lifetime, 'ext_expires_in': lifetime,
                                'access_token': token})
        return Answer(200, {'token_type': 'Bearer', **self.times(lifetime), 'resource': audience,
                            'access_token': token})

    @staticmethod
    def times(lifetime):
        now = int(time.time())
        return {'expires_in': str(lifetime), 'ext_expires_in': str(lifetime), 'expires_on': str(now + int(lifetime)),
                'not_before': str(now - 300)}

    def check_assertion(self, form, request):
        """A certificate's: signed by its key, and named by its thumbprint. Otherwise a federated token."""
        if form.get('client_assertion_type') != ASSERTION:
            raise Rejected(400, 'invalid_request', 900144, "The request body must contain 'client_assertion_type'.")
        der = self.certificate.public_bytes(serialization.Encoding.DER)
        try:
            header = jwt.get_unverified_header(form['client_assertion'])
            prints = {'x5t': hashlib.sha1(der), 'x5t#S256': hashlib.sha256(der)}
            if named := [name for name in prints if name in header]:
                for name in named:
                    if header[name] != base64.urlsafe_b64encode(prints[name].digest()).decode().rstrip('='):
                        raise Rejected(401, 'invalid_client', 700027, 'The certificate is not registered.')
                claims = jwt.decode(form['client_assertion'], self.key.public_key(), ['RS256', 'PS256'],
                                    audience=[LOGIN + '/' + request.path.split('/', 2)[2], request.base + request.path],
                                    options={'require': ['exp', 'iss', 'sub', 'jti', 'aud']})
                if (claims['iss'], claims['sub']) != (CLIENT, CLIENT):
                    raise Rejected(401, 'invalid_client', 700021, 'Issuer and subject must be the client.')
                if claims['jti'] in self.used:
                    raise Rejected(401, 'invalid_client', 700022, 'The assertion has been used before.')
                self.used.add(claims['jti'])
            else:
                claims = jwt.decode(form['client_assertion'], self.issuer_key.public_key(),
                                    ['RS256'], audience=AUDIENCE)
                if (claims.get('iss'), claims.get('sub')) != (ISSUER, SUBJECT):
                    raise Rejected(401, 'invalid_client', 700213, 'No matching federated identity record.')
        except jwt.ExpiredSignatureError as error:
            raise Rejected(401, 'invalid_client', 700024,
                           'The assertion is not within its valid time range.') from error
        except jwt.PyJWTError as error:
            raise Rejected(401, 'invalid_client', 700027, f'The assertion is not valid: {error}') from error

    def metadata(self, request):
        """GET /metadata/identity/oauth2/token: of the machine's own identity, or the one with this client's id."""
        def bad(text):
            return Answer(400, {'error': 'invalid_request', 'error_description': text})
        if request.headers.get('metadata', '').lower() != 'true':
            return bad('Required metadata header not specified')
        if 'x-forwarded-for' in request.headers:
            return bad('The header X-Forwarded-For is not allowed')
        if request.version not in ('2018-02-01', '2019-08-01', '2021-02-01'):
            return bad('Required parameter api-version is missing or not supported')
        if request.query.get('resource', '').rstrip('/') != RESOURCE:
            return bad('Required audience parameter not specified')
        if request.query.get('client_id', CLIENT) != CLIENT:
            return bad('Identity not found')
        token, lifetime = self.give()
        return Answer(200, {'access_token': token, 'client_id': CLIENT, **self.times(lifetime), 'resource': RESOURCE,
                            'token_type': 'Bearer'})
