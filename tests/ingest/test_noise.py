"""Turns that are not worth a memory, by the table, and those that are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalltune.ingest.noise import noise_reason, width
from steps import grows_with_its_input

REASONS = {
    "nothing said",
    "interruption mark",
    "API error",
    "command or its output",
    "punctuation or emoji only",
    "greeting or acknowledgement",
    "too short",
    None,
}


@pytest.mark.parametrize(
    ("text", "role", "reason"),
    [
        ("", "user", "nothing said"),
        (" \n\n ", "assistant", "nothing said"),
        ("(no content)", "assistant", "nothing said"),
        ("NO_REPLY", "assistant", "nothing said"),
        ("[Request interrupted by user]", "user", "interruption mark"),
        ("[Request interrupted by user for tool use]", "user", "interruption mark"),
        ("[Request interrupted by user] use the other port instead", "user", None),
        ('API Error: 529 {"type":"error"}', "assistant", "API error"),
        ("API Error (Request timed out.) · Retrying", "assistant", "API error"),
        ("Prompt is too long", "assistant", "API error"),
        ("Prompt is too long for the model we chose", "assistant", None),
        ("API Error: 529 is what I get, why?", "user", None),
        ("API Error: explained\nIt means the server is busy.", "assistant", None),
        ("?!… 👍🏽🎉", "user", "punctuation or emoji only"),
        ("----------------", "assistant", "punctuation or emoji only"),
    ],
)
def test_what_no_one_said_is_noise(text, role, reason):
    assert noise_reason(text, role) == reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("/compact", "command or its output"),
        ("/model opus", "command or its output"),
        ("/plugin:review-code", "command or its output"),
        ("/review check that tokens expire after an hour", None),
        ("/usr/bin/python is missing on the server", None),
        (
            "<command-name>/exit</command-name>\n <command-args></command-args>",
            "command or its output",
        ),
        ("<local-command-stdout>Goodbye!</local-command-stdout>", "command or its output"),
        ("<local-command-stdout>cut off in the mid", "command or its output"),
        (
            "<bash-input>ls</bash-input><bash-stdout>a b c d e f</bash-stdout>",
            "command or its output",
        ),
        ("<local-command-stdout>a</local-command-stdout> and why is that?", None),
        (
            "<command-name>/plan</command-name><command-args>store them in DuckDB</command-args>",
            None,
        ),
        ("<command-names>are listed in the manual</command-names>", None),
    ],
)
def test_commands_are_noise_unless_what_they_were_given_says_something(text, reason):
    assert noise_reason(text, "user") == reason


@pytest.mark.parametrize(
    "text",
    [
        "Sounds good, thank you very much!",
        "ok ok ok ok ok",
        "Thanks 🙏 go ahead.",
        "you're welcome",
        "Looks good to me",
        "好的，谢谢！",
        "好的好的谢谢你",
        "没问题，请继续",
        "OK 收到",
        "早上好",
    ],
)
def test_bare_greetings_and_acknowledgements_are_noise_in_any_number(text):
    assert noise_reason(text, "user") == "greeting or acknowledgement"


@pytest.mark.parametrize(
    "text",
    [
        "Sounds good, but use port 4711",
        "thanks, the deploy is on Friday",
        "好的方案是使用缓存",
        "谢谢，会议改到三点",
        "I don't remember the name of that library",  # RecallNest drops this as a denial
        "Do you remember that my birthday is in May?",  # and this as a question about memory
        "我之前说过我住在柏林",
        "hi " * 200 + "hello",  # too long to be bare
    ],
)
def test_what_says_more_is_kept(text):
    assert noise_reason(text, "user") is None


# Eleven from a user, nine from the assistant; a Chinese character counts three.
@pytest.mark.parametrize(
    ("text", "user", "assistant"),
    [
        ("abcdefgh", "too short", "too short"),
        ("abcdefghi", "too short", None),
        ("abcdefghij", "too short", None),
        ("abcdefghijk", None, None),
        ("部署", "too short", "too short"),
        ("明天去", "too short", None),
        ("明天去海", None, None),
        ("用 vim", "too short", "too short"),
        ("かなカ한", None, None),
    ],
)
def test_short_turns_are_noise_by_their_width(text, user, assistant):
    assert noise_reason(f" {text}\n", "user") == user
    assert noise_reason(text, "Caroline") == user  # anyone but the assistant
    assert noise_reason(text, "assistant") == assistant


@given(st.text())
def test_width_is_at_least_the_length_and_at_most_three_times_it(text):
    assert len(text) <= width(text) <= 3 * len(text)


@given(st.text(), st.sampled_from(["user", "assistant", "Melanie"]))
def test_every_reason_is_one_of_the_list_and_outer_blanks_do_not_matter(text, role):
    reason = noise_reason(text, role)
    assert reason in REASONS
    assert noise_reason(f" {text}\n", role) == reason


@pytest.mark.parametrize(
    "unit", ["a", "<command-name>", "<bash-input></bash-input>", "好的", "!", "/"]
)
def test_the_work_grows_with_the_text_alone(unit):
    def work(chars: int) -> None:
        noise_reason(unit * (chars // len(unit)), "user")

    assert grows_with_its_input(work, 10_000, 80_000)
