"""What mkdocs has to know: pages above docs/, anchors as GitHub makes them, lists that are indented less."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[2]
ABOVE = {"README.md": "index.md", "CHANGELOG.md": "CHANGELOG.md"}
"""Pages of the top folder, and their names in the site."""


def slug(heading: str, separator: str) -> str:
    """The anchor that GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", separator)


def on_config(config: Any) -> Any:
    """Anchors as in the checkout."""
    config.mdx_configs["toc"] = {"slugify": slug}
    return config


def on_files(files: Any, config: Any) -> Any:
    """README.md, CHANGELOG.md, and what pages lead to in conf/."""
    for name, there in ABOVE.items():
        files.append(File.generated(config, there, content=(ROOT / name).read_text(encoding="utf-8")))
    for file in sorted((ROOT / "conf").rglob("*")):
        if file.is_file():
            files.append(File.generated(config, str(file.relative_to(ROOT)), abs_src_path=str(file)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links as they are in the site, and what belongs to an item of a list indented by four spaces."""
    above = page.file.src_uri in ABOVE.values()
    for name, there in ABOVE.items():
        markdown = markdown.replace(f"](../{name}", f"]({there}")
    markdown = re.sub(r"\]\(docs/", "](", markdown) if above else markdown.replace("](../conf/", "](conf/")
    markdown = re.sub(r"\[([^]]*)\]\(\.\./tests/[^)]*\)", r"`\1`", markdown)
    blocks = re.split(r"(^```.*?^```$)", markdown, flags=re.MULTILINE | re.DOTALL)
    blocks[::2] = [re.sub(r"^ {2,3}(?=\S)", "    ", it, flags=re.MULTILINE) for it in blocks[::2]]
    return "".join(blocks)
