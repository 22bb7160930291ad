# SPDX-License-Identifier: Apache-2.0
"""The introduction of each public header ends with an example, which compiles and runs."""

import re
import shutil
import subprocess
import textwrap

import pages
import pytest

INCLUDE = pages.ROOT / "include" / "levada"
NONE = {"binding.h", "plugin_names.h"}  # for the Python package; the names of other headers
HEADERS = sorted(path.name for path in INCLUDE.glob("*.h") if path.name not in NONE)
EXAMPLE = re.compile(r"\A/\* SPDX.*?\*/\n/\*.*?^ \* Example:\n \*\n(.*?)^ \*/", re.M | re.S)
# Descriptors of plug-ins, which a program registers.
DESCRIPTOR = re.compile(
    r"^static const levada_(stage|decoder|format|filter|opener)_def (\w+)", re.M
)
HEAD = """\
#define LEVADA_PLUGIN_HOST_SIDE
#include <levada/filter.h>
#include <levada/levada.h>
#include <levada/opener.h>
#include <levada/plugin.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
"""
REGISTER = """\
static levada_status examples_main(const levada_host *host, levada_plugin *plugin,
                                   levada_error *err)
{
    LEVADA_PLUGIN_BEGIN(host, plugin, "examples", 1);
%s    return LEVADA_OK;
}

static levada_status run(levada_error *err)
{
    return levada_plugin_register(NULL, examples_main, NULL, err);
}
"""
MAIN = """
int main(void)
{
    levada_error err = LEVADA_ERROR_INIT;
    char         text[LEVADA_ERROR_TEXT];

    if (run(&err) == LEVADA_OK) return 0;
    puts(levada_error_text(&err, text, sizeof text));
    return 1;
}
"""


def example(header):
    """The code of the example of a header."""
    found = EXAMPLE.match((INCLUDE / header).read_text())
    assert found, f"{header}: its first comment must end with an Example:"
    lines = (line.removeprefix(" *").removeprefix(" ") for line in found[1].split("\n"))
    return textwrap.dedent("\n".join(lines))


def program(header):
    """A program that runs the example: statements, functions with `run`, or descriptors."""
    code = example(header)
    if header == "plugin.h":
        code = example("stage.h") + code + REGISTER.replace("%s", "").replace("examples_", "own_")
        code = code.replace("NULL, own_main", "NULL, mine_main")
    elif not re.search(r"^(static|typedef) ", code, re.M):
        code = f"static levada_status run(levada_error *err)\n{{\n{code}return LEVADA_OK;\n}}\n"
    elif not re.search(r"^static levada_status run\(", code, re.M):
        added = "".join(
            f"    LEVADA_TRY(host->add_{kind}(plugin, &{name}, err));\n"
            for kind, name in DESCRIPTOR.findall(code)
        )
        code += REGISTER % added
    return f"{HEAD}\n{code}{MAIN}"


@pytest.mark.parametrize("header", HEADERS)
def test_the_example_of_a_header_runs(header, tmp_path):
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("no C compiler")
    source, run = tmp_path / "example.c", tmp_path / "example"
    source.write_text(program(header))
    warnings = ["-Wall", "-Wno-unused", "-Werror"]
    library = pages.ROOT / "build" / "release" / "src"
    subprocess.run(
        [compiler, "-std=c17", *warnings, "-I", INCLUDE.parent, source, "-o", run, "-L", library,
         "-llevada"],
        check=True,
    )  # fmt: skip
    environment = pages.environment(tmp_path)
    done = subprocess.run([run], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
