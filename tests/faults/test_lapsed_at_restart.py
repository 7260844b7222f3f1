"""Leases that expire while the server is down, with later requests in different orders."""

from __future__ import annotations

from study_instance import LEASE, items_named, plain_study, running_instance, sent

from sfumato.study.study import People


def test_a_late_answer_after_a_restart_does_not_exceed_the_quota(store: str) -> None:
    study = plain_study(people=People(answers_per_item=1, batch_size=1))
    with running_instance(store, study, items_named(1)) as before:
        late, quick = before.new(), before.new()
        shown = late.first()
        after = before.restarted()
        try:
            after.clock.advance(LEASE + 1)
            # The first request after the lease has expired comes from its holder.
            assert [each.handle for each in after.same(late).state().trials] == [shown.handle]
            assert after.same(quick).state().trials == ()
            assert after.same(late).submit(sent(shown.handle)).code is None
            assert after.same(quick).state().trials == ()
            assert after.answers_by_item() == {"i0": 1}
        finally:
            after.stop()


def test_a_reassigned_trial_is_not_accepted_twice(store: str) -> None:
    study = plain_study(people=People(answers_per_item=1, batch_size=1))
    with running_instance(store, study, items_named(1)) as before:
        late, quick = before.new(), before.new()
        shown = late.first()
        after = before.restarted()
        try:
            after.clock.advance(LEASE + 1)
            after.same(late).state()
            after.clock.advance(LEASE + 1)
            taken = after.same(quick).first()
            assert after.same(quick).submit(sent(taken.handle)).code is None
            assert after.same(late).submit(sent(shown.handle)).code == "given-to-others"
            assert after.answers_by_item() == {"i0": 1}
        finally:
            after.stop()
