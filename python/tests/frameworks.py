# SPDX-License-Identifier: Apache-2.0
"""One process of a job that a test starts under a training framework.

python frameworks.py NAME FOLDER RUN: RUN is "full" (20 steps), "crash" (a checkpoint after step 10,
ends without a word after step 12) or "resume" (from that checkpoint to step 20). Writes the numbers
of the records of each step to FOLDER/RUN-RANK.json.
"""

import json
import os
import pathlib
import sys
import warnings

import levada as lv
import torch

STEPS, SAVED, CRASHED = 20, 10, 12
NAME, FOLDER, RUN = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
RANK, WORLD = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
warnings.simplefilter("ignore")
torch.set_num_threads(1)

seen: list[list[int]] = []


def dataset() -> lv.Dataset:
    return lv.range(4000).shuffle(300, seed=5).batch(7)


def group() -> None:
    if WORLD > 1:
        torch.distributed.init_process_group("gloo")


def trained(batch) -> bool:
    """Notes a step; True where the job stops."""
    seen.append(batch["value"].tolist())
    if RUN == "crash" and len(seen) == CRASHED:
        os._exit(1)
    return len(seen) == STEPS - (SAVED if RUN == "resume" else 0)


def saves() -> bool:
    return RUN == "crash" and len(seen) == SAVED


def dcp(world_changes: bool = False) -> None:
    import levada.dcp
    import torch.distributed.checkpoint as dcp

    group()
    data = lv.torch_dataset(dataset(), parts=8, equal=False)
    state = {"data": levada.dcp.DataState(data)}
    if RUN == "resume":
        dcp.load(state, checkpoint_id=FOLDER / "checkpoint")
    for batch in data:
        stop = trained(batch) and not world_changes
        if saves():
            dcp.save(state, checkpoint_id=FOLDER / "checkpoint")
        if stop:
            break


def dcp_elastic() -> None:
    dcp(world_changes=True)


def accelerate() -> None:
    import accelerate
    import levada.accelerate

    accelerator = accelerate.Accelerator(cpu=True)
    data = lv.torch_dataset(dataset(), equal="drop", position=True)
    position = levada.accelerate.register(accelerator, data)
    loader = torch.utils.data.DataLoader(data, batch_size=None)
    loader = accelerator.prepare(loader) if WORLD == 1 else loader
    if RUN == "resume":
        accelerator.load_state(FOLDER / "checkpoint")
    for batch in loader:
        stop = trained(batch)
        position.note(batch)
        if saves():
            accelerator.save_state(FOLDER / "checkpoint")
        if stop:
            break


def lightning() -> None:
    import levada.lightning
    import lightning

    class Model(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)

        def training_step(self, batch, _):
            trained(batch)
            return self.layer(torch.ones(1, 1)).sum()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    class Save(lightning.Callback):
        def on_train_batch_end(self, trainer, *_):
            if RUN == "crash" and trainer.global_step == SAVED:
                trainer.save_checkpoint(FOLDER / "last.ckpt")

    data = lv.torch_dataset(dataset(), equal="drop", position=True)
    workers = int(os.environ.get("WORKERS", "0"))
    loader = torch.utils.data.DataLoader(data, batch_size=None, num_workers=workers)
    more = {"devices": WORLD, "strategy": "ddp"} if WORLD > 1 else {"devices": 1}
    trainer = lightning.Trainer(
        accelerator="cpu", max_steps=STEPS, logger=False, enable_progress_bar=False,
        enable_model_summary=False, enable_checkpointing=False, use_distributed_sampler=False,
        callbacks=[levada.lightning.DataState(data), Save()], default_root_dir=FOLDER, **more,
    )  # fmt: skip
    path = FOLDER / "last.ckpt" if RUN == "resume" else None
    trainer.fit(Model(), loader, ckpt_path=path, **({"weights_only": False} if path else {}))


def transformers() -> None:
    import levada.transformers
    from transformers import Trainer, TrainerCallback, TrainingArguments

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)

        def forward(self, value=None, **_):
            seen.append(value.tolist())
            return {"loss": self.layer(torch.ones(1, 1)).sum()}

    class Crash(TrainerCallback):
        def on_step_end(self, args, state, control, **_):
            if RUN == "crash" and state.global_step == CRASHED:
                os._exit(1)

    out = FOLDER / ("full" if RUN == "full" else "out")
    args = TrainingArguments(
        output_dir=out, max_steps=STEPS, use_cpu=True, report_to=[], disable_tqdm=True,
        save_strategy="steps", save_steps=SAVED, logging_strategy="no", remove_unused_columns=False,
    )  # fmt: skip
    data = lv.torch_dataset(dataset(), equal="drop")
    trainer = levada.transformers.trainer(Trainer)(
        model=Model(), args=args, train_dataset=data, callbacks=[Crash()]
    )
    trainer.train(resume_from_checkpoint=RUN == "resume")


if __name__ == "__main__":
    globals()[NAME]()
    (FOLDER / f"{RUN}-{RANK}.json").write_text(json.dumps(seen))
