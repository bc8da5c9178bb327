"""Sphinx: the manual as a web site. manual.py copies this file, and passes the version."""
project = 'Nodepool'
author = 'The Nodepool developers'
extensions = ['myst_parser']
root_doc = 'README'
myst_heading_anchors = 6  # as on GitHub, which links in the pages expect
html_theme = 'furo'
html_copy_source = False
html_show_copyright = False
suppress_warnings = ['misc.highlighting_failure']  # examples with an ellipsis
