"""The command line: each verb is one library call. Exit 0 fine, 1 a finding, 2 bad input."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

import recalltune as rt
from recalltune.candidates.duplicates import mark_near_duplicates
from recalltune.candidates.ledger import degradations
from recalltune.errors import ParameterError, RecalltuneError
from recalltune.evaluate.run import DEFAULT_METRICS
from recalltune.ingest.moments import instant_us
from recalltune.pipeline.config import RankingConfig, load_config
from recalltune.pipeline.present import display_lines, present
from recalltune.pipeline.scales import scale_notices
from recalltune.production.evidence_file import evidence_beside, read_evidence, write_chosen
from recalltune.production.export import undo
from recalltune.production.provenance import Provenance
from recalltune.production.recallnest_file import import_recallnest
from recalltune.report.doctor import examine_lab, examine_machine
from recalltune.report.replaying import json_line, replay_findings, replay_lines, stream
from recalltune.report.replaying_log import log_notices, log_replay_findings, log_replay_lines
from recalltune.report.terminal import (
    bytes_bar,
    choice_lines,
    copy_lines,
    degraded_lines,
    evaluation_lines,
    finding_lines,
    import_lines,
    look_lines,
    notice_lines,
    table_lines,
)
from recalltune.report.text import plain
from recalltune.store import LockedError, ReadOnlyError, data_digest

__all__ = ["app", "main"]

app = typer.Typer(
    name="recalltune",
    help="Tune which memories an agent recalls: replay, sweep, judge, export.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

_ERROR_COLUMNS = 2_000
_STOPPED = 130
"""Exit code of a program that was interrupted."""

Database = Annotated[Path, typer.Option("--db", help="The lab file (DuckDB).")]
ConfigOption = Annotated[
    str, typer.Option("--config", help="A preset, a TOML file or a production config file.")
]
EncoderOption = Annotated[
    str | None,
    typer.Option("--encoder", help="multilingual, minilm, a folder, a hub id, precomputed:FILE."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for a program.")]
CasesOption = Annotated[str, typer.Option("--cases", help="Name of a case set in the lab.")]


class CaseSplit(StrEnum):
    """Which cases of a set are scored."""

    tune = "tune"
    held_out = "held_out"
    all = "all"


class Unit(StrEnum):
    """What metrics rank: memories, or sessions at the place of their best memory."""

    memory = "memory"
    session = "session"


def _config(source: str) -> RankingConfig:
    if Path(source).suffix == ".json":
        return import_recallnest(Path(source))
    return load_config(source)


def _existing(db: Path) -> rt.Lab:
    if not db.exists():
        message = f"--db {db} does not exist; make it with: recalltune ingest --db {db} PATH..."
        raise ParameterError(message)
    return rt.open(db)


def _say(lines: list[str]) -> None:
    for line in lines:
        typer.echo(line)


def _keep(save: Callable[[], str], *, json_: bool) -> None:
    """Keep a run whose result has been said; where the lab cannot be written to, say only that."""
    try:
        run_id = save()
    except (LockedError, ReadOnlyError) as error:
        typer.echo(plain(f"the run was not kept: {error}", columns=_ERROR_COLUMNS), err=json_)
        return
    if not json_:
        typer.echo(f"kept: run {run_id}")


def _say_looks(looks: list[int], *, json_: bool) -> None:
    """Say that held-out cases were looked at, where they were."""
    if max(looks) > 0 and not json_:
        _say(look_lines(max(looks)))


def _say_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False, default=str))


@app.command()
def demo(
    out: Annotated[
        Path, typer.Option("--out", help="Folder for report, charts and config.")
    ] = Path("out"),
    data: Annotated[Path, typer.Option("--data", help="Folder with the demo corpus.")] = Path(
        "data"
    ),
    encoder: EncoderOption = None,
) -> None:
    """Run the whole journey on the demo data. Example: recalltune demo --out out."""
    from recalltune.report.demo import run_demo

    run_demo(data, out, encoder=encoder, say=typer.echo)


@app.command()
def ingest(
    db: Database,
    paths: Annotated[list[Path], typer.Argument(help="Files and folders to read.")],
    format_: Annotated[str, typer.Option("--format", help="auto, or a format by name.")] = "auto",
    scope: Annotated[str | None, typer.Option(help="Scope for files that name none.")] = None,
    layer: Annotated[str | None, typer.Option(help="Layer for items that name none.")] = None,
    turns_as_memories: Annotated[
        bool, typer.Option(help="Make each kept turn a memory as well.")
    ] = False,
    encoder: EncoderOption = None,
    json_: JsonOption = False,
) -> None:
    """Read files into the lab; a format is told by the content, or named: docs/formats.md has all.

    Example: recalltune ingest --db lab.duckdb ~/notes session.jsonl
    """
    lab = rt.open(db)
    with bytes_bar("ingest") as reach:
        report = rt.ingest(
            lab,
            paths,
            format=format_,
            scope=scope,
            layer=layer,
            turns_as_memories=turns_as_memories,
            progress=reach,
        )
    copies = None if encoder is None else mark_near_duplicates(lab, rt.encoder(encoder))
    if not report.frame.height:
        _say(notice_lines(report.notices))
        message = f"nothing in {', '.join(map(str, paths))} can be read; `--help` names the formats"
        raise ParameterError(message)
    if json_:
        frames = {"files": report.frame, "dropped": report.dropped, "parts": report.parts}
        told = {name: frame.to_dicts() for name, frame in frames.items()}
        _say_json(told | {"redacted": report.redacted.to_dicts(), "notices": report.notices})
    else:
        _say(import_lines(report))
        if copies is not None:
            _say(copy_lines(copies))


@app.command()
def doctor(
    db: Annotated[Path | None, typer.Option("--db", help="The lab file to look at.")] = None,
    json_: JsonOption = False,
) -> None:
    """Name what will hurt, exit 1 for a problem. Example: recalltune doctor --db lab.duckdb."""
    found = examine_machine()
    if db is not None:
        if not db.exists():
            message = f"--db must name a lab that is there, got {db}"
            raise ParameterError(message)
        found += examine_lab(db, datetime.now(UTC))
    if json_:
        _say_json([asdict(finding) for finding in found])
    else:
        _say(finding_lines(found))
    if any(finding.verdict == "problem" for finding in found):
        raise typer.Exit(1)


@app.command()
def cases(
    db: Database,
    files: Annotated[list[Path], typer.Argument(help="Case files in RecallNest's JSON format.")],
    name: Annotated[str, typer.Option("--set", help="Name of the case set.")] = "cases",
) -> None:
    """Read eval cases. Example: recalltune cases --db lab.duckdb cases.json --set mine."""
    lab = _existing(db)
    for file in files:
        report = rt.load_cases(lab, file, case_set=name)
        typer.echo(str(report))


@app.command()
def evaluate(
    db: Database,
    cases: CasesOption,
    config: ConfigOption,
    baseline: Annotated[
        str | None, typer.Option(help="A second config to compare with, case by case.")
    ] = None,
    encoder: EncoderOption = None,
    by: Annotated[str | None, typer.Option(help="Slice by kind, lang or session.")] = None,
    split: Annotated[
        CaseSplit, typer.Option(help="Which cases; tune: those that are not held out.")
    ] = CaseSplit.tune,
    unit: Annotated[Unit, typer.Option(help="What metrics rank.")] = Unit.memory,
    json_: JsonOption = False,
) -> None:
    """Score a config. Example: recalltune evaluate --db F --cases mine --config textbook."""
    lab = _existing(db)
    setting = _config(config)
    table = rt.candidates(lab, cases, setting, encoder=encoder)
    result = rt.evaluate(table, setting, split=split.value, unit=unit.value)
    if baseline is None:
        if json_:
            typer.echo(result.to_json())
        else:
            _say(evaluation_lines(result, by=by))
        _say_looks([rt.record_evaluation(lab, result, table)], json_=json_)
        _keep(partial(rt.save_evaluation, lab, result, case_set=cases), json_=json_)
        return
    other = _config(baseline)
    against = rt.candidates(lab, cases, other, encoder=encoder)
    before = rt.evaluate(against, other, split=split.value, unit=unit.value)
    judged = [name for name in DEFAULT_METRICS if result.cases[name].drop_nulls().len()]
    changes = [vars(rt.difference(before, result, metric)) for metric in judged]
    if json_:
        _say_json(changes)
    else:
        _say(table_lines(pl.DataFrame(changes)))
    looked = [(before, against), (result, table)]
    _say_looks([rt.record_evaluation(lab, *one) for one in looked], json_=json_)
    for run in (before, result):
        _keep(partial(rt.save_evaluation, lab, run, case_set=cases), json_=json_)


@app.command()
def explain(
    db: Database,
    config: ConfigOption,
    query: Annotated[str | None, typer.Argument(help="What is asked.")] = None,
    case: Annotated[str | None, typer.Option("--case", help="SET/CASE instead of a query.")] = None,
    at: Annotated[
        str | None, typer.Option(help="ISO 8601 with zone; default: after the data.")
    ] = None,
    scope: Annotated[str | None, typer.Option(help="Scope to search; default: all.")] = None,
    encoder: EncoderOption = None,
    top: Annotated[int, typer.Option(min=1, max=100, help="How many hits to explain.")] = 5,
) -> None:
    """Show the list by layer, and what every stage did.

    Example: recalltune explain --db F --config textbook "which battery".
    """
    lab = _existing(db)
    setting = _config(config)
    if (query is None) == (case is None):
        raise ParameterError("give either a query or --case SET/CASE, exactly one of the two")
    if case is not None:
        case_set, _, case_id = case.partition("/")
        table = rt.candidates(lab, case_set, setting, encoder=encoder)
    else:
        case_id = "query"
        asked_at = None if at is None else instant_us("--at", at)
        table = rt.ask(lab, str(query), setting, at=asked_at, scope=scope, encoder=encoder)
    evidence = rt.explain(table, setting, case_id)
    row = table.position(case_id)
    _say(degraded_lines(degradations(table.take([row]))))
    _say(notice_lines(str(notice) for notice in scale_notices(setting)))
    order = rt.rank(table, setting).order
    display = present(table, order, row, layers=setting.layers)
    if display.height == 0:
        typer.echo(f"nothing is shown: {int(table.valid.sum())} candidates at that time")
        return
    _say([plain(line, columns=100) for line in display_lines(display)])
    if display.height > top:
        typer.echo(f"the first {top} of {display.height}, stage by stage; --top says how many")
    for memory_id in display.sort("rank")["memory_id"].head(top).to_list():
        rows = evidence.filter(pl.col("memory_id") == memory_id).sort("step")
        typer.echo(f"\n{plain(memory_id, columns=100)}")
        told = rows.select("stage", "scale", "shift", "before", "after", "needs", "rank")
        _say(table_lines(told))


@app.command()
def bind(
    db: Database,
    cases: CasesOption,
    config: ConfigOption,
    encoder: EncoderOption = None,
    most_queries: Annotated[
        int | None, typer.Option(min=1, help="Evenly spaced queries; default: what is affordable.")
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Say which parameters bind. Example: recalltune bind --db F --cases S --config recallnest."""
    from recalltune.report.binding import account_of, binding_lines

    lab = _existing(db)
    account = account_of(lab, cases, _config(config), encoder=encoder, most_queries=most_queries)
    if json_:
        _say_json(account.record())
    else:
        _say(binding_lines(account))


