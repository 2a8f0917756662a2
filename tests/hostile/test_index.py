"""Every hostile case of the boundary is driven somewhere; a case without a test fails here.

The numbers are those of the threat model's list; the names say where each is driven.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
FILES = "hostile/test_files.py::"
RUNNING = "hostile/test_running.py::"
APPROVALS = "hostile/test_approvals.py::"
ROOTS = "workspace/test_root.py::"
NETWORK = "workspace/sandbox/test_network.py::"
ESCAPES = "workspace/sandbox/test_escapes.py::test_nothing_gets_out_of_bubblewrap"
CANCEL = "invariants/test_cancel_everywhere.py::"
READ, WRITTEN = (
    FILES + "test_nothing_outside_is_read_unasked",
    FILES + "test_nothing_outside_or_through_a_link_is_written_unasked_and_through_a_link_never",
)
NAMES = FILES + "test_names_that_run_later_are_a_persons_own_decision_in_any_spelling"
PLANTED = FILES + "test_what_would_run_later_cannot_be_planted_from_the_box"
BOUNDED = RUNNING + "test_commands_that_wait_for_a_terminal_or_say_too_much_end_and_cost_little"
KEYS = RUNNING + "test_no_key_of_the_agent_shows_in_what_a_command_can_see"
WAYS = RUNNING + "test_no_way_leads_to_this_machines_network"
SPELLED = NETWORK + "test_names_that_look_alike_are_others"
DRIVEN = {
    "H216": BOUNDED, "H217": BOUNDED,
    "H219": READ, "H220": READ, "H222": WRITTEN, "H223": READ, "H225": READ,
    "H226": ROOTS + "test_an_attacker_who_swaps_a_directory_for_a_link_gets_nothing",
    "H228": WRITTEN, "H229": FILES + "test_the_working_folder_is_never_the_models_choice",
    "H231": READ, "H232": READ, "H234": READ, "H235": READ, "H237": READ, "H238": READ, "H240": NAMES, "H241": NAMES,
    "H243": PLANTED, "H244": PLANTED, "H246": NAMES, "H247": NAMES,
    "H249": FILES + "test_an_edit_that_fits_twice_or_a_file_that_moved_on_changes_nothing",
    "H250": "workspace/test_files.py::"
            "test_killed_before_or_after_any_system_call_it_is_old_or_new_and_the_next_writer_tidies_up",
    "H252": FILES + "test_an_edit_that_fits_twice_or_a_file_that_moved_on_changes_nothing",
    "H253": FILES + "test_an_archive_unpacked_in_the_box_leaves_nothing_outside",
    "H255": FILES + "test_walks_end_where_links_go_round_and_no_configuration_of_the_project_is_obeyed",
    "H256": FILES + "test_walks_end_where_links_go_round_and_no_configuration_of_the_project_is_obeyed",
    "H258": FILES + "test_no_place_in_the_shared_temporary_folder_can_be_prepared_by_others",
    "H313": NETWORK + "test_an_empty_or_faulty_list_is_an_error_and_never_open",
    "H315": SPELLED, "H316": SPELLED, "H318": NETWORK + "test_what_has_no_single_spelling_is_refused",
    "H319": NETWORK + "test_spellings_of_an_allowed_name_are_one_name",
    "H321": NETWORK + "test_a_name_leads_to_public_addresses_only",
    "H322": NETWORK + "test_the_proxy_lets_through_what_is_listed_and_nothing_else",
    "H324": WAYS, "H325": WAYS, "H327": WAYS, "H328": NETWORK + "test_when_the_proxy_is_gone_the_way_is_closed",
    "H336": KEYS, "H337": KEYS, "H345": KEYS, "H346": KEYS,
    "H339": "providers/test_faults.py::test_credentials_are_taken_out",
    "H340": "providers/test_client.py::test_a_secret_shows_itself_to_nobody",
    "H342": "workspace/sandbox/test_box.py::test_no_core_is_dumped",
    "H343": "session/test_journal.py::test_files_are_for_this_user_alone_whatever_the_umask",
    "H348": APPROVALS + "test_every_part_of_a_call_is_in_what_was_approved",
    "H349": "harness/test_approvals.py::test_an_answer_to_something_else_approves_nothing",
    "H351": "process/test_chat.py::test_keys_typed_before_the_question_are_no_answer",
    "H352": "process/test_chat.py::test_a_paste_that_is_on_its_way_when_the_question_appears_is_no_answer",
    "H354": APPROVALS + "test_shells_interpreters_and_wrappers_are_never_allowed_for_a_session",
    "H355": "policy/test_reading.py::test_text_that_cannot_be_shown_truly_is_refused_in_every_mode",
    "H357": APPROVALS + "test_shells_interpreters_and_wrappers_are_never_allowed_for_a_session",
    "H358": APPROVALS + "test_a_file_that_changes_while_its_diff_is_shown_is_not_overwritten",
    "H361": APPROVALS
            + "test_a_script_that_changed_since_its_command_was_allowed_for_the_session_is_asked_about",
    "H363": FILES + "test_the_working_folder_is_never_the_models_choice",
    "H439": RUNNING + "test_nothing_outlives_a_command_however_it_hides",
    "H441": RUNNING + "test_nothing_outlives_a_command_however_it_hides",
    "H442": "process/test_sandbox.py::test_three_hundred_detached_children_die_with_the_agent",
    "H444": "process/test_interrupt.py::test_a_signal_while_a_command_runs_leaves_no_process_and_a_lawful_session",
    "H445": CANCEL + "test_abort_at_every_step_of_the_event_loop",
    "H447": BOUNDED, "H448": ESCAPES, "H450": "workspace/test_process.py::test_many_short_children_are_reaped",
    "H451": CANCEL + "test_a_pending_approval_is_taken_back_and_never_runs",
    "H453": "process/test_interrupt.py::test_a_signal_while_the_model_talks_ends_with_the_result_object",
    "H456": BOUNDED, "H457": RUNNING + "test_the_agent_cannot_be_signalled_nor_the_system_remounted",
    "H459": RUNNING + "test_the_agent_cannot_be_signalled_nor_the_system_remounted",
}  # fmt: skip
NOT_BUILT = {
    "H330": "no part fetches what a text names",
    "H331": "nothing listens",
    "H333": "nothing listens",
    "H334": "nothing listens",
    "H360": "no subagents yet",
    "H454": "no external tool servers yet",
}
"""Cases of parts that do not exist; whoever builds one moves its case above."""


def test_every_case_names_a_test_that_is_there() -> None:
    for case, where in DRIVEN.items():
        file, _, name = where.partition("::")
        tree = ast.parse((TESTS / file).read_text())
        names = {
            node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        assert not name or name in names, (case, where)
    assert not DRIVEN.keys() & NOT_BUILT.keys()


def test_the_command_lines_are_all_there() -> None:
    cases = [json.loads(line) for line in (TESTS / "hostile" / "commands.jsonl").read_text().splitlines()]
    assert len({case["id"] for case in cases}) == len(cases) >= 143
    assert {case["want"] for case in cases} == {"ask", "contain", "deny"}
