"""The software bill of materials of a Debian package: SPDX 2.3 in JSON."""
import datetime
import hashlib
import json
import re
import urllib.parse
import uuid

import repository

DOCUMENT, PACKAGE = 'SPDXRef-DOCUMENT', 'SPDXRef-Package-nodepool'
NAMESPACE = uuid.UUID('2f0f4a43-5d57-4d0d-8f57-0f0f5f0f1c9a')  # drawn once, for the ids of documents
DEPENDENCY = re.compile(r'^\s*([a-z0-9][a-z0-9+.-]+)')
COPYRIGHT_FORMAT = re.compile(r'Format: \S*/copyright-format/')
LICENSE = re.compile(r'^License:[ \t]*(\S.*?)[ \t]*$', re.MULTILINE)
QUERY = '${Package}\t${Version}\t${Architecture}\t${db:Status-Status}\t${Provides}\n'


def dependencies(field):
    """The names of packages in a field like Depends; of alternatives, the first."""
    return sorted({found[1] for part in field.split(',') if (found := DEPENDENCY.match(part))})


def installed(listing):
    """{name: (package, version, architecture)} of the installed packages, and of the names that they provide, in what
    dpkg-query prints for QUERY."""
    rows = [line.split('\t') for line in listing.splitlines()]
    rows = [(name, version, architecture, provides) for name, version, architecture, status, provides in rows
            if status == 'installed']
    provided = {virtual: row[:3] for row in rows for virtual in dependencies(row[3])}
    return provided | {row[0]: row[:3] for row in rows}


def licenses(name, copyright_text):
    """What a package's copyright file says, for people: its names are Debian's, not SPDX's, and also those of parts that
    are in no library, such as the packaging."""
    names = sorted(set(LICENSE.findall(copyright_text)))
    if not COPYRIGHT_FORMAT.match(copyright_text) or not names:
        return f'See /usr/share/doc/{name}/copyright.'
    return f'Named in /usr/share/doc/{name}/copyright: {"; ".join(names)}.'


def of_package(path, system, sources, environment, version, epoch):
    """The document for a package that has been built from `sources`, on a system: its dependencies have the versions
    that are installed there."""
    def ask(*command):
        return system.run(*command, folder=sources, environment=environment)
    def copyright_text(name):
        place = system.outside(f'/usr/share/doc/{name}/copyright')
        return place.read_text(errors='replace') if place.exists() else ''
    known = installed(ask('dpkg-query', '--show', f'--showformat={QUERY}'))
    return document(path.name, version, path.read_bytes(), epoch,
                    runtime=dependencies(repository.field(path, 'Depends')),
                    build=ask('tools/bootstrap', '--list').split(),
                    known=known, copyright_text=copyright_text,
                    distribution=ask('sh', '-c', '. /etc/os-release; echo "$ID"').strip())


def document(name, version, content, epoch, runtime, build, known, copyright_text, distribution):
    """`content`: of the package. `runtime`, `build`: names of the packages that it depends on and that are needed to
    build it; libraries that consist of headers are among the latter. `known`: as of installed(). `copyright_text`: a
    function that returns that of a package. Raises ValueError."""
    missing = sorted({*runtime, *build} - known.keys())
    if missing:
        raise ValueError(f'not installed where the package has been built: {", ".join(missing)}')
    runtime, build = ({known[name][0] for name in names} for names in (runtime, build))
    digest = hashlib.sha256(content).hexdigest()
    others = sorted(runtime | build)
    return {
        'spdxVersion': 'SPDX-2.3',
        'dataLicense': 'CC0-1.0',
        'SPDXID': DOCUMENT,
        'name': name,
        'documentNamespace': f'urn:uuid:{uuid.uuid5(NAMESPACE, digest)}',
        'creationInfo': {'created': datetime.datetime.fromtimestamp(epoch, datetime.UTC).strftime('%Y-%m-%dT%H:%M:%SZ'),
                         'creators': ['Organization: The Nodepool developers', 'Tool: tools/release']},
        'documentDescribes': [PACKAGE],
        'packages': [{
            'SPDXID': PACKAGE, 'name': 'nodepool', 'versionInfo': version, 'packageFileName': name,
            'supplier': 'Organization: The Nodepool developers', 'downloadLocation': 'NOASSERTION', 'filesAnalyzed': False,
            'licenseConcluded': 'Apache-2.0', 'licenseDeclared': 'Apache-2.0', 'copyrightText': 'NOASSERTION',
            'primaryPackagePurpose': 'INSTALL', 'checksums': [{'algorithm': 'SHA256', 'checksumValue': digest}],
        }, *(entry(*known[other], licenses(other, copyright_text(other)), distribution) for other in others)],
        'relationships': [
            relationship(DOCUMENT, 'DESCRIBES', PACKAGE),
            *(relationship(PACKAGE, 'DEPENDS_ON', id_of(other)) for other in sorted(runtime)),
            *(relationship(id_of(other), 'BUILD_DEPENDENCY_OF', PACKAGE) for other in sorted(build)),
        ],
    }


def entry(name, version, architecture, license_comments, distribution):
    quoted = urllib.parse.quote(version, safe='.+~-:')
    return {
        'SPDXID': id_of(name), 'name': name, 'versionInfo': version, 'supplier': f'Organization: {distribution}',
        'downloadLocation': 'NOASSERTION', 'filesAnalyzed': False, 'licenseConcluded': 'NOASSERTION',
        'licenseDeclared': 'NOASSERTION', 'licenseComments': license_comments, 'copyrightText': 'NOASSERTION',
        'externalRefs': [{'referenceCategory': 'PACKAGE-MANAGER', 'referenceType': 'purl',
                          'referenceLocator': f'pkg:deb/{distribution}/{name}@{quoted}?arch={architecture}'}],
    }


def id_of(name):
    return 'SPDXRef-Package-' + re.sub(r'[^A-Za-z0-9.-]', '-plus-', name)


def relationship(first, kind, second):
    return {'spdxElementId': first, 'relationshipType': kind, 'relatedSpdxElement': second}


def text(document):
    return json.dumps(document, indent=2) + '\n'
