# SPDX-License-Identifier: Apache-2.0
"""Docstrings of the public names have one shape: a summary, Args with types, an example.

Every property and every bridge to a framework is in an example, too."""

import ast
import inspect
import json
import re
import shutil
import textwrap
from pathlib import Path

import levada as lv
import levada.train as lt
import pytest
from levada import _levada, _sources, _stages

# Files that examples read, and whose content is in the corpus of the fuzz targets.
ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "fuzz" / "corpus"
FILES = {
    "photo.jpg": "decoder_decode_jpeg/gray.jpg",
    "image.png": "decoder_decode_png/image.png",
    "speech.wav": "decoder_decode_wav/sound.wav",
    "speech.flac": "decoder_decode_flac/sound.flac",
}
SECTIONS = ["Args:", "Returns:", "Raises:", "Example:"]


def public():
    """(name, callable) of functions and classes, and of the methods of classes."""
    for module in (lv, lt):
        names = getattr(module, "__all__", dir(module))
        for name in sorted(set(names) - {"errors", "samples", "train"}):
            thing = getattr(module, name)
            if name.startswith("_") or not callable(thing):
                continue
            yield f"{module.__name__}.{name}", thing
            for method, value in vars(thing).items() if inspect.isclass(thing) else ():
                if not method.startswith("_") and inspect.isroutine(value):
                    yield f"{module.__name__}.{name}.{method}", getattr(thing, method)


def properties():
    """(class, name) of the properties of public classes."""
    for module in (lv, lt):
        things = [getattr(module, name) for name in getattr(module, "__all__", dir(module))]
        for thing in filter(inspect.isclass, things):
            for name, value in vars(thing).items():
                if not name.startswith("_") and inspect.isdatadescriptor(value):
                    yield thing, name


def parameters(thing):
    try:
        return set(inspect.signature(thing).parameters) - {"self", "args", "kwargs", "options"}
    except (TypeError, ValueError):
        return set()


def described(text):
    """{parameter: its type} of the section Args."""
    args = re.search(r"^Args:\n((?:    .*\n?|\n)+)", inspect.cleandoc(text) + "\n", re.M)
    return dict(re.findall(r"^    \**(\w+)(?: \((.*?)\))?:", args[1], re.M)) if args else {}


CALLABLES = dict(public()) | {"levada.samples.write": lv.samples.write}
NOUNS = {"levada.Dataset", "levada.Bytes"}  # classes whose summary is what an object is
GENERATED = {name: getattr(_sources, name) for name in _sources.__all__} | {
    name: value for name, value in vars(_stages.Stages).items() if not name.startswith("_")
}


@pytest.mark.parametrize("name", sorted(CALLABLES))
def test_a_docstring_has_its_sections(name):
    thing = CALLABLES[name]
    text = inspect.cleandoc(thing.__doc__)
    assert not parameters(thing) - set(described(text))
    assert all(described(text)[parameter] for parameter in parameters(thing))
    found = re.findall(rf"^(?:{'|'.join(SECTIONS)})$", text, re.M)
    assert found == [section for section in SECTIONS if section in found]
    assert "Example:" in found
    verb = text.split()[0]
    assert name in NOUNS or re.fullmatch(r"[A-Z][a-z]+s", verb), f"{verb} is not a verb"
    assert re.search(r"[.:]$", text.split("\n\n")[0])


def defaults(thing):
    """{parameter: its default} where that is a value that a docstring writes as Python does."""
    try:
        given = inspect.signature(thing).parameters.items()
    except (TypeError, ValueError):
        return {}
    plain = (bool, int, float, str, bytes, list, tuple, dict, type(None))
    return {name: each.default for name, each in given if isinstance(each.default, plain)}


@pytest.mark.parametrize("name", sorted(CALLABLES))
def test_a_docstring_has_the_defaults_of_the_signature(name):
    said = described(CALLABLES[name].__doc__)
    for parameter, default in defaults(CALLABLES[name]).items():
        if parameter in said:
            text = said[parameter].partition("default ")[2]
            assert (ast.literal_eval(text) if text else None) == default, parameter


def example(thing):
    """The code of the section Example."""
    text = inspect.cleandoc(thing.__doc__) + "\n"
    found = re.search(r"^Example:\n((?:    .*\n?|\n)+)", text, re.M)
    return textwrap.dedent(found[1]) if found else ""


EXAMPLES = {name: example(thing) for name, thing in CALLABLES.items()}


def test_every_property_is_in_an_example():
    pages = [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/site/reference/*.md")]  # of test_pages.py
    snippets = re.findall(
        r"^```python\n(.*?)^```$", "".join(page.read_text() for page in pages), re.M | re.S
    )
    code = "".join([*EXAMPLES.values(), *snippets])
    unused = {name for _, name in properties() if not re.search(rf"\.{name}\b", code)}
    assert unused == set()


@pytest.mark.parametrize("name", ["accelerate", "dcp", "lightning", "transformers"])
def test_a_bridge_begins_with_an_example_that_the_recipes_run(name):
    text = (ROOT / f"python/levada/{name}.py").read_text()
    assert f"levada.{name}." in ast.get_docstring(ast.parse(text)).partition("::\n")[2]
    assert f"levada.{name}." in (ROOT / "docs/distributed.md").read_text()  # test_frameworks.py


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_an_example_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for file, source in FILES.items():
        if file in EXAMPLES[name]:
            shutil.copy(CORPUS / source, file)
    try:
        exec(compile(EXAMPLES[name], name, "exec"), {"lv": lv, "lt": lt})
    except ImportError as error:
        pytest.skip(str(error))
    except lv.errors.UnimplementedError as error:  # a library that this build lacks
        pytest.skip(str(error))
    except lv.errors.NotFoundError:
        assert name.rpartition(".")[2] in GENERATED  # it reads a file of the conformance suite


@pytest.mark.parametrize("name", sorted(GENERATED))
def test_a_stage_has_all_sections(name):
    text = inspect.cleandoc(GENERATED[name].__doc__)
    sections = SECTIONS if parameters(GENERATED[name]) else SECTIONS[1:]
    assert re.findall(rf"^(?:{'|'.join(SECTIONS)})$", text, re.M) == sections
    summary = text.split("\n\n")[0]
    assert summary[0].isupper() and summary.endswith(".")
    assert not re.search(r"\b(null|true|false)\b", text.partition("Example:")[0])


ROWS = {row["name"]: row for row in json.loads(_levada.stages())}


def built(make):
    """Stages and fields of a dataset, or the error where it reads a file that does not exist."""
    try:
        ds = make()
        return re.findall(r"(?:^|\| )(\w+)", str(ds)), ds.spec
    except lv.errors.LevadaError as error:
        return type(error)


@pytest.mark.parametrize("name", sorted(GENERATED))
def test_the_example_of_a_stage_is_that_of_its_table(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, text = example(GENERATED[name]), ROWS[name]["example"]
    assert built(lambda: eval(code, {"lv": lv})) == built(lambda: lv.from_text(text))
    assert f".{name}(" in code
