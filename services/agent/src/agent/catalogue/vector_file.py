"""Vectors on disk, made once and shared by every agent process on the machine.

`manifest.json` names the current vector file. Both are written under a temporary name and renamed, the manifest last,
and a vector file is named by its fingerprint: readers and other builders see a whole set or none.
"""

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO
from zipfile import BadZipFile

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from agent.catalogue.embeddings import FloatArray
from agent.catalogue.errors import IndexMissing

_MANIFEST = "manifest.json"


class Manifest(BaseModel):
    model_config = ConfigDict(frozen=True)

    fingerprint: str
    embedding_model: str
    products: int
    dimensions: int
    file: str


def read_manifest(directory: Path) -> Manifest | None:
    """None where nothing was built, or what is there cannot be read: building anew repairs both."""
    try:
        return Manifest.model_validate_json((directory / _MANIFEST).read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValidationError):
        return None


def write_vectors(
    directory: Path, fingerprint: str, embedding_model: str, item_ids: Sequence[str], vectors: FloatArray
) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    file = f"vectors-{fingerprint}.npz"
    _replace(directory / file, lambda stream: np.savez(stream, item_ids=np.array(item_ids), vectors=vectors))
    manifest = Manifest(
        fingerprint=fingerprint,
        embedding_model=embedding_model,
        products=len(item_ids),
        dimensions=int(vectors.shape[1]),
        file=file,
    )
    text = manifest.model_dump_json(indent=2).encode()
    _replace(directory / _MANIFEST, lambda stream: stream.write(text))


def read_vectors(directory: Path, fingerprint: str, item_ids: Sequence[str]) -> FloatArray:
    """The vectors of the given items, in their order.

    Raises IndexMissing where nothing was built, or something else was: other products, another model.
    """
    manifest = read_manifest(directory)
    if manifest is None:
        raise IndexMissing(f"no catalogue in {directory}; run build-catalogue")
    if manifest.fingerprint != fingerprint:
        raise IndexMissing(f"the catalogue in {directory} was built from other products or another model")
    try:
        with (directory / manifest.file).open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            stored_ids: list[str] = stored["item_ids"].tolist()
            vectors: FloatArray = stored["vectors"]
    except (OSError, KeyError, ValueError, BadZipFile) as error:
        raise IndexMissing(f"the vectors in {directory} cannot be read; run build-catalogue") from error
    if stored_ids != list(item_ids):
        raise IndexMissing(f"the vectors in {directory} are not those of its manifest")
    return vectors


def _replace(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write beside the target, flush to disk, rename over it: all or nothing, also with two writers."""
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
