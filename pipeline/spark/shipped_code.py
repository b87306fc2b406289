"""seqaudit's own code as an archive that workers elsewhere import it from.

They need not have it installed, and where they have, they run the code of this command.
"""

import hashlib
import zipfile
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).parents[2]
_SHIPPED: Final = ("decoders", "pipeline", "replay")
_KINDS: Final = frozenset({".py", ".json", ".yaml"})
_INIT: Final = Path(__file__).with_name("shipped_init.py")


def archive(folder: Path) -> Path:
    """The archive, made in a folder; its name tells its content."""
    files = {"seqaudit/__init__.py": _INIT.read_bytes()}
    for path in sorted(path for top in _SHIPPED for path in (_ROOT / top).rglob("*")):
        if path.suffix in _KINDS:
            files[f"seqaudit/{path.relative_to(_ROOT).as_posix()}"] = path.read_bytes()
    digest = hashlib.sha256()
    for name, content in files.items():
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    made = folder / f"seqaudit-{digest.hexdigest()[:16]}.zip"
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return made
