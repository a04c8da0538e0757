"""Builds both jars with javac and the package py4j alone: no Maven, no Hive, nothing downloaded.

pysync-listener.jar is for the Hive Metastore, pysync-copy.jar for Spark. Neither has a class that the other needs.

The sources are compiled for Java 8 against stubs of what they use of Hive, Hadoop, thrift and slf4j (not packaged). The
listener is packed with the few py4j classes that a pure client needs. Those get a package of our own: a metastore may
have another py4j. The same sources, py4j and JDK give the same bytes.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path

from relocate import RelocationError, relocate

HERE = Path(__file__).resolve().parent
LISTENER = HERE / "src" / "main" / "java"
COPY = HERE / "src" / "copy" / "java"
STUBS = (HERE / "src" / "stubs" / "common", HERE / "src" / "stubs" / "newer")
OLDEST_JDK = 9  # the first whose javac has --release
JDK_HELP = "install JDK {} or newer (Debian: apt-get install default-jdk-headless), or set JAVA_HOME to one"
LINT = "-Xlint:all,-options,-path,-classfile,-processing"
FIXED_TIME = (1980, 1, 1, 0, 0, 0)
PY4J, OUR_PY4J = "py4j", "org/pysync/py4j"
# What a pure client needs. py4j's servers, gateway and reflection stay out of the metastore.
PY4J_CLASSES = (
    "Base64",
    "CallbackConnection",
    "NetworkUtil",
    "Protocol",
    "Py4JAuthenticationException",
    "Py4JClientConnection",
    "Py4JException",
    "Py4JJavaException",
    "Py4JNetworkException",
    "Py4JNetworkException$ErrorTime",
    "ReturnObject",
    "StringUtil",
)


class BuildError(Exception):
    """Something is missing or javac said no; the message is for the person at the terminal."""


def find_javac(oldest: int = OLDEST_JDK) -> str:
    """The javac of JAVA_HOME, or else of PATH."""
    home = os.environ.get("JAVA_HOME")
    if home:
        javac = Path(home) / "bin" / "javac"
        if javac.is_file():
            return str(javac)
    found = shutil.which("javac")
    if found is None:
        raise BuildError(f"there is no Java compiler (javac): {JDK_HELP.format(oldest)}")
    return found


def check_jdk(javac: str, oldest: int = OLDEST_JDK) -> int:
    """Its version, which is not older than that."""
    said = subprocess.run([javac, "-version"], capture_output=True, text=True, check=False)
    words = (said.stdout + said.stderr).strip()
    version = re.search(r"javac (?:1\.)?(\d+)", words)
    if version is None:
        raise BuildError(f"{javac} -version says {words!r}: {JDK_HELP.format(oldest)}")
    if int(version[1]) < oldest:
        raise BuildError(f"{javac} is of JDK {version[1]}: {JDK_HELP.format(oldest)}")
    return int(version[1])


def compiled(javac: str, sources: Path, class_path: str, stubs: Sequence[Path] = STUBS) -> dict[str, bytes]:
    """The classes of the sources, for Java 8, by their names in a jar; warnings are errors. None is of a stub."""
    with tempfile.TemporaryDirectory() as classes:
        run_javac(javac, sources, Path(classes), class_path, stubs)
        return {path.relative_to(classes).as_posix(): path.read_bytes() for path in Path(classes).rglob("*.class")}


def run_javac(javac: str, sources: Path, output: Path, class_path: str, stubs: Sequence[Path]) -> None:
    """Puts the classes below `output`. Raises BuildError with what javac says."""
    options = ["--release", "8", LINT, "-Werror", "-proc:none", "-encoding", "UTF-8", "-g", "-implicit:none"]
    files = sorted(str(path) for path in sources.rglob("*.java"))
    beside = os.pathsep.join(os.path.relpath(folder, HERE) for folder in stubs)  # a colon above HERE would divide paths
    paths = ["-cp", class_path, "-sourcepath", beside, "-d", str(output)]
    done = subprocess.run([javac, *options, *paths, *files], capture_output=True, text=True, check=False, cwd=HERE)
    if done.returncode:
        raise BuildError(f"{done.stdout}{done.stderr}javac failed")


def py4j_package() -> Distribution:
    """The installed Python package: it comes with py4j's jar."""
    try:
        return Distribution.from_name("py4j")
    except PackageNotFoundError:
        raise BuildError("the package py4j, which holds its jar, is not installed: pip install py4j") from None


