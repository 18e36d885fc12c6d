"""A model by its hub id: from the local hub cache, else downloaded, weights as safetensors only."""

from __future__ import annotations

from pathlib import Path

from recalltune.encode.folder import ModelFolder, model_folder
from recalltune.errors import ParameterError

__all__ = ["snapshot"]

# No *.py and no *.bin: what could run never reaches the disk.
_PATTERNS = ["*.json", "*.safetensors", "*.txt", "*.model", "*.spm"]


def snapshot(name: str) -> ModelFolder:
    """The checked folder of ``owner/model`` or ``owner/model@revision``.

    Raises
    ------
    ParameterError
        If the model is neither in the local cache nor can be fetched (``HF_HUB_OFFLINE=1`` forbids
        the attempt), or its files are not safe to load.
    """
    import huggingface_hub

    model, _, revision = name.partition("@")
    reason: Exception | None = None
    # The cache first: a machine with the model never asks the network.
    for local_only in (True, False):
        try:
            folder = huggingface_hub.snapshot_download(
                model,
                revision=revision or None,
                allow_patterns=_PATTERNS,
                local_files_only=local_only,
            )
        except Exception as error:  # the client raises its own, httpx's and the system's errors
            reason = error
        else:
            path = Path(folder)
            # The cache keeps blobs beside snapshots/<commit> and links to them.
            return model_folder(path, name=model, root=path.parent.parent)
    told = " ".join(str(reason).split())[:200]
    msg = (
        f"encoder {name!r} is not on this machine and could not be fetched ({told}); "
        "multilingual and minilm are bundled and work offline, or give a folder"
    )
    raise ParameterError(msg) from None
