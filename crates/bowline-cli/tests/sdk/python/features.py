"""What Temporal's users know, scene by scene."""

import asyncio
import time
from datetime import timedelta

from flows import (
    Again, Beats, Broken, Chat, Counts, Elsewhere, Fails, Hello, Local, Parent, Relay, Remembers,
    Retries, Sleeper, Stubborn, TimesOut, Timers, Unpolled, Waits, seen,
)
from stage import QUEUE, play, until, until_status, worker
from temporalio.client import (
    Client, WorkflowFailureError, WorkflowHandle, WorkflowQueryFailedError,
    WorkflowQueryRejectedError, WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError,
    WorkflowUpdateStage,
)
from temporalio.common import QueryRejectCondition, RetryPolicy, WorkflowIDConflictPolicy
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import (
    ActivityError, ApplicationError, TimeoutError, WorkflowAlreadyStartedError,
)
from temporalio.service import RPCError, RPCStatusCode


async def signals(client: Client) -> None:
    chat = await client.start_workflow(Chat.run, id="chat", task_queue=QUEUE)
    await chat.signal(Chat.say, "one")
    await chat.signal(Chat.say, "two")
    await chat.signal(Chat.end)
    assert await chat.result() == ["one", "two"]
    try:
        await chat.signal(Chat.say, "three")
        raise AssertionError("a closed run took a signal")
    except RPCError as error:
        assert error.status == RPCStatusCode.NOT_FOUND, error


async def queries(client: Client) -> None:
    chat = await client.start_workflow(Chat.run, id="chat", task_queue=QUEUE)
    # Beside the first turn, at rest, and right behind signals that its code has not seen yet.
    assert await chat.query(Chat.log) == []
    for number in range(20):
        await chat.signal(Chat.say, str(number))
        assert await chat.query(Chat.log) == [str(n) for n in range(number + 1)]
    try:
        await chat.query(Chat.broken)
        raise AssertionError("a query that fails answered")
    except WorkflowQueryFailedError as error:
        assert "no such answer" in str(error), error
    await chat.signal(Chat.end)
    await chat.result()
    assert len(await chat.query(Chat.log)) == 20, "closed runs answer too"
    try:
        await chat.query(Chat.log, reject_condition=QueryRejectCondition.NOT_OPEN)
        raise AssertionError("a rejected query answered")
    except WorkflowQueryRejectedError as error:
        assert error.status.name == "COMPLETED", error


async def updates(client: Client) -> None:
    chat = await client.start_workflow(Chat.run, id="chat", task_queue=QUEUE)
    assert await chat.execute_update(Chat.add, "one") == 1
    before = len((await chat.fetch_history()).events)
    try:
        await chat.execute_update(Chat.add, "no")
        raise AssertionError("a refused update was taken")
    except WorkflowUpdateFailedError as error:
        assert "refused" in str(error.cause), error.cause
    assert len((await chat.fetch_history()).events) == before, "a refusal leaves no trace"
    try:
        await chat.execute_update(Chat.fails)
        raise AssertionError("an update that fails was answered")
    except WorkflowUpdateFailedError as error:
        assert "the update failed" in str(error.cause), error.cause
    taken = await chat.start_update(
        Chat.add, "two", wait_for_stage=WorkflowUpdateStage.ACCEPTED, id="second"
    )
    assert await taken.result() == 2
    assert await chat.execute_update(Chat.add, "again", id="second") == 2, "an id counts once"
    await chat.signal(Chat.end)
    assert await chat.result() == ["one", "two"]
    assert await chat.get_update_handle("second").result() == 2, "closed runs keep outcomes"


async def updates_at_the_end(client: Client) -> None:
    """A run ends, or goes on as another, while updates are under way."""
    chat = await client.start_workflow(Chat.run, id="chat", task_queue=QUEUE)
    held = await chat.start_update(
        Chat.hold, wait_for_stage=WorkflowUpdateStage.ACCEPTED, id="held"
    )
    try:
        await held.result(rpc_timeout=timedelta(seconds=0.5))
        raise AssertionError("it cannot have an outcome")
    except WorkflowUpdateRPCTimeoutOrCancelledError:
        pass
    await chat.signal(Chat.end)
    await chat.result()
    for waiting in [held, chat.get_update_handle("held")]:
        try:
            await waiting.result()
            raise AssertionError("nobody has answered it")
        except WorkflowUpdateFailedError as error:
            assert isinstance(error.cause, ApplicationError), error.cause
            assert error.cause.type == "AcceptedUpdateCompletedWorkflow", error.cause
    relay = await client.start_workflow(Relay.run, 0, id="relay", task_queue=QUEUE)
    for number in range(4):
        line = str(number)
        _, heard = await asyncio.gather(
            relay.signal(Relay.go_on), relay.execute_update(Relay.hear, line, id=line)
        )
        assert heard == line, heard
    try:
        await relay.signal(Relay.go_on)
    except RPCError as error:
        # It has heard enough already.
        assert error.status == RPCStatusCode.NOT_FOUND, error
    assert await relay.result() == 4


