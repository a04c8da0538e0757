"""Builds the listener jar with javac alone: no Maven, nothing downloaded.

The sources are compiled for Java 8 against pyspark's own Hive jars and the stubs of newer event types (not packaged),
and packed with the few py4j classes that a pure client needs. The same sources and jars give the same bytes.
"""

import argparse
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "src" / "main" / "java"
STUBS = HERE / "src" / "stubs" / "java"
OLDEST_JDK = 17  # pyspark 4's jars are Java 17; javac reads nothing newer than itself
JDK_HELP = "install a JDK 17 or newer (Debian: apt-get install openjdk-17-jdk-headless) or set JAVA_HOME to one"
LINT = "-Xlint:all,-options,-path,-classfile,-processing"
FIXED_TIME = (1980, 1, 1, 0, 0, 0)
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


def find_javac() -> str:
    """The javac of JAVA_HOME, or else of PATH."""
    home = os.environ.get("JAVA_HOME")
    if home:
        javac = Path(home) / "bin" / "javac"
        if javac.is_file():
            return str(javac)
    found = shutil.which("javac")
    if found is None:
        raise BuildError(f"pysync needs a Java compiler and finds no javac: {JDK_HELP}")
    return found


def check_jdk(javac: str) -> None:
    """Refuses a JDK that cannot read the jars."""
    said = subprocess.run([javac, "-version"], capture_output=True, text=True, check=False)
    words = (said.stdout + said.stderr).strip()
    version = re.search(r"javac (?:1\.)?(\d+)", words)
    if version is None:
        raise BuildError(f"{javac} -version says {words!r}: {JDK_HELP}")
    if int(version[1]) < OLDEST_JDK:
        raise BuildError(f"pysync needs JDK {OLDEST_JDK} or newer and {javac} is {version[1]}: {JDK_HELP}")


def pyspark_jars() -> Path:
    """The jars of pyspark, found without importing it."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise BuildError("the Hive jars come with pyspark, which is not installed: pip install pyspark, or --hive-jars")
    return Path(spec.origin).parent / "jars"


def py4j_jar(jars: Path) -> Path:
    """The py4j jar beside Hive's, or else the one that comes with the Python package."""
    found = [*jars.glob("py4j-*.jar"), *(Path(sys.prefix) / "share" / "py4j").glob("py4j*.jar")]
    if not found:
        raise BuildError(f"no py4j jar in {jars} nor in {sys.prefix}/share/py4j: pip install py4j")
    return found[0]


def compile_sources(javac: str, jars: Path, classes: Path) -> None:
    """The stubs first, into a folder of their own, so that they cannot get into the jar."""
    stubs = classes.with_name("stubs")
    run_javac(javac, STUBS, stubs, f"{jars}/*")
    run_javac(javac, SOURCES, classes, f"{stubs}:{jars}/*")


def run_javac(javac: str, sources: Path, output: Path, class_path: str) -> None:
    """Compiles for Java 8; warnings are errors."""
    output.mkdir(parents=True)
    options = ["--release", "8", LINT, "-Werror", "-proc:none", "-encoding", "UTF-8", "-g"]
    files = sorted(str(path) for path in sources.rglob("*.java"))
    command = [javac, *options, "-cp", class_path, "-d", str(output), *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{done.stdout}{done.stderr}javac failed")


def class_files(classes: Path) -> dict[str, bytes]:
    """What javac made, by its name in the jar."""
    return {path.relative_to(classes).as_posix(): path.read_bytes() for path in classes.rglob("*.class")}


def py4j_files(jar: Path) -> dict[str, bytes]:
    """The client's classes and the license they come under."""
    with zipfile.ZipFile(jar) as packed:
        files = {f"py4j/{name}.class": packed.read(f"py4j/{name}.class") for name in PY4J_CLASSES}
    files["META-INF/LICENSE-py4j.txt"] = py4j_license()
    return files


def py4j_license() -> bytes:
    """As the installed package carries it."""
    try:
        package = importlib.metadata.distribution("py4j")
    except importlib.metadata.PackageNotFoundError:
        raise BuildError(
            "the license of py4j comes with its package, which is not installed: pip install py4j"
        ) from None
    for file in package.files or []:
        if file.name.startswith("LICENSE"):
            return Path(str(file.locate())).read_bytes()
    raise BuildError("the installed py4j has no license file: pip install --force-reinstall py4j")


def own_files() -> dict[str, bytes]:
    """The manifest and our license."""
    pyproject = (HERE.parent / "pyproject.toml").read_text(encoding="utf-8")
    version = re.search(r'^version = "([^"]+)"', pyproject, re.MULTILINE)
    if version is None:
        raise BuildError("pyproject.toml says no version")
    title = "Implementation-Title: pysync-listener"
    manifest = f"Manifest-Version: 1.0\r\n{title}\r\nImplementation-Version: {version[1]}\r\n\r\n"
    return {
        "META-INF/MANIFEST.MF": manifest.encode(),
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


def build(output: Path, hive_jars: Path | None) -> None:
    """Compiles and packs."""
    javac = find_javac()
    check_jdk(javac)
    jars = hive_jars or pyspark_jars()
    with tempfile.TemporaryDirectory() as work:
        classes = Path(work) / "classes"
        compile_sources(javac, jars, classes)
        write_jar({**own_files(), **class_files(classes), **py4j_files(py4j_jar(jars))}, output)
    print(f"built {output}")


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Build the listener jar.")
    parser.add_argument("--check-jdk", action="store_true", help="only look whether there is a JDK that can")
    parser.add_argument("--output", type=Path, default=Path("build") / "pysync-listener.jar")
    parser.add_argument("--hive-jars", type=Path, help="folder with the jars of another Hive (default: pyspark's)")
    arguments = parser.parse_args()
    try:
        if arguments.check_jdk:
            check_jdk(find_javac())
        else:
            build(arguments.output, arguments.hive_jars)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
