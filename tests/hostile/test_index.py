"""Every hostile case is driven somewhere; a case without a test fails here.

The numbers are those of the threat model's list; the names say where each is driven.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
FILES = "hostile/test_files.py::"
RUNNING = "hostile/test_running.py::"
APPROVALS = "hostile/test_approvals.py::"
ROOTS = "workspace/test_root.py::"
NETWORK = "workspace/sandbox/test_network.py::"
WHOLE = "hostile/test_everywhere.py::"
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
    "H342": WHOLE + "test_an_agent_that_crashes_leaves_no_memory_behind",
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
    "H442": WHOLE + "test_no_end_of_the_agent_leaves_a_process",
    "H444": WHOLE + "test_no_end_of_the_agent_leaves_a_process",
    "H445": CANCEL + "test_abort_at_every_step_of_the_event_loop",
    "H447": BOUNDED, "H448": "hostile/test_terminals.py::test_nothing_is_typed_into_the_persons_terminal", "H450": "workspace/test_process.py::test_many_short_children_are_reaped",
    "H451": CANCEL + "test_a_pending_approval_is_taken_back_and_never_runs",
    "H453": "process/test_interrupt.py::test_a_signal_while_the_model_talks_ends_with_the_result_object",
    "H456": BOUNDED, "H457": RUNNING + "test_the_agent_cannot_be_signalled_nor_the_system_remounted",
    "H459": RUNNING + "test_the_agent_cannot_be_signalled_nor_the_system_remounted",
}  # fmt: skip
DRIVEN |= {
    **dict.fromkeys(['H259', 'H261', 'H262', 'H264', 'H265', 'H267', 'H268', 'H270', 'H273', 'H280', 'H282', 'H283'], WHOLE + "test_nothing_of_the_folder_runs_or_moves_the_request"),
    **dict.fromkeys(['H271'], "hostile/test_projects.py::test_what_instructions_hide_is_shown_to_whoever_looks"),
    **dict.fromkeys(['H274'], WHOLE + "test_what_was_approved_runs_in_the_box_and_what_it_became_does_not"),
    **dict.fromkeys(['H276'], WHOLE + "test_trust_is_of_one_folder_and_of_none_that_is_shared"),
    **dict.fromkeys(['H277'], WHOLE + "test_trust_is_of_one_folder_and_of_none_that_is_shared"),
    **dict.fromkeys(['H279'], WHOLE + "test_trust_is_of_one_folder_and_of_none_that_is_shared"),
    **dict.fromkeys(['H285'], WHOLE + "test_what_is_no_regular_file_is_passed_over_and_never_waited_for"),
    **dict.fromkeys(['H286'], "host/test_project.py::test_every_setting_has_a_class"),
    **dict.fromkeys(['H288'], "mcp_client/test_stdio.py::test_tools_that_change_are_told_and_held_until_somebody_agrees"),
    **dict.fromkeys(['H289'], "process/test_mcp.py::test_a_tool_called_like_a_built_in_one_does_not_take_its_place"),
    **dict.fromkeys(['H291'], "mcp_client/test_parts.py::test_names_fit_every_vendor_and_differ_where_tools_do"),
    **dict.fromkeys(['H292'], "process/test_mcp.py::test_a_call_runs_where_the_person_allows_it_and_nowhere_else"),
    **dict.fromkeys(['H294'], "mcp_client/test_parts.py::test_results_carry_no_screen_tricks"),
    **dict.fromkeys(['H295'], "mcp_client/test_stdio.py::test_a_result_of_a_gigabyte_closes_the_call"),
    **dict.fromkeys(['H297'], "mcp_client/test_stdio.py::test_a_server_that_dies_during_a_call_ends_that_call_and_is_started_once_more"),
    **dict.fromkeys(['H298'], "mcp_client/test_stdio.py::test_noise_before_and_beside_messages_is_no_harm"),
    **dict.fromkeys(['H300', 'H301'], "mcp_client/test_http.py::test_an_answer_that_makes_no_sense_ends_its_call_and_only_that"),
    **dict.fromkeys(['H303'], "process/test_elicitation.py::test_a_headless_run_answers_nothing"),
    **dict.fromkeys(['H304'], "mcp_client/test_stdio.py::test_roots_are_answered_and_a_ping_too"),
    **dict.fromkeys(['H306'], "mcp_client/test_login.py::test_what_is_not_as_it_must_be_ends_the_login"),
    **dict.fromkeys(['H307'], WHOLE + "test_a_server_of_tools_sees_no_key_and_leaves_nothing"),
    **dict.fromkeys(['H309'], WHOLE + "test_a_server_of_tools_sees_no_key_and_leaves_nothing"),
    **dict.fromkeys(['H310'], "mcp_client/test_stdio.py::test_a_flood_ends_the_server_not_the_session"),
    **dict.fromkeys(['H312'], "mcp_client/test_http.py::test_a_redirect_to_another_origin_is_not_followed"),
    **dict.fromkeys(['H330'], "exchange/test_formats.py::test_a_page_runs_and_fetches_nothing_whatever_was_said"),
    **dict.fromkeys(['H334'], "process/test_rpc.py::test_a_line_beyond_the_limit_is_refused_and_the_next_one_read"),
    **dict.fromkeys(['H360'], "process/test_subagents.py::test_the_parents_denials_bind_it"),
    **dict.fromkeys(['H454'], "mcp_client/test_stdio.py::test_a_cancelled_call_settles_at_once_and_the_server_is_told"),
    **dict.fromkeys(['H364', 'H366'], "providers/test_golden_streams.py::test_a_stream_cut_after_any_byte_runs_nothing_or_the_whole_call"),
    **dict.fromkeys(['H367'], "providers/test_golden_streams.py::test_every_chunking_gives_the_same_events"),
    **dict.fromkeys(['H369'], "providers/test_golden_streams.py::test_a_terminal_event_over_an_open_call_is_a_failed_attempt"),
    **dict.fromkeys(['H370'], "providers/test_responses_streams.py::test_a_call_that_only_the_terminal_event_holds_runs_nothing"),
    **dict.fromkeys(['H372', 'H373'], "providers/test_anthropic_streams.py::test_a_call_that_the_limit_cut_is_kept_and_never_runs"),
    **dict.fromkeys(['H375', 'H376', 'H378', 'H379'], "messages/test_strict_json.py::test_what_is_not_one_strict_object_is_refused"),
    **dict.fromkeys(['H381'], "providers/test_golden_streams.py::test_a_character_cut_in_two_is_whole"),
    **dict.fromkeys(['H382'], "providers/test_golden_streams.py::test_line_ends_and_byte_order_mark_change_nothing"),
    **dict.fromkeys(['H384'], "providers/test_sse.py::test_a_line_without_end_is_refused_with_flat_memory"),
    **dict.fromkeys(['H385'], "mcp_client/test_http.py::test_an_answer_without_end_is_given_up_at_the_limit"),
    **dict.fromkeys(['H387'], "providers/test_retry.py::test_nothing_is_tried_again_once_it_had_an_effect"),
    **dict.fromkeys(['H388'], "providers/test_faults.py::test_any_body_gives_one_printable_line"),
    **dict.fromkeys(['H390'], "providers/test_http.py::test_a_bomb_is_refused_and_not_tried_again"),
    **dict.fromkeys(['H391'], "providers/test_retry.py::test_hints_are_made_sane"),
    **dict.fromkeys(['H393'], "loop/test_run.py::test_two_calls_with_one_id_run_neither"),
    **dict.fromkeys(['H394'], "providers/test_golden_streams.py::test_a_delta_for_a_part_that_never_began_is_a_protocol_error"),
    **dict.fromkeys(['H396'], "providers/test_lower.py::test_an_argument_whose_name_no_service_takes_is_left_out_where_it_may_be"),
    **dict.fromkeys(['H397'], "providers/test_gemini_streams.py::test_a_call_in_an_answer_that_ended_otherwise_does_not_run"),
    **dict.fromkeys(['H399'], "providers/test_golden_streams.py::test_a_reset_after_the_end_changes_nothing"),
    **dict.fromkeys(['H400'], "providers/test_golden_streams.py::test_text_before_a_cut_call_is_kept_as_partial"),
    **dict.fromkeys(['H402'], "providers/test_http.py::test_dripping_without_progress_ends"),
    **dict.fromkeys(['H403'], "messages/test_ids.py::test_ids_are_unique_and_rise_also_when_the_clock_goes_back"),
    **dict.fromkeys(['H405'], "session/test_journal.py::test_torn_tail_at_every_byte_is_moved_aside_and_appending_goes_on"),
    **dict.fromkeys(['H406'], "session/test_journal.py::test_glued_line_gives_the_record_after_the_stub_and_names_the_gap"),
    **dict.fromkeys(['H408'], "session/test_journal.py::test_junk_after_the_last_record_is_moved_aside"),
    **dict.fromkeys(['H409'], "session/test_codec.py::test_every_flipped_bit_of_a_line_is_found"),
    **dict.fromkeys(['H411', 'H412'], "session/test_journal.py::test_gaps_and_repeats_are_told_and_nothing_is_renumbered"),
    **dict.fromkeys(['H414', 'H415'], "session/test_journal.py::test_bom_and_crlf_are_read_and_appending_goes_on"),
    **dict.fromkeys(['H417'], "session/test_journal.py::test_a_record_that_could_not_be_read_again_is_refused_not_acknowledged"),
    **dict.fromkeys(['H418'], "session/test_long_sessions.py::test_opening_a_long_session_takes_little_memory"),
    **dict.fromkeys(['H420'], "providers/test_requests.py::test_a_hostile_history_becomes_a_request_nobody_refuses"),
    **dict.fromkeys(['H421'], "session/test_journal.py::test_a_file_of_a_newer_format_is_read_and_not_touched"),
    **dict.fromkeys(['H423'], "session/test_journal_refuses.py::test_what_is_no_private_regular_file_is_refused_and_unchanged"),
    **dict.fromkeys(['H424'], "exchange/test_formats.py::test_bytes_that_are_no_session_are_refused_and_nothing_else_happens"),
    **dict.fromkeys(['H426'], "session/test_journal_refuses.py::test_a_holder_that_was_killed_frees_the_session"),
    **dict.fromkeys(['H427'], "session/test_journal_refuses.py::test_a_child_that_outlives_its_parents_hold_does_not_keep_the_lock"),
    **dict.fromkeys(['H429'], "host/test_credentials.py::test_a_lock_file_that_was_removed_under_its_holder_locks_again"),
    **dict.fromkeys(['H430'], "session/test_journal_full_disk.py::test_an_append_to_a_full_file_system_leaves_nothing_behind"),
    **dict.fromkeys(['H432'], "session/test_session.py::test_a_disk_that_fails_at_any_append_stops_before_the_next_effect_and_can_go_on"),
    **dict.fromkeys(['H433'], "crash/test_every_system_call.py::test_killed_at_every_call_nothing_acknowledged_is_lost"),
    **dict.fromkeys(['H435', 'H436'], "crash/test_kill_repair.py::test_killed_at_any_record_it_resumes_and_every_effect_is_there_once"),
    **dict.fromkeys(['H438'], "host/test_store.py::test_a_fork_of_a_session_in_use_is_made_and_damage_stays_behind"),
    **dict.fromkeys(['H460', 'H462', 'H463', 'H465', 'H466', 'H468', 'H469', 'H471', 'H472', 'H474', 'H475', 'H478', 'H480', 'H481', 'H484', 'H486', 'H489', 'H495'], "hostile/test_terminal_bytes.py::test_no_form_of_output_passes_any_of_them"),
    **dict.fromkeys(['H477'], "frontends/test_terminal.py::test_no_text_whatever_leaves_a_control_character"),
    **dict.fromkeys(['H483'], "tools/test_shell.py::test_screen_tricks_do_not_reach_the_model"),
    **dict.fromkeys(['H487'], "frontends/test_terminal.py::test_marks_piled_on_a_letter_are_eight_at_most"),
    **dict.fromkeys(['H490'], "frontends/test_terminal.py::test_what_scripts_and_emoji_are_written_with_stays_whole_and_in_pieces"),
    **dict.fromkeys(['H492'], "hostile/test_terminal_bytes.py::test_a_files_name_drives_nothing_in_a_listing_a_question_or_a_failure"),
    **dict.fromkeys(['H493'], "hostile/test_terminal_bytes.py::test_a_branchs_name_and_a_models_name_drive_nothing"),
    **dict.fromkeys(['H496', 'H498'], "tools/test_shell.py::test_a_gigabyte_of_output_is_bounded"),
    **dict.fromkeys(['H499'], "tools/test_shell.py::test_a_million_tiny_writes_are_gathered"),
    **dict.fromkeys(['H501'], RUNNING + "test_processes_are_counted_in_the_box"),
    **dict.fromkeys(['H502'], BOUNDED),
    **dict.fromkeys(['H504'], "tools/test_search_tools.py::test_ls"),
    **dict.fromkeys(['H505'], "tools/test_read.py::test_a_huge_file_is_read_by_window_in_bounded_memory"),
    **dict.fromkeys(['H507'], "tools/test_diff.py::test_a_changed_file_of_any_size_costs_little"),
    **dict.fromkeys(['H508'], "workspace/test_files.py::test_no_descriptor_is_left_open"),
    **dict.fromkeys(['H510'], "providers/test_retry.py::test_failures_that_pass_are_tried_again_with_growing_waits"),
    **dict.fromkeys(['H511'], "process/test_runaway.py::test_the_same_call_without_end_stops_at_each_ceiling"),
}  # fmt: skip
"""Projects, servers, streams, session files, terminal bytes, resources: some by the very bytes, others by their kind."""
NOT_BUILT = {
    "H331": "nothing listens but a login, for one answer with its state (`host/test_login.py`)",
    "H333": "the same",
}
"""Cases of parts that do not exist; whoever builds one moves its case above."""


NOT_ASKED = {
    "providers/": "bytes of a service: neither a user nor a box is asked",
    "messages/": "values in memory",
    "loop/": "values in memory",
    "exchange/": "bytes in and bytes out, in memory",
    "harness/": "an answer to a question, in memory",
    "frontends/": "text for a screen",
    "mcp_client/": "bytes between two programs; what a server may do is driven everywhere as H307 and H309",
    "session/": "Wisp's own files, written by itself outside of any box; refusing those of others is tried as both users in `test_files.py`",
    "crash/": "the same, at every system call",
    "host/": "Wisp's own files and tables",
    "invariants/": "events in memory",
    "process/test_chat.py": "keys of a person at a terminal",
    "process/test_interrupt.py": "the model talks and no command runs; with one, H444 is driven everywhere",
    "process/test_mcp.py": "who decides about a call, before anything runs",
    "process/test_elicitation.py": "a question to a person",
    "process/test_rpc.py": "lines of a client",
    "process/test_subagents.py": "who decides about a call, before anything runs",
    "process/test_runaway.py": "counting of turns",
    "policy/": "refused before anything runs; the same texts are run in `test_commands.py`",
    "hostile/test_terminal_bytes.py": "text for a screen",
    "hostile/test_projects.py::test_what_instructions_hide": "text for a person",
    "workspace/test_files.py": "killed at each system call of one writer, whoever it is",
    "workspace/test_process.py": "reaping by the agent itself, outside of any box",
    "workspace/test_root.py": "as both users; the tools of files ask no box, which `test_files.py` shows",
    "workspace/sandbox/test_network.py": "our proxy, which exists in one of the boxes; ways around it are H324 to H327",
    "tools/": "bounds of a tool that asks no box; endless commands are H216 and H217",
    "hostile/test_running.py::test_the_agent_cannot_be_signalled": "without a box nothing is promised, and it would kill the test",
}  # fmt: skip
"""Where a user or a sandbox changes nothing, or where one of the three configurations promises nothing; and why."""


def _driven_everywhere(file: str, name: str) -> bool:
    """Whether a test names both users and all three configurations."""
    tree = ast.parse((TESTS / file).read_text())
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            words = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
            return bool(words & {"each_user", "everywhere"}) and bool(words & {"CONFIGS", "_reach"})
    return False


def test_every_case_is_driven_for_both_users_in_all_three_boxes_or_says_why_not() -> None:
    for case, where in DRIVEN.items():
        file, _, name = where.partition("::")
        reasons = [start for start in NOT_ASKED if where.startswith(start)]
        assert _driven_everywhere(file, name) != bool(reasons), (case, where, reasons)
    for start in NOT_ASKED:
        assert any(where.startswith(start) for where in DRIVEN.values()), start


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


def test_what_the_map_of_promises_names_is_there() -> None:
    named = re.findall(r"`((?:[a-z_]+/)+(?:test_\w+\.py)?)(?:::(\w+))?`", (TESTS / "README.md").read_text())
    assert len(named) > 100
    for file, name in named:
        assert (TESTS / file).exists(), file
        if name:
            assert f"def {name}(" in (TESTS / file).read_text(), (file, name)
