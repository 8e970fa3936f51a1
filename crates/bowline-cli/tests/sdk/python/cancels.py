"""Cancels: each kind, and how long the running code waited for the word."""

import time

from flows import Cancels, CancelsOne, CleansUp, Sleeper, seen
from stage import QUEUE, play, until
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import CancelledError, TerminatedError


async def told_in(key: str, since: float) -> float:
    """How many milliseconds after a moment the activity's code was told."""
    await until(lambda: "cancelled" in seen[key])
    return (seen[key]["cancelled"] - since) * 1000


async def pushed(client: Client) -> None:
    """An activity that never heartbeats is told at once, whatever the workflow waits for."""
    for how in ["TRY_CANCEL", "WAIT_CANCELLATION_COMPLETED", "ABANDON"]:
        run = await client.start_workflow(Cancels.run, args=[how, how], id=how, task_queue=QUEUE)
        await until(lambda: how in seen)
        begun = time.time()
        await run.cancel()
        assert await run.result() == "CancelledError"
        told = await told_in(how, begun)
        print(f"latency of a pushed cancel, {how}: {told:.1f} ms")
        assert told < 10_000, "that is no push: it is somebody's poll that ended"


async def terminated(client: Client) -> None:
    run = await client.start_workflow(
        Cancels.run, args=["TRY_CANCEL", "gone"], id="gone", task_queue=QUEUE
    )
    await until(lambda: "gone" in seen)
    begun = time.time()
    await run.terminate(reason="enough")
    try:
        await run.result()
        raise AssertionError("a terminated run has no result")
    except WorkflowFailureError as error:
        assert isinstance(error.cause, TerminatedError), error.cause
        assert "enough" in str(error.cause), error.cause
    told = await told_in("gone", begun)
    print(f"latency of the cancel that follows a termination: {told:.1f} ms")


async def by_workflow(client: Client) -> None:
    """The workflow itself cancels one that runs, then one that never started, and goes on."""
    how = await client.execute_workflow(CancelsOne.run, "own", id="own", task_queue=QUEUE)
    assert how == "CancelledError CancelledError", how


async def of_workflow(client: Client) -> None:
    """A timer is cancelled with its workflow; clean-up runs first; a second cancel is harmless."""
    for run, name in [(Sleeper.run, "sleeper"), (CleansUp.run, "cleaner")]:
        handle = await client.start_workflow(run, id=name, task_queue=QUEUE)
        await until(lambda: has_timer(handle))
        await handle.cancel()
        await handle.cancel()
        try:
            await handle.result()
            raise AssertionError("a cancelled run has no result")
        except WorkflowFailureError as error:
            assert isinstance(error.cause, CancelledError), error.cause
        await handle.cancel()
        kinds = [event.WhichOneof("attributes") for event in (await handle.fetch_history()).events]
        assert kinds.count("workflow_execution_cancel_requested_event_attributes") == 1, kinds
        assert "timer_canceled_event_attributes" in kinds, kinds
        cleaned = "activity_task_completed_event_attributes" in kinds
        assert cleaned == (name == "cleaner"), kinds


async def has_timer(handle: object) -> bool:
    events = (await handle.fetch_history()).events
    return any(event.HasField("timer_started_event_attributes") for event in events)


if __name__ == "__main__":
    play({scene.__name__: scene for scene in [pushed, terminated, by_workflow, of_workflow]})