async def not_ready(client: Client) -> None:
    """Who asks a run that cannot answer is told so at once."""
    async def refused(handle: WorkflowHandle) -> None:
        try:
            await handle.query(Broken.state)
            raise AssertionError("it cannot answer")
        except RPCError as error:
            assert error.status == RPCStatusCode.FAILED_PRECONDITION, error

    broken = await client.start_workflow(
        Broken.run, id="broken", task_queue=QUEUE, task_timeout=timedelta(seconds=1)
    )

    async def is_tried_again() -> bool:
        return (await broken.describe()).raw_description.pending_workflow_task.attempt >= 3

    await until(is_tried_again)
    await refused(broken)
    seen["mended"] = {}
    assert await broken.result() == "works"
    later = await client.start_workflow(
        Broken.run, id="later", task_queue=QUEUE, start_delay=timedelta(hours=1)
    )
    await refused(later)
    await later.cancel()
    await later.result()


async def timers(client: Client) -> None:
    assert await client.execute_workflow(Timers.run, id="timers", task_queue=QUEUE) == "slept"
    begun = time.time()
    await client.execute_workflow(
        Timers.run, id="late", task_queue=QUEUE, start_delay=timedelta(seconds=1)
    )
    assert time.time() - begun >= 1


async def retries(client: Client) -> None:
    run = client.execute_workflow
    assert await run(Retries.run, "retries", id="retries", task_queue=QUEUE) == 3
    try:
        await run(Fails.run, id="fails", task_queue=QUEUE)
        raise AssertionError("it cannot succeed")
    except WorkflowFailureError as error:
        assert isinstance(error.cause, ActivityError), error.cause
        assert error.cause.cause.type == "Fatal", error.cause.cause
    policy = RetryPolicy(initial_interval=timedelta(milliseconds=50))
    third = await run(Stubborn.run, id="stubborn", task_queue=QUEUE, retry_policy=policy)
    assert third == 3, "the third run of the chain succeeds"


async def timeouts(client: Client) -> None:
    async def kind(run: object, *args: str) -> str:
        try:
            await client.execute_workflow(run, args=args, id=str(run), task_queue=QUEUE)
            raise AssertionError("it cannot end in time")
        except WorkflowFailureError as error:
            assert isinstance(error.cause.cause, TimeoutError), error.cause
            return error.cause.cause.type.name

    assert await kind(TimesOut.run, "zombie") == "START_TO_CLOSE"
    # A worker that is very busy begins with it when its time is up already, and is told then.
    await until(lambda: "cancelled" in seen.get("zombie", {}))
    assert await kind(Unpolled.run) == "SCHEDULE_TO_START"
    said = await client.execute_workflow(Beats.run, "beats", id="beats", task_queue=QUEUE)
    assert said == "went on from half-way", said
    asleep = await client.start_workflow(
        Sleeper.run, id="asleep", task_queue=QUEUE, run_timeout=timedelta(seconds=0.5)
    )
    try:
        await asleep.result()
        raise AssertionError("it cannot end in time")
    except WorkflowFailureError as error:
        assert isinstance(error.cause, TimeoutError), error.cause


async def local_activities(client: Client) -> None:
    said = await client.execute_workflow(Local.run, 0.1, id="short", task_queue=QUEUE)
    assert said == "Hello, you! took 0.1", said
    # Longer than a turn may take: the worker keeps it alive with heartbeats of its own.
    said = await client.execute_workflow(
        Local.run, 3.0, id="long", task_queue=QUEUE, task_timeout=timedelta(seconds=2)
    )
    assert said == "Hello, you! took 3.0", said


async def completed_elsewhere(client: Client) -> None:
    far = await client.start_workflow(Elsewhere.run, "far", id="far", task_queue=QUEUE)
    await until(lambda: "far" in seen)
    handle = client.get_async_activity_handle(
        workflow_id="far", run_id=None, activity_id="far-away"
    )
    await handle.heartbeat("soon")
    await handle.complete("from elsewhere")
    assert await far.result() == "from elsewhere"
    # Nobody has begun with it, and nobody needs to.
    waits = await client.start_workflow(Waits.run, id="waits", task_queue=QUEUE)
    handle = client.get_async_activity_handle(
        workflow_id="waits", run_id=None, activity_id="waits"
    )

    async def is_there() -> bool:
        return len((await waits.describe()).raw_description.pending_activities) == 1

    await until(is_there)
    await handle.complete("from elsewhere, too")
    assert await waits.result() == "from elsewhere, too"


async def eager(client: Client) -> None:
    """The worker of this client has the first turn without any poll for it."""
    async with worker(client):
        run = await client.start_workflow(
            Hello.run, "you", id="eager", task_queue=QUEUE, request_eager_start=True
        )
        assert getattr(run, "__temporal_eagerly_started"), "the first turn came with the start"
        assert await run.result() == "Hello, you!"
    events = (await run.fetch_history()).events
    first = [e.workflow_task_started_event_attributes.identity for e in events
             if e.HasField("workflow_task_started_event_attributes")][0]
    assert first == client.identity, first


