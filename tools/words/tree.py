"""All rules, for a whole tree."""
import glossary
import links
import names
import sentences
import texts
import type_names
import unused


def check(root):
    """All findings in the tree, sorted."""
    files = texts.read_tree(root)
    terms, findings = glossary.read(files)
    rules = unused.parse((root / unused.RULES).read_text()) + glossary.rules(terms)
    findings += glossary.check(terms, files)
    findings += unused.check(rules, files)
    findings += sentences.check(files)
    findings += links.check_all(root, files)
    findings += names.check_all(root, files)
    findings += type_names.check(type_names.parse((root / type_names.LISTED).read_text()), files)
    return sorted(set(findings))
