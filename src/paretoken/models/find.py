"""What a user calls a model → the file it is.

Enters a catalogue name or the path of a .gguf file; leaves a `Model`. Names never become paths: only the catalogue's
own file names and paths that the user wrote are opened. Formats that run code on loading are refused, unread.
"""

import errno
import os
from collections.abc import Callable
from pathlib import Path

from paretoken.core.candidate import Model
from paretoken.errors import ModelError
from paretoken.models.catalogue import CATALOGUE
from paretoken.models.dimensions import dimensions
from paretoken.models.fetch import cached, fetch
from paretoken.models.fingerprint import fingerprint
from paretoken.models.gguf_header import read_header
from paretoken.models.shown import shown

PICKLES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".joblib")


def resolve(
    name_or_path: str,
    cache: Path | None = None,
    *,
    fetch_missing: bool = True,
    say: Callable[[str], None] | None = None,
) -> Model:
    """The model of this name or path, its header checked. Raises ModelError with one sentence.

    A catalogue model that is not here is fetched (`say` gets a line first), or refused if not `fetch_missing`."""
    published = CATALOGUE.get(name_or_path)
    if published is not None:
        path = fetch(published, cache, say=say) if fetch_missing else cached(published, cache)
        if path is None:
            raise ModelError(f"{published.name} is not here yet; run 'paretoken models fetch {published.name}'")
        return Model(published.name, str(path), published.sha256, published.bytes)
    return local(name_or_path, cache)


def local(text: str, cache: Path | None = None) -> Model:
    """The model of a .gguf file on this machine; its name is the file's, without the suffix."""
    path = _checked_path(text)
    header = read_header(path)
    dimensions(header)  # sizes that cannot be are found here, not in the middle of a study
    if header.metadata.get("split.count", 1) not in (0, 1):
        raise ModelError(
            f"'{shown(text)}' is one part of a split model; join the parts with llama-gguf-split --merge first"
        )
    return Model(path.stem, str(path.absolute()), fingerprint(path, cache), header.file_bytes)


def _checked_path(text: str) -> Path:
    there_are = ", ".join(CATALOGUE)
    if not text.strip():
        raise ModelError(f"the model's name is empty; name one of: {there_are}, or a .gguf file")
    if "\0" in text:
        raise ModelError("a model's path cannot hold a NUL byte; name a .gguf file")
    path = Path(os.path.expanduser(text))  # noqa: PTH111  Path.expanduser raises for a user who does not exist
    fault = _fault(path)
    is_folder = fault is None and path.is_dir()
    suffix = path.suffix.lower()
    if suffix in PICKLES or is_folder:
        what = "a folder" if is_folder else "a pickle, which can run code when it is loaded"
        raise ModelError(
            f"'{shown(text)}' is {what}; Paretoken reads GGUF only: take the model's safetensors form "
            "(never a .bin or .pt pickle) and convert it to .gguf"
        )
    if suffix == ".safetensors":
        raise ModelError(f"'{shown(text)}' is a safetensors file; convert it to .gguf first, Paretoken reads GGUF only")
    if suffix != ".gguf":
        raise ModelError(f"there is no model '{shown(text)}'; there are: {there_are}, or the path of a .gguf file")
    if fault is not None:
        raise ModelError(f"{fault}; check the path, or name one of: {there_are}")
    return path


def _fault(path: Path) -> str | None:
    """Why nothing can be opened at `path`, or None."""
    try:
        path.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            return f"'{shown(path)}' is a link that leads back to itself"
        if error.errno == errno.ENAMETOOLONG:
            return f"the path '{shown(path)}' of {len(str(path))} characters is longer than a file's can be"
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            link = " (it is a link to nothing)" if os.path.islink(path) else ""  # noqa: PTH114
            return f"there is no file '{shown(path)}'{link}"
        return f"the file '{shown(path)}' cannot be reached: {error.strerror}"
    except UnicodeError:
        return f"there can be no file '{shown(path)}'"
    return None
