"""The lists of stable names: FOLDER/KIND.txt, one name a line, sorted."""
FOLDER = 'tests/stability'
GONE = ('A stable name is gone or has changed. docs/stability.md: it is deprecated first, and removed in a MAJOR '
        'version, with tools/stable-names --update --remove.')
NEW = 'Names are new: run tools/stable-names --update.'


def read(folder):
    """The names in the lists, by kind."""
    return {path.stem: set(path.read_text().splitlines()) for path in sorted(folder.glob('*.txt'))}


def differences(listed, declared):
    """The names that are gone and those that are new, as (kind, name)."""
    before, after = ({(kind, name) for kind, names in all_names.items() for name in names}
                     for all_names in (listed, declared))
    return sorted(before - after), sorted(after - before)


def lines(word, names):
    return [f'{FOLDER}/{kind}.txt: {word}: {name}' for kind, name in names]


def check(folder, declared):
    """What differs, and what to do about it; empty: nothing."""
    gone, new = differences(read(folder), declared)
    return lines('gone', gone) + ([GONE] if gone else []) + lines('new', new) + ([NEW] if new else [])


def update(folder, declared, may_remove):
    """Writes the lists, unless a name is gone that must not be; then returns the problems."""
    gone, _ = differences(read(folder), declared)
    if gone and not may_remove:
        return [*lines('gone', gone), GONE]
    for path in folder.glob('*.txt'):
        path.unlink()
    for kind, names in declared.items():
        (folder / f'{kind}.txt').write_text(''.join(f'{name}\n' for name in sorted(names)))
    return []
