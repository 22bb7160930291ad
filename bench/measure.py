# SPDX-License-Identifier: Apache-2.0
"""How a measure of rows.py is run: pinned programs, long-lived Python workers, fresh processes."""

import contextlib
import glob
import importlib.metadata
import json
import os
import re
import select
import shutil
import subprocess
import sys
import time

import data

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
PEERS = os.path.join(ROOT, ".venv-peers", "bin", "python")
LEAST_SECONDS = 0.2
MOST_SECONDS = 120  # of one call; a library that takes longer has hung


class Missing(Exception):
    """The measure cannot be run here: its library or program is not there."""


def cores(count):
    """The last `count` cores that this process may use: the first ones serve interrupts."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[-count:]


def warm(path):
    """Brings a file into the page cache."""
    with open(path, "rb", buffering=0) as stream:
        buffer = bytearray(1 << 20)
        while stream.readinto(buffer):
            pass


def can_import(interpreter, module):
    if not os.path.exists(interpreter):
        return False
    code = f"import importlib.util as u; exit(u.find_spec({module!r}) is None)"
    return subprocess.run([interpreter, "-c", code], capture_output=True, cwd=HERE).returncode == 0


class Worker:
    """One bench/worker.py process."""

    def __init__(self, interpreter, count):
        self.process = subprocess.Popen(
            [interpreter, os.path.join(HERE, "worker.py"), ",".join(map(str, cores(count)))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def call(self, what, options):
        request = {"call": what, "options": options, "least": LEAST_SECONDS}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], MOST_SECONDS)[0]:
            self.process.kill()
            raise Missing(f"{what}: no answer in {MOST_SECONDS} s")
        line = self.process.stdout.readline()
        if not line:
            raise Missing(f"{what}: the worker ended with {self.process.wait()}")
        result = json.loads(line)
        if "error" in result:
            raise Missing(f"{what}: {result['error']}")
        return result

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()


class Runner:
    """Runs measures; keeps the workers."""

    def __init__(self, folder, programs):
        self.folder = folder
        self.programs = programs  # where the bench programs were built
        self.workers = {}
        self.interpreters = {}
        self.missing = {}  # measure: why

    def interpreter(self, module):
        """The Python that has `module`; the one of the peers is preferred, for equal footing."""
        if module not in self.interpreters:
            found = [p for p in (PEERS, sys.executable) if can_import(p, module)]
            self.interpreters[module] = found[0] if found else None
        if self.interpreters[module] is None:
            raise Missing(f"no {module} here")
        return self.interpreters[module]

    def run(self, measure):
        """The result of one run, as a dict, or None where it cannot be run."""
        if measure in self.missing:
            return None
        try:
            if measure.file:
                warm(data.path(measure.file, self.folder))
            return getattr(self, "_" + measure.kind)(measure)
        except (Missing, OSError, subprocess.SubprocessError, ValueError) as error:
            self.missing[measure] = str(error)
            return None

    def _c(self, measure):
        program = os.path.join(self.programs, measure.program)
        if not os.path.exists(program):
            raise Missing(f"{measure.program} is not built")
        threads = 1 if measure.inner > 1 else measure.cores
        command = ["taskset", "-c", ",".join(map(str, cores(measure.cores))), program]
        path = data.path(measure.file, self.folder) if measure.file else os.devnull
        command += [measure.what, path, str(threads)]
        command += [str(int(LEAST_SECONDS * 1000)), str(measure.inner)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=MOST_SECONDS)
        if done.returncode:
            raise Missing(done.stderr.strip() or f"exit status {done.returncode}")
        result = json.loads(done.stdout)
        result["mean"] = result["check"] / result["n"]  # of works whose check is a sum of times
        return result

    def _py(self, measure):
        library = re.split("[_:]", measure.what)[0]
        modules = {
            "pil": "PIL",
            "mlx": "mlx.data",
            "ours": "levada",
            "tf": "tensorflow",
            "python": "google.protobuf",
            "sf": "soundfile",
            "stdlib": "csv",
        }
        interpreter = self.interpreter(modules.get(library, library))
        # mlx-data hangs in a process that has read from an iterable of Python before.
        own = measure.what.split(":")[0] if library == "mlx" else library
        key = (own, measure.cores)
        if key in self.workers and self.workers[key].process.poll() is not None:
            self.workers.pop(key)
        if key not in self.workers:
            self.workers[key] = Worker(interpreter, measure.cores)
        return self.workers[key].call(
            measure.what, {"folder": self.folder, **dict(measure.options)}
        )

    def _import(self, measure):
        """Seconds of `import X` in a fresh process; ours with NumPy imported before."""
        code = "import numpy\n" if measure.what == "levada" else ""
        code += "import time\nt = time.perf_counter()\n"
        code += f"import {measure.what}\nprint(time.perf_counter() - t)"
        done = subprocess.run(
            [self.interpreter(measure.what), "-c", code],
            capture_output=True, text=True, check=True, cwd=HERE,
        )  # fmt: skip
        return {"seconds": float(done.stdout.split()[-1])}

    def _size(self, measure):
        module = {"tensorflow-cpu": "tensorflow", "mlx-data": "mlx"}.get(measure.what, measure.what)
        code = f"import sys; sys.path.insert(0, {HERE!r}); import measure\n"
        code += f"print(measure.installed_size({measure.what!r}))"
        done = subprocess.run(
            [self.interpreter(module), "-c", code], capture_output=True, text=True, check=True
        )
        return {"size": int(done.stdout)}

    def _first(self, measure):
        module = {"tf": "tensorflow"}.get(measure.what, measure.what)
        script = os.path.join(HERE, "peers", "first_batch.py")
        begin = time.perf_counter()
        done = subprocess.run(
            [self.interpreter(module), script, measure.what, self.folder],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False,
        )  # fmt: skip
        seconds = time.perf_counter() - begin
        if done.returncode:
            raise Missing(f"first batch of {measure.what} failed")
        return {"seconds": seconds, "peak_mb": int(done.stdout.split()[-1]) / 1024}

    def _idle(self, measure):
        """Processor time of a work that only waits, as a share of the time that it took."""
        program = os.path.join(self.programs, measure.program)
        if not os.path.exists(program):
            raise Missing(f"{measure.program} is not built")
        begin = time.perf_counter()
        process = subprocess.Popen([program, measure.what, os.devnull], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        if status:
            raise Missing(f"{measure.what} failed")
        return {"cpu": (usage.ru_utime + usage.ru_stime) / (time.perf_counter() - begin)}

    def close(self):
        for worker in self.workers.values():
            worker.close()


# -- what is installed -----------------------------------------------------------------------------


def _closure(name, seen):
    """The distribution and what it requires, without extras."""
    name = re.sub("[-_.]+", "-", name).lower()
    if name in seen:
        return
    try:
        found = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return
    seen[name] = found
    for requirement in found.requires or []:
        if "extra ==" not in requirement:
            _closure(re.match(r"[\w.-]+", requirement).group(), seen)


def installed_size(name):
    """Bytes of a distribution with all that it needs, without NumPy's."""
    seen, numpy = {}, {}
    _closure(name, seen)
    _closure("numpy", numpy)
    total = 0
    for key, found in seen.items():
        if key in numpy:
            continue
        for file in found.files or []:
            path = str(found.locate_file(file))
            if os.path.isfile(path) and not path.endswith(".pyc"):
                total += os.path.getsize(path)
    return total


