# SPDX-License-Identifier: BSD-3-Clause
"""site_links.py FOLDER: follows every link of the pages there that stays there; prints those that lead nowhere, and the
numbers of pages and links."""
import html
import os
import re
import sys

top = sys.argv[1]
pages = {os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names if name.endswith(".html")}
texts = {}
for page in pages:
    with open(page, encoding="utf-8") as file:
        texts[page] = file.read()
anchors = {page: set(re.findall(r'\b(?:id|name)="([^"]+)"', text)) for page, text in texts.items()}
links = broken = 0
for page, text in sorted(texts.items()):
    for written in re.findall(r'<(?:a|img|link|script)\b[^>]*?\b(?:href|src)="([^"]+)"', text):
        uri = html.unescape(written)
        if re.match(r"[a-z]+:|//", uri):
            continue
        path, _, anchor = uri.partition("#")
        path = path.partition("?")[0]
        target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        links += 1
        if not os.path.exists(target) or (anchor and target in anchors and anchor not in anchors[target]):
            broken += 1
            print(f"{os.path.relpath(page, top)}: {uri}")
print(f"{len(pages)} pages, {links} links, {broken} broken")
