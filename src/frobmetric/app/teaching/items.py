"""Items to compare: pictures in a folder, or rows of a table, with what a page shows of them."""

from __future__ import annotations

import base64
import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...io.preparation import Preparing, TablePreparation
from ...runtime.environment import no_file, require
from ..tables.reading import read_table

#: Suffixes of pictures.
PICTURES = (".png", ".jpg", ".jpeg")
#: Side of the thumbnails whose pixels are the features, and of the pictures on the page.
SIDE, SHOWN = 16, 480
#: Largest number of pixels of a picture; more are a mistake, or meant to fill the memory.
MOST_PIXELS = 100_000_000


@dataclass(frozen=True, eq=False)
class Items:
    """Items to compare.

    Attributes
    ----------
    X : ndarray of shape (n_items, n_features)
    names : list of str
    feature_names : list of str, or None
    units : {"raw", "deviation"}
        Whether features are divided by their deviations.
    paths : list of Path, or None
        Files of the pictures.
    preparation : TablePreparation, or None
        What was done to the columns of a table.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.app.teaching.items import Items
    >>> Items(np.eye(2), ["a", "b"], ["x", "y"]).look(0)
    {'name': 'a', 'values': [('x', '1'), ('y', '0')]}
    """

    X: np.ndarray
    names: list[str]
    feature_names: list[str] | None = None
    units: str = "raw"
    paths: list[Path] | None = None
    preparation: TablePreparation | None = None

    def look(self, i: int) -> dict[str, Any]:
        """Return what the page shows of an item: its name, and a picture or its values."""
        if self.paths is not None:
            return {"name": self.names[i], "picture": _as_url(self.paths[i])}
        if self.preparation is not None:
            return {"name": self.names[i], "values": self.preparation.describe(self.X[i])}
        values = [f"{value:.6g}" for value in self.X[i].tolist()]
        columns = self.feature_names or [f"column {j}" for j in range(len(values))]
        return {"name": self.names[i], "values": list(zip(columns, values, strict=True))}


def read_items(
    path: Path | str,
    features: Path | None = None,
    *,
    target: str | None = None,
    header: bool = True,
    preparation: Preparing | None = None,
) -> Items:
    r"""Return the items of a folder of pictures, or of a table.

    Parameters
    ----------
    path : path
        Folder of png and jpg files, or a table as `read_table` reads it.
    features : path, optional
        An npy or npz file with one row of numbers per item, such as embeddings; pictures are in the
        order of their names. By default the pixels of thumbnails, and the columns of a table.
    target : str, optional
        Column of a table that is not a feature; it becomes the name of each row.
    header : bool
        Whether a csv file begins with a line of names.
    preparation : Preparing, optional
        How the columns of a table are prepared.

    Examples
    --------
    >>> import pathlib
    >>> import tempfile
    >>> from frobmetric.app.teaching.items import read_items
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "table.csv"
    >>> _ = path.write_text("name,x\na,1\nb,2\n")
    >>> read_items(path, target="name").names
    ['a (row 0)', 'b (row 1)']
    """
    path = Path(path)
    if not os.path.lexists(path):
        raise FileNotFoundError(no_file(path, "a folder of pictures, or a table"))
    if not path.is_dir():
        if features is not None:
            raise ValueError(
                f"{features} has features and {path} is a table, which has its own; give a folder "
                "of pictures, or leave --features out"
            )
        return _read_rows(path, target, header, preparation)
    if preparation not in (None, Preparing()):
        raise ValueError(
            f"{path} is a folder of pictures; --columns, --drop, --impute and --categories are for "
            "tables: leave them out"
        )
    paths = sorted(p for p in path.iterdir() if p.suffix.lower() in PICTURES and p.is_file())
    if not paths:
        raise ValueError(f"{path} has no picture; expected files such as a.png or b.jpg")
    X = np.stack([_pixels(p) for p in paths]) if features is None else read_table(features).X
    if len(X) != len(paths):
        raise ValueError(f"{features} has {len(X)} rows; {path} has {len(paths)} pictures")
    return Items(X.astype(np.float64), [p.name for p in paths], paths=paths)


def _read_rows(
    path: Path, target: str | None, header: bool, preparation: Preparing | None
) -> Items:
    role = "the names of the rows"
    table = read_table(path, target, header=header, preparation=preparation, role=role)
    names = [f"row {i}" for i in range(len(table.X))]
    if table.y is not None:
        names = [f"{label} (row {i})" for i, label in enumerate(table.y)]
    names_of_columns = table.feature_names and list(table.feature_names)
    X, prepared = table.X.astype(np.float64), table.preparation
    return Items(X, names, names_of_columns, "deviation", preparation=prepared)


def _open(path: Path) -> Any:
    """Return a picture in RGB, turned as its camera was held."""
    image, ops = require("PIL.Image", "teach"), require("PIL.ImageOps", "teach")
    try:
        with image.open(path, formats=("PNG", "JPEG")) as picture:
            width, height = picture.size
            if width * height > MOST_PIXELS:
                raise ValueError(f"it has {width} x {height} pixels, more than {MOST_PIXELS:,}")
            picture = ops.exif_transpose(picture).convert("RGBA")
            white = image.new("RGBA", picture.size, "white")
            return image.alpha_composite(white, picture).convert("RGB")
    except (OSError, ValueError, SyntaxError, image.DecompressionBombError) as error:
        raise ValueError(
            f"{path} cannot be read as a picture ({error}); remove it or save it again"
        ) from error


def _pixels(path: Path) -> np.ndarray:
    """Return the colours of a thumbnail, between 0 and 1."""
    small = _open(path).resize((SIDE, SIDE), require("PIL.Image", "teach").Resampling.BOX)
    return np.asarray(small, dtype=np.float64).ravel() / 255


def _as_url(path: Path) -> str:
    """Return a picture as a data URL that a page can show."""
    picture, file = _open(path), io.BytesIO()
    picture.thumbnail((SHOWN, SHOWN))
    picture.save(file, "JPEG", quality=85)
    return f"data:image/jpeg;base64,{base64.b64encode(file.getvalue()).decode()}"
