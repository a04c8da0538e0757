"""What a process does to the files of a directory, recorded by strace, and what a crash at any moment leaves of it.

    strace(record) + command     runs a command, and has what it does written to the file `record`
    steps(record, directory)     reads that: the writes below `directory` in their order, and the notes
    crashes(steps)               every state that a kill or a power cut may leave, with what was noted by then

A note is what the command writes to a file named `NOTES` in that directory: what it has answered. Writes through mapped
memory are not seen.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

NOTES = "notes"

_CALLS = "openat,write,pwrite64,lseek,ftruncate,unlink,unlinkat,rename,renameat,renameat2,fsync,fdatasync,close"
_CALL = re.compile(r"(\d+) +(\w+)\((.*)\) += (-?\d+)")
_BEGUN = re.compile(r"(\d+) +(\w+)\((.*) <unfinished \.\.\.>")
_RESUMED = re.compile(r"(\d+) +<\.\.\. (\w+) resumed>(.*)\) += (-?\d+)")
_HEX = re.compile(r"\"((?:\\x[0-9a-f]{2})*)\"")
_FILE = re.compile(r"(\d+|AT_FDCWD)<((?:\\x[0-9a-f]{2})*)>")


class CannotRecord(Exception):
    """There is no strace, or it may not trace here."""


def strace(record: Path) -> list[str]:
    """What to put before a command. Raises CannotRecord."""
    program = shutil.which("strace")
    if program is None:
        raise CannotRecord("there is no strace")
    return [program, "-f", "-qq", "-xx", "-y", "-s", "100000000", "-e", f"trace={_CALLS}", "-o", str(record)]


@dataclass(frozen=True, slots=True)
class Step:
    """One call that succeeded; `kind` is open, write, truncate, unlink, rename, sync or note, `file` a path below."""

    kind: str
    file: str
    offset: int = 0
    data: bytes = b""
    to: str = ""


def steps(record: Path, directory: Path) -> list[Step]:
    """What was done below `directory`."""
    reader = _Reader(f"{directory.resolve()}/")
    with record.open(encoding="ascii") as lines:
        found = [step for line in lines for step in reader.read(line)]
    return [*found]


@dataclass(slots=True)
class _Reader:
    root: str
    offsets: dict[str, int] = field(default_factory=dict)  # of descriptors
    begun: dict[str, str] = field(default_factory=dict)  # by thread: the arguments of its call

    def read(self, line: str) -> Iterator[Step]:
        if begun := _BEGUN.match(line):
            self.begun[begun[1]] = begun[3]
        elif resumed := _RESUMED.match(line):
            yield from self._call(resumed[2], self.begun.pop(resumed[1]) + resumed[3], int(resumed[4]))
        elif call := _CALL.match(line):
            yield from self._call(call[2], call[3], int(call[4]))

    def _call(self, name: str, arguments: str, result: int) -> Iterator[Step]:
        if result < 0:
            return
        texts = [_bytes(it) for it in _HEX.findall(arguments)]
        opened = _FILE.findall(arguments)
        descriptor, path = (opened[0][0], _bytes(opened[0][1]).decode()) if opened else ("", "")
        if name == "openat":
            yield from self._open(self._path(texts[0], path), arguments, str(result))
        elif name.startswith("rename"):
            old, new = (self._below(self._path(it, path)) for it in texts)
            yield from [Step("rename", old, to=new)] if old else []
        elif name.startswith("unlink"):
            file = self._below(self._path(texts[0], path))
            yield from [Step("unlink", file)] if file else []
        elif name == "lseek":
            self.offsets[descriptor] = result
        elif path == self.root.rstrip("/") and name in {"fsync", "fdatasync"}:
            yield Step("sync", "")
        elif file := self._below(path):
            yield from self._on_file(name, descriptor, file, arguments.rsplit(", ", 1)[-1], (*texts, b"")[0][:result])

    def _open(self, path: str, arguments: str, descriptor: str) -> Iterator[Step]:
        self.offsets[descriptor] = -1 if "O_APPEND" in arguments else 0
        file = self._below(path)
        if file and "O_DIRECTORY" not in arguments and ("O_CREAT" in arguments or "O_TRUNC" in arguments):
            yield Step("open", file)
            if "O_TRUNC" in arguments:
                yield Step("truncate", file)

    def _on_file(self, name: str, descriptor: str, file: str, last: str, data: bytes) -> Iterator[Step]:
        if name == "pwrite64":
            yield Step("write", file, int(last), data)
        elif name == "write":
            at = self.offsets.get(descriptor, 0)
            yield Step("note" if file == NOTES else "write", file, at, data)
            self.offsets[descriptor] = at if at < 0 else at + len(data)
        elif name == "ftruncate":
            yield Step("truncate", file, int(last))
        elif name in {"fsync", "fdatasync"}:
            yield Step("sync", file)

    def _path(self, name: bytes, within: str) -> str:
        return str(PurePosixPath(within) / name.decode())

    def _below(self, path: str) -> str:
        return path[len(self.root) :] if path.startswith(self.root) else ""


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))


Files = Mapping[str, bytes]


@dataclass(slots=True)
class _File:
    data: bytearray = field(default_factory=bytearray)
    safe: bytes = b""
    """What is surely on the device."""
    last: tuple[int, int] = (0, 0)
    """Offset and size of the last write that is not."""


@dataclass(slots=True)
class Disk:
    """A directory as steps make it: as it is, and what of it a power cut cannot take.

    POSIX read strictly: the content of a file is safe after an fsync of it, its name after one of the directory.
    """

    names: dict[str, _File] = field(default_factory=dict)
    safe_names: dict[str, _File] = field(default_factory=dict)

    def do(self, step: Step) -> None:
        if step.kind == "rename":
            self.names[step.to] = self.names.pop(step.file)
        elif step.kind == "unlink":
            self.names.pop(step.file, None)
        elif step.kind == "sync":
            self._sync(step.file)
        elif step.kind == "open":
            self.names.setdefault(step.file, _File())
        elif step.file in self.names:
            self._change(self.names[step.file], step)

    def kill(self) -> Files:
        """What is left when the process dies."""
        return {name: bytes(it.data) for name, it in self.names.items()}

    def cuts(self) -> Iterator[Files]:
        """What may be left when the power goes: nothing of what is not safe, or some of it."""
        yield {name: it.safe for name, it in self.safe_names.items()}
        yield {name: it.safe for name, it in self.names.items()}
        yield {name: bytes(it.data) for name, it in self.safe_names.items()}
        for torn, file in self.names.items():
            if file.last[1] and bytes(file.data) != file.safe:
                yield {**self.kill(), torn: file.safe}
                yield {**self.kill(), torn: _half(file)}

    def _sync(self, name: str) -> None:
        if not name:
            self.safe_names = dict(self.names)
        elif name in self.names:
            file = self.names[name]
            file.safe, file.last = bytes(file.data), (0, 0)

    @staticmethod
    def _change(file: _File, step: Step) -> None:
        if step.kind == "truncate":
            del file.data[step.offset :]
            file.data.extend(bytes(step.offset - len(file.data)))
            return
        at = len(file.data) if step.offset < 0 else step.offset
        file.data.extend(bytes(max(0, at - len(file.data))))
        file.data[at : at + len(step.data)] = step.data
        file.last = (at, len(step.data))


def _half(file: _File) -> bytes:
    """The file with the last write done by half: what was behind is as it was."""
    at, size = file.last
    middle = at + size // 2
    return bytes(file.data[:middle]) + file.safe[middle : at + size] + bytes(file.data[at + size :])


def crashes(found: Sequence[Step]) -> Iterator[tuple[Files, bytes]]:
    """Every state that a crash may leave, after each step, and what was noted by then. The same once for each note."""
    disk, noted, seen = Disk(), b"", set[int]()
    for step in found:
        if step.kind == "note":
            noted += step.data
            seen.clear()
        else:
            disk.do(step)
        for files in (disk.kill(), *disk.cuts()):
            state = hash(frozenset(files.items()))
            if state not in seen:
                seen.add(state)
                yield files, noted


def lay_out(files: Files, directory: Path) -> None:
    """Make `directory` with these files in it."""
    for name, data in files.items():
        file = directory / name
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.write_bytes(data)
        file.chmod(0o600)
