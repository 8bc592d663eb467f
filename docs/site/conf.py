# SPDX-License-Identifier: BSD-3-Clause
"""Sphinx's configuration for the site (make site). The sources are those of the repository, staged by make_site: the
Markdown files as they are, and a page for each manual page. They are written for the repository's readers, so what only
a site needs is added here: the contents, links to manual pages, and pictures that open by themselves."""
import os
import re
from pathlib import Path

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.osutil import relative_uri

project = "pgas"
author = copyright = "the pgas authors, BSD-3-Clause"
release = version = os.environ["SITE_VERSION"]
extensions = ["myst_parser"]
myst_heading_anchors = 4
root_doc = "README"
exclude_patterns = ["docs/site"]
html_theme = "furo"
html_title = f"pgas {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False

_CONTENTS = {
    "Use it": ["docs/TUTORIAL", "docs/GUIDE", "docs/PYTHON", "docs/WHICH-PART", "docs/FAQ", "docs/TROUBLESHOOTING",
               "docs/TUNING", "docs/RACES"],
    "Measured": ["docs/bench/README", "docs/instr-count/README", "docs/SCALING"],
    "How it works": ["docs/README", "docs/ARCHITECTURE", *(f"docs/architecture/{p.stem}" for p in sorted(
        Path(os.environ["SITE_STAGE"], "docs/architecture").glob("*.md"))), "docs/ADDING", "CONTRIBUTING", "SECURITY",
                     "RELEASING", "NEWS"],
    "Manual pages": [f"man/{p.stem}" for p in sorted(Path(os.environ["SITE_STAGE"], "man").glob("*.md"),
                                                     key=lambda p: (p.stem.rpartition(".")[::-2], p.stem))],
}
_MANUAL = re.compile(r"([\w.-]+)\(([137])\)")
_BOLD_MANUAL = re.compile(r"<b>([\w.-]+)</b>\(([137])\)")
_ALIASES = dict(line.split() for line in Path(os.environ["SITE_STAGE"], "aliases").read_text().splitlines())


def _add_contents(app, name, source):
    """The tree of pages, which Sphinx wants in a page, where readers of the repository do not see it."""
    if name != root_doc:
        return
    for title, pages in _CONTENTS.items():
        source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n" + "\n".join(pages) + "\n```\n"


class _Links(SphinxPostTransform):
    """`shmem(7)` becomes a link to the page, and a picture one to its file."""

    default_priority = 400

    def run(self, **kwargs):
        here = self.app.builder.get_target_uri(self.env.docname)
        for text in list(self.document.findall(nodes.literal)):
            uri = self._manual_uri(_MANUAL.fullmatch(text.astext()), here)
            if uri:
                self._wrap(text, uri)
        for part in list(self.document.findall(nodes.raw)):
            linked = _BOLD_MANUAL.sub(lambda found: self._linked(found, here), part.astext())
            part.replace_self(nodes.raw("", linked, format=part["format"]))
        for picture in list(self.document.findall(nodes.image)):
            name = self.env.images.get(picture["uri"])
            if name:
                self._wrap(picture, relative_uri(here, f"_images/{name[1]}"))

    def _manual_uri(self, found, here):
        """The page that a NAME(SECTION) names, from the page `here`; None: it is this one, or not here."""
        if not found:
            return None
        name = _ALIASES.get(found[1], found[1]) if found[2] == "3" else found[1]
        page = f"man/{name}.{found[2]}"
        if page not in self.env.found_docs or page == self.env.docname:
            return None
        return relative_uri(here, self.app.builder.get_target_uri(page))

    def _linked(self, found, here):
        uri = self._manual_uri(found, here)
        return f'<a href="{uri}">{found[0]}</a>' if uri else found[0]

    @staticmethod
    def _wrap(node, uri):
        if isinstance(node.parent, nodes.reference):
            return
        link = nodes.reference(refuri=uri, internal=True)
        node.replace_self(link)
        link += node


def setup(app):
    app.connect("source-read", _add_contents)
    app.add_post_transform(_Links)