def py4j_file(package: Distribution, pattern: str) -> Path:
    """One of its files, wherever it was installed to."""
    for file in package.files or []:
        path = Path(str(file.locate()))
        if file.match(pattern) and path.is_file():
            return path
    raise BuildError(f"the installed py4j has no {pattern}: pip install --force-reinstall py4j")


def py4j_classes(jar: Path) -> dict[str, bytes]:
    """Those that a client needs."""
    with zipfile.ZipFile(jar) as packed:
        names = [f"{PY4J}/{name}.class" for name in PY4J_CLASSES]
        missing = sorted({*names} - {*packed.namelist()})
        if missing:
            raise BuildError(f"{jar} has no {', '.join(missing)}: it is not a py4j that pysync knows")
        return {name: packed.read(name) for name in names}


def relocated(classes: dict[str, bytes]) -> dict[str, bytes]:
    """The classes with py4j where it is ours."""
    try:
        return {
            re.sub(f"^{PY4J}/", f"{OUR_PY4J}/", name): relocate(code, PY4J, OUR_PY4J) for name, code in classes.items()
        }
    except RelocationError as error:
        raise BuildError(f"py4j cannot get a package of ours: {error}") from None


def own_files(title: str, jdk: int) -> dict[str, bytes]:
    """The manifest and our license."""
    pyproject = (HERE.parent / "pyproject.toml").read_text(encoding="utf-8")
    version = re.search(r'^version = "([^"]+)"', pyproject, re.MULTILINE)
    if version is None:
        raise BuildError("pyproject.toml says no version")
    lines = [
        "Manifest-Version: 1.0",
        f"Implementation-Title: {title}",
        f"Implementation-Version: {version[1]}",
        f"Build-Jdk-Spec: {jdk}",
    ]
    return {
        "META-INF/MANIFEST.MF": "".join(f"{line}\r\n" for line in [*lines, ""]).encode(),
        "META-INF/LICENSE": (HERE.parent / "LICENSE").read_bytes(),
    }


def write_jar(files: dict[str, bytes], output: Path) -> None:
    """The manifest first, then by name, with fixed times: the same files give the same bytes."""
    output.parent.mkdir(parents=True, exist_ok=True)
    unfinished = output.with_name(output.name + ".new")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as jar:
        for name in sorted(files, key=lambda name: (name != "META-INF/MANIFEST.MF", name)):
            entry = zipfile.ZipInfo(name, FIXED_TIME)
            entry.external_attr = 0o644 << 16
            jar.writestr(entry, files[name], zipfile.ZIP_DEFLATED)
    unfinished.replace(output)


def build(directory: Path) -> None:
    """Compiles and packs both."""
    javac = find_javac()
    jdk = check_jdk(javac)
    package = py4j_package()
    py4j = py4j_file(package, "share/py4j/py4j*.jar")
    listener = relocated({**compiled(javac, LISTENER, str(py4j)), **py4j_classes(py4j)})
    notices = {
        "META-INF/NOTICE": (HERE / "NOTICE").read_bytes(),
        "META-INF/LICENSE-py4j.txt": py4j_file(package, "LICENSE*").read_bytes(),
    }
    copy = compiled(javac, COPY, "")
    write_jar({**own_files("pysync-listener", jdk), **listener, **notices}, directory / "pysync-listener.jar")
    write_jar({**own_files("pysync-copy", jdk), **copy}, directory / "pysync-copy.jar")


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Build the jars of the listener and of the file copy.")
    parser.add_argument(
        "--check-jdk",
        type=int,
        nargs="?",
        const=OLDEST_JDK,
        metavar="VERSION",
        help="only look for a JDK of that version",
    )
    parser.add_argument("--output", type=Path, default=Path("build"), metavar="DIRECTORY")
    arguments = parser.parse_args()
    try:
        if arguments.check_jdk:
            check_jdk(find_javac(arguments.check_jdk), arguments.check_jdk)
        else:
            build(arguments.output)
            print(f"built the jars in {arguments.output}")
    except (BuildError, OSError, zipfile.BadZipFile) as error:
        print(f"pysync: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