def versions():
    """The versions of what is compared, from the interpreter of the peers."""
    names = ["levada", "numpy", "tensorflow-cpu", "torch", "grain", "protobuf", "google-crc32c"]
    names += ["pandas", "polars", "pyarrow", "orjson", "webdataset", "pillow", "mlx-data"]
    code = "import importlib.metadata as m, json\nout = {}\n"
    code += f"for n in {names!r}:\n try: out[n] = m.version(n)\n except Exception: pass\n"
    code += "import platform; out['Python'] = platform.python_version()\nprint(json.dumps(out))"
    interpreter = PEERS if os.path.exists(PEERS) else sys.executable
    done = subprocess.run([interpreter, "-c", code], capture_output=True, text=True, cwd=HERE)
    return json.loads(done.stdout or "{}")


def caches():
    """The caches of one core: "L1d 32K, L2 512K, L3 32M"."""
    found = []
    for folder in sorted(glob.glob("/sys/devices/system/cpu/cpu0/cache/index*")):
        level, kind, size = (
            open(os.path.join(folder, name)).read().strip() for name in ("level", "type", "size")
        )
        if kind != "Instruction":
            found.append(f"L{level}{'d' if kind == 'Data' else ''} {size}")
    return ", ".join(found) or "caches not known"


def cpu_level():
    """The CPU level that levada chooses here: "avx2"."""
    code = "import levada; print(levada.show_config())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=HERE)
    found = re.search(r"cpu\W+(\w+)", done.stdout)
    return found.group(1) if found else "not known"


def machine():
    """Model of the processor, CPU level, caches, cores, kernel, compiler."""
    model = "unknown processor"
    with open("/proc/cpuinfo") as lines:
        for line in lines:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    with open("/proc/meminfo") as lines:
        memory = int(lines.readline().split()[1]) >> 20
    compiler = shutil.which("cc") or "cc"
    version = subprocess.run([compiler, "-dumpfullversion"], capture_output=True, text=True)
    return {
        "processor": model,
        "cpu_level": cpu_level(),
        "caches": caches(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": memory,
        "kernel": os.uname().release,
        "compiler": f"cc {version.stdout.strip()}",
    }