async def cron(client: Client) -> None:
    await client.start_workflow(
        Counts.run, id="counts", task_queue=QUEUE, cron_schedule="@every 1s"
    )
    await until(lambda: has_counted(client, 2))
    current = client.get_workflow_handle("counts")
    await current.terminate(reason="enough")
    await until_status(current, "TERMINATED")
    closed = [found.status.name async for found in client.list_workflows("WorkflowId = 'counts'")]
    assert closed.count("FAILED") == 1 and closed.count("TERMINATED") == 1, closed
    assert "RUNNING" not in closed, closed


async def has_counted(client: Client, most: int) -> bool:
    query = "WorkflowId = 'counts' AND ExecutionStatus = 'Completed'"
    done = [run async for run in client.list_workflows(query)]
    counted = []
    for found in done:
        handle = client.get_workflow_handle(found.id, run_id=found.run_id)
        counted.append(await handle.result(follow_runs=False))
    return most in counted


async def children(client: Client) -> None:
    async def play(kind: str) -> str:
        return await client.execute_workflow(Parent.run, kind, id=kind, task_queue=QUEUE)

    assert await play("completes") == "my child says: Hello, papa!"
    assert await play("signals") == "went"
    assert await play("signals from outside") == "went"
    assert await play("cancels") == "CancelledError"
    assert await play("cancels from outside") == "CancelledError"
    for kind, status in [("leaves", "TERMINATED"), ("asks", "CANCELED"), ("abandons", "RUNNING")]:
        assert await play(kind) == kind
        await until_status(client.get_workflow_handle(f"{kind}/child"), status)


async def continues(client: Client) -> None:
    run = await client.start_workflow(Again.run, 3, id="again", task_queue=QUEUE)
    assert await run.result() == 42
    statuses = [found.status.name async for found in client.list_workflows("WorkflowId = 'again'")]
    assert sorted(statuses) == ["COMPLETED"] + ["CONTINUED_AS_NEW"] * 3, statuses


async def ids(client: Client) -> None:
    first = await client.start_workflow(Chat.run, id="one", task_queue=QUEUE)

    async def start(**options: object) -> str:
        handle = await client.start_workflow(Chat.run, id="one", task_queue=QUEUE, **options)
        return handle.first_execution_run_id or handle.result_run_id

    try:
        await start()
        raise AssertionError("two runs of one id")
    except WorkflowAlreadyStartedError as error:
        assert error.run_id == first.result_run_id, error
    same = await start(id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING)
    assert same == first.result_run_id
    other = await start(id_conflict_policy=WorkflowIDConflictPolicy.TERMINATE_EXISTING)
    assert other != first.result_run_id
    await start(start_signal="say", start_signal_args=["with the start"])
    current = client.get_workflow_handle_for(Chat.run, "one")
    assert await current.query(Chat.log) == ["with the start"]
    await current.signal(Chat.end)
    await current.result()
    try:
        await start(id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE)
        raise AssertionError("an id was used again")
    except WorkflowAlreadyStartedError:
        pass


async def shown(client: Client) -> None:
    chat = await client.start_workflow(Chat.run, id="shown", task_queue=QUEUE, memo={"a": "b"})
    described = await chat.describe()
    assert described.status.name == "RUNNING"
    assert await described.memo() == {"a": "b"}
    assert described.task_queue == QUEUE and described.workflow_type == "Chat"
    done = await client.start_workflow(Remembers.run, id="done", task_queue=QUEUE)
    assert await done.result() == done.result_run_id
    assert await (await done.describe()).memo() == {"place": "Köln"}

    async def found(query: str) -> list[str]:
        return sorted([run.id async for run in client.list_workflows(query, page_size=1)])

    assert await found("") == ["done", "shown"]
    assert await found("WorkflowType = 'Chat' AND ExecutionStatus = 'Running'") == ["shown"]
    assert await found("WorkflowId STARTS_WITH 'do' OR WorkflowId IN ('x', 'y')") == ["done"]
    assert await found("CloseTime IS NULL") == ["shown"]
    counted = await client.count_workflows("GROUP BY ExecutionStatus")
    groups = {group.group_values[0]: group.count for group in counted.groups}
    assert (counted.count, groups) == (2, {"Running": 1, "Completed": 1}), groups
    try:
        await found("WorkflowId ==== 'x'")
        raise AssertionError("a bad query was understood")
    except RPCError as error:
        assert error.status == RPCStatusCode.INVALID_ARGUMENT, error


if __name__ == "__main__":
    play({
        scene.__name__: scene
        for scene in [
            signals, queries, updates, updates_at_the_end, not_ready, timers, retries, timeouts,
            local_activities, completed_elsewhere, eager, cron, children, continues, ids, shown,
        ]
    })
