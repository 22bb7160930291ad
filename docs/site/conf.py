# SPDX-License-Identifier: Apache-2.0
"""The documentation as a site: `make docs` writes it to build/docs.

The source folder is the root of the repository, so that links between pages, and from a page to a
file, are the same here and where the repository is browsed. A broken link fails the build.
"""

import shutil
import subprocess
import sys
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from pygments.lexers.special import TextLexer

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))
import comments  # noqa: E402  beside this file
import expand  # noqa: E402
import levada  # noqa: E402  the installed package, whose docstrings are read

project = "levada"
copyright = "the levada authors"
version = release = levada.__version__
root_doc = "README"
source_suffix = {".md": "markdown"}
include_patterns = [
    "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGES.md", "SECURITY.md",
    "CODE_OF_CONDUCT.md", "bench/RESULTS.md", "packaging/README.md", "docs/**",
]  # fmt: skip
exclude_patterns = ["build*", "dist", ".*", "docs/site/navigation.md"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "hawkmoth"]
myst_heading_anchors = 3
myst_html_meta = {
    "description": "Input pipelines for sequence models: batches with almost no padding, and "
    "checkpoints that resume at the exact batch."
}
myst_enable_extensions = ["html_image"]
highlight_language = "text"
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 80
c_maximum_signature_line_length = 80
suppress_warnings = ["misc.highlighting_failure"]  # "..." in JSON and in Python that TF runs

hawkmoth_root = str(ROOT / "build" / "docs" / "headers")
hawkmoth_compiler = "cc"  # where its own headers are: libclang brings none
hawkmoth_clang = [f"-I{hawkmoth_root}"]

html_theme = "furo"
html_title = f"levada {version}"
html_static_path = ["static"]
html_favicon = "static/icon.svg"
html_css_files = ["site.css"]
html_js_files = ["copy.js"]
html_copy_source = False
html_search_scorer = str(HERE / "scorer.js")


class CommandHelp(Directive):
    """The help of the command, or of the subcommand that is the content, as it prints it."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        words = [*self.content, "--help"]
        command = shutil.which("levada") or ROOT / "build" / "release" / "tools" / "levada"
        done = subprocess.run([command, *words], capture_output=True, text=True, check=True)
        return [nodes.literal_block(done.stdout, done.stdout, language="text")]


def read_source(app, docname: str, source: list[str]) -> None:
    """The README is the first page, with a navigation; fences of the reference are expanded."""
    if docname == root_doc:
        source[0] += "\n" + (HERE / "navigation.md").read_text()
    if docname.startswith("docs/site/reference/"):
        source[0] = expand.expanded(source[0], ROOT)


def write_start(app, exception) -> None:
    """The folder opens at the first page."""
    if not exception and app.builder.format == "html":
        page = f'<meta http-equiv="refresh" content="0; url={root_doc}.html">\n'
        Path(app.outdir, "index.html").write_text(page)


def setup(app) -> None:
    app.add_lexer("output", TextLexer)
    app.add_directive("command-help", CommandHelp)
    app.connect("source-read", read_source)
    app.connect("builder-inited", lambda _: comments.stage_headers(ROOT, Path(hawkmoth_root)))
    app.connect("hawkmoth-process-docstring", comments.as_restructured_text)
    app.connect("autodoc-process-docstring", comments.docstring)
    app.connect("build-finished", write_start)
