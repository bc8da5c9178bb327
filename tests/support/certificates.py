"""Certificates for tests, by openssl."""
import subprocess


class Authority:
    """A CA: ca.pem in the folder, and NAME.pem with NAME.key of each certificate."""

    def __init__(self, folder):
        self.folder = folder
        self.openssl('req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', 'ca.key', '-out', 'ca.pem',
                     '-days', '3650', '-subj', '/CN=test CA', '-addext', 'basicConstraints=critical,CA:TRUE')

    def issue(self, name, subject, extension=''):
        self.openssl('req', '-newkey', 'rsa:2048', '-nodes', '-keyout', f'{name}.key', '-out', f'{name}.csr',
                     '-subj', subject)
        (self.folder / 'extensions').write_text(f'extendedKeyUsage=serverAuth,clientAuth\n{extension}\n')
        self.openssl('x509', '-req', '-in', f'{name}.csr', '-CA', 'ca.pem', '-CAkey', 'ca.key',
                     '-CAcreateserial', '-days', '3650', '-extfile', 'extensions', '-out', f'{name}.pem')

    def openssl(self, *arguments):
        subprocess.run(['openssl', *arguments], cwd=self.folder, check=True, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
