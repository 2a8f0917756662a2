"""Trust is bound to the folder itself, newest decision first, and never inherited."""

from wisp.policy.trust import Identity, TrustRecord, state_of

HERE = Identity("/w/app", 1, 10, 1000)


def test_newest_decision_about_exactly_this_folder_counts() -> None:
    yes, no = TrustRecord(HERE, True, "1"), TrustRecord(HERE, False, "2")
    assert state_of(HERE, ()) == "undecided"
    assert state_of(HERE, (yes,)) == "trusted"
    assert state_of(HERE, (yes, no)) == "revoked"
    assert state_of(HERE, (no, yes)) == "trusted"


def test_another_folder_under_the_same_name_is_undecided() -> None:
    yes = (TrustRecord(HERE, True, "1"),)
    for other in (
        Identity("/w/app", 2, 10, 1000),
        Identity("/w/app", 1, 11, 1000),
        Identity("/w/app", 1, 10, 0),
        Identity("/w/app/sub", 1, 12, 1000),
        Identity("/w/app-evil", 1, 13, 1000),
    ):
        assert state_of(other, yes) == "undecided"