@app.command()
def replay(
    db: Database,
    config: ConfigOption,
    session: Annotated[str | None, typer.Option(help="One session; default: all.")] = None,
    cases: Annotated[
        str | None, typer.Option(help="Walk a case set instead, and follow its targets.")
    ] = None,
    scope: Annotated[
        str | None, typer.Option(help="Scope the agent searched; default: all.")
    ] = None,
    encoder: EncoderOption = None,
    log: Annotated[
        bool, typer.Option("--log", help="Replay the search log instead, and say what changes.")
    ] = False,
    production: Annotated[
        str | None, typer.Option(help="With --log: what wrote it, as --config; default: --config.")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON object a step.")] = False,
) -> None:
    """Walk a transcript, or the tuning cases of a set, or the search log, through time.

    Exit 1 where nothing is recalled at any step or a label names no memory.
    Example: recalltune replay --db F --config textbook.
    """
    from recalltune.report.terminal import bar

    lab, setting = _existing(db), _config(config)
    if log:
        if given := [name for name in (session, cases, scope) if name is not None]:
            message = f"--log replays every logged query in its own scope, got {given[0]!r} besides"
            raise ParameterError(message)
        _replay_log(lab, setting, production, encoder=encoder, json_=json_)
        return
    if production is not None:
        raise ParameterError("--production says what wrote the search log: give --log with it")
    with bar(0, "replay") as step:
        result = rt.replay(
            lab, setting, session=session, scope=scope, cases=cases, encoder=encoder, progress=step
        )
    if json_:
        with bar(result.steps.height, "steps") as step:
            stream((json_line(account) for account in result.objects()), step)
    else:
        _say(replay_lines(result))
    _keep(partial(rt.save_replay, lab, result), json_=json_)
    if replay_findings(result):
        raise typer.Exit(1)


def _replay_log(
    lab: rt.Lab, setting: RankingConfig, production: str | None, *, encoder: str | None, json_: bool
) -> None:
    """Replay the search log; without a production, ``setting`` is what wrote it."""
    wrote = setting if production is None else _config(production)
    result = rt.replay_search_log(lab, setting, production=wrote, encoder=encoder)
    if json_:
        stream((json_line(account) for account in result.objects()), lambda _: None)
        for line in log_notices(result):
            typer.echo(line, err=True)
    else:
        _say(log_replay_lines(result))
    if log_replay_findings(result):
        raise typer.Exit(1)


@app.command()
def sweep(
    db: Database,
    cases: CasesOption,
    config: ConfigOption,
    space: Annotated[Path, typer.Option("--space", help="TOML with a table [space].")],
    encoder: EncoderOption = None,
    largest: Annotated[int, typer.Option(help="Confirm a grid up to this size.")] = 200_000,
) -> None:
    """Score a whole grid and keep it.

    Example: recalltune sweep --db F --cases S --config textbook --space s.toml.
    """
    from recalltune.report.terminal import bar

    lab = _existing(db)
    setting = _config(config)
    table = rt.candidates(lab, cases, setting, encoder=encoder)
    grid = rt.load_space(space)
    with bar(grid.size, "sweep") as step:
        result = rt.sweep(table, setting, grid, largest=largest, progress=step)
    typer.echo(result.told())
    _say(degraded_lines(degradations(result.candidates)))
    sweep_id = rt.save_sweep(lab, result, case_set=cases)
    typer.echo(f"sweep {sweep_id}   next: recalltune choose --db {db} --sweep {sweep_id}")


@app.command()
def choose(
    db: Database,
    sweep: Annotated[str, typer.Option("--sweep", help="Id printed by recalltune sweep.")],
    metric: Annotated[
        str, typer.Option(help="Metric that decides, fixed before looking.")
    ] = "ndcg@10",
    encoder: EncoderOption = None,
    out: Annotated[Path | None, typer.Option(help="Write the chosen config there (TOML).")] = None,
    json_: JsonOption = False,
) -> None:
    """Name the winner, or say there is none.

    Example: recalltune choose --db F --sweep ID --out chosen.toml.
    """
    from recalltune.sweep.saving import load_sweep

    lab = _existing(db)
    result, table = load_sweep(lab, sweep, encoder=encoder)
    choice = rt.choose(result, metric, candidates=table)
    look = rt.record_look(lab, choice, table)
    if json_:
        _say_json({**choice.record(), "held_out_look": look})
    else:
        _say(choice_lines(choice, look=look))
    if out is not None:
        beside = write_chosen(out, choice.chosen, Provenance.of(table.stamp, **choice.evidence()))
        typer.echo(f"wrote {out} and {beside}")


@app.command()
def export(
    config: Annotated[str, typer.Argument(help="The chosen config: TOML file or preset.")],
    into: Annotated[Path, typer.Option("--into", help="File to write.")],
    to: Annotated[str, typer.Option("--to", help="json or recallnest.")] = "json",
    db: Annotated[
        Path | None, typer.Option("--db", help="Check the evidence against this lab's data.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show, write nothing.")] = False,
    undo_: Annotated[bool, typer.Option("--undo", help="Put the previous file back.")] = False,
) -> None:
    """Write a chosen config, with the evidence `recalltune choose --out` left beside it.

    Example: recalltune export chosen.toml --to recallnest --into config.json.
    """
    if undo_:
        undo(into)
        typer.echo(f"{into}: the previous content is back")
        return
    setting = _config(config)
    provenance = read_evidence(evidence_beside(Path(config)), setting)
    told = str(rt.export(setting, into, to=to, provenance=provenance, dry_run=dry_run))
    _say([plain(line, columns=_ERROR_COLUMNS) for line in told.split("\n")])
    if provenance.chosen_over == "":
        typer.echo("marked: no evidence stands beside the config; nothing says it is better")
    if db is not None:
        with _existing(db).reading() as con:
            data = data_digest(con)[:8]
        if provenance.data != data:
            typer.echo(
                f"finding: the evidence is from data {provenance.data}, the lab holds {data}"
            )
            raise typer.Exit(1)


@app.command()
def report(
    db: Database,
    cases: CasesOption,
    out: Annotated[Path, typer.Option("--out", help="The HTML file to write.")] = Path(
        "report.html"
    ),
    config: Annotated[str, typer.Option("--config", help="The current default.")] = "textbook",
    sweep: Annotated[
        str | None, typer.Option("--sweep", help="Id of a saved sweep; default: a small one.")
    ] = None,
    encoder: EncoderOption = None,
) -> None:
    """Write a self-contained page. Example: recalltune report --db F --cases S --out r.html."""
    from recalltune.report.journey import write_report

    lab = _existing(db)
    typer.echo(str(write_report(lab, cases, _config(config), out, encoder=encoder, sweep_id=sweep)))


def _say_error(message: str) -> None:
    # Names of files, keys and ids come from others: none of them may steer the terminal.
    for number, line in enumerate(message.split("\n")):
        typer.echo(f"{'' if number else 'error: '}{plain(line, columns=_ERROR_COLUMNS)}", err=True)


def _check_arguments(words: list[str]) -> None:
    for number, word in enumerate(words, start=1):
        # A byte that is no UTF-8 reaches Python as half of a surrogate pair.
        if any("\ud800" <= one <= "\udfff" for one in word):
            message = f"argument {number} holds bytes that are not UTF-8"
            raise ParameterError(message)


def main() -> None:
    """Run the command line; bad input ends in one line and exit code 2, never in a traceback."""
    try:
        _check_arguments(sys.argv[1:])
        code = app(standalone_mode=False)
    except RecalltuneError as error:
        _say_error(str(error))
        sys.exit(2)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _say_error(f"{where}{error.strerror or type(error).__name__}")
        sys.exit(2)
    except typer.Exit as leaving:
        sys.exit(leaving.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        code = _STOPPED
    except Exception as error:
        # DuckDB's own word for ^C; its transaction is as a whole in or out.
        if isinstance(error, RuntimeError) and "interrupted" in str(error):
            code = _STOPPED
        elif type(error).__module__.startswith(("click", "typer")) and hasattr(
            error, "format_message"
        ):
            typer.echo(f"error: {error.format_message()}", err=True)
            sys.exit(2)
        else:
            raise
    if code == _STOPPED:
        typer.echo("stopped; nothing was half written, the same command goes on", err=True)
    sys.exit(code or 0)


if __name__ == "__main__":
    main()
