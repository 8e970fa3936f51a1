"""Workflows and activities that every script here uses, written as any user would write them."""

import asyncio
import time
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, ChildWorkflowError

SOON = timedelta(seconds=30)

# What activities of this process have seen, by the key that they were called with.
seen: dict[str, dict[str, float]] = {}
tries: dict[str, int] = {}


@activity.defn
async def greet(name: str) -> str:
    return f"Hello, {name}!"


@activity.defn
async def flaky(key: str) -> int:
    """Fails twice."""
    tries[key] = tries.get(key, 0) + 1
    if tries[key] < 3:
        raise ApplicationError("not yet", "why", type="Flaky")
    return activity.info().attempt


@activity.defn
async def fatal() -> None:
    raise ApplicationError("no", type="Fatal", non_retryable=True)


@activity.defn
async def silent(key: str) -> str:
    """Never heartbeats, and goes on until it is told to stop."""
    seen[key] = {"started": time.time()}
    print(f"started {key}", flush=True)
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        seen[key]["cancelled"] = time.time()
        print(f"cancelled {key}", flush=True)
        raise
    return "finished"


@activity.defn
async def beating(key: str) -> str:
    """Heartbeats; goes on where the attempt before had come to."""
    begun = list(activity.info().heartbeat_details)
    seen.setdefault(key, {})[f"attempt {activity.info().attempt}"] = time.time()
    if not begun:
        activity.heartbeat("half-way")
        await asyncio.sleep(3600)
    return f"went on from {begun[0]}"


@activity.defn
async def takes(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return f"took {seconds}"


@activity.defn
async def elsewhere(key: str) -> str:
    """Is completed by somebody else, who knows its id."""
    seen[key] = {"started": time.time()}
    activity.raise_complete_async()


@workflow.defn
class Hello:
    @workflow.run
    async def run(self, name: str) -> str:
        return await workflow.execute_activity(greet, name, start_to_close_timeout=SOON)


@workflow.defn
class Chat:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.is_over = False

    @workflow.run
    async def run(self) -> list[str]:
        await workflow.wait_condition(lambda: self.is_over)
        return self.lines

    @workflow.signal
    def say(self, line: str) -> None:
        self.lines.append(line)

    @workflow.signal
    def end(self) -> None:
        self.is_over = True

    @workflow.query
    def log(self) -> list[str]:
        return self.lines

    @workflow.query
    def broken(self) -> None:
        raise RuntimeError("no such answer")

    @workflow.update
    async def add(self, line: str) -> int:
        await asyncio.sleep(0.05)
        self.lines.append(line)
        return len(self.lines)

    @add.validator
    def check(self, line: str) -> None:
        if line == "no":
            raise ValueError("refused")

    @workflow.update
    async def fails(self) -> None:
        raise ApplicationError("the update failed")

    @workflow.update(unfinished_policy=workflow.HandlerUnfinishedPolicy.ABANDON)
    async def hold(self) -> None:
        await workflow.wait_condition(lambda: False)


@workflow.defn
class Timers:
    @workflow.run
    async def run(self) -> str:
        never = asyncio.create_task(asyncio.sleep(1000))
        await asyncio.sleep(0.1)
        never.cancel()
        return "slept"


@workflow.defn
class Sleeper:
    @workflow.run
    async def run(self) -> str:
        await asyncio.sleep(1000)
        return "slept"


@workflow.defn
class Retries:
    @workflow.run
    async def run(self, key: str) -> int:
        policy = RetryPolicy(initial_interval=timedelta(milliseconds=50))
        return await workflow.execute_activity(
            flaky, key, start_to_close_timeout=SOON, retry_policy=policy
        )


@workflow.defn
class Fails:
    @workflow.run
    async def run(self) -> None:
        await workflow.execute_activity(fatal, start_to_close_timeout=SOON)


@workflow.defn
class TimesOut:
    @workflow.run
    async def run(self, key: str) -> None:
        await workflow.execute_activity(
            silent,
            key,
            start_to_close_timeout=timedelta(seconds=1),
            retry_policy=RetryPolicy(maximum_attempts=1),
        )


@workflow.defn
class Unpolled:
    @workflow.run
    async def run(self) -> None:
        await workflow.execute_activity(
            greet,
            "nobody",
            task_queue="nobody-polls-here",
            schedule_to_start_timeout=timedelta(seconds=0.2),
            start_to_close_timeout=SOON,
        )


@workflow.defn
class Beats:
    @workflow.run
    async def run(self, key: str) -> str:
        return await workflow.execute_activity(
            beating,
            key,
            start_to_close_timeout=SOON,
            heartbeat_timeout=timedelta(seconds=2),
            retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=50)),
        )


@workflow.defn
class Local:
    @workflow.run
    async def run(self, seconds: float) -> str:
        first = await workflow.execute_local_activity(greet, "you", start_to_close_timeout=SOON)
        then = await workflow.execute_local_activity(takes, seconds, start_to_close_timeout=SOON)
        return f"{first} {then}"


@workflow.defn
class Elsewhere:
    @workflow.run
    async def run(self, key: str) -> str:
        return await workflow.execute_activity(
            elsewhere, key, activity_id="far-away", start_to_close_timeout=SOON
        )


@workflow.defn
class Child:
    @workflow.run
    async def run(self, name: str) -> str:
        said = await workflow.execute_activity(greet, name, start_to_close_timeout=SOON)
        return f"my child says: {said}"


@workflow.defn
class Waiter:
    def __init__(self) -> None:
        self.may_go = False

    @workflow.run
    async def run(self) -> str:
        await workflow.wait_condition(lambda: self.may_go)
        return "went"

    @workflow.signal
    def go(self) -> None:
        self.may_go = True


@workflow.defn
class Parent:
    @workflow.run
    async def run(self, kind: str) -> str:
        child_id = workflow.info().workflow_id + "/child"
        if kind == "completes":
            return await workflow.execute_child_workflow(Child.run, "papa", id=child_id)
        close = {
            "leaves": workflow.ParentClosePolicy.TERMINATE,
            "abandons": workflow.ParentClosePolicy.ABANDON,
            "asks": workflow.ParentClosePolicy.REQUEST_CANCEL,
        }.get(kind, workflow.ParentClosePolicy.TERMINATE)
        child = await workflow.start_child_workflow(
            Waiter.run, id=child_id, parent_close_policy=close
        )
        other = workflow.get_external_workflow_handle(child_id)
        if kind == "signals":
            await child.signal(Waiter.go)
        elif kind == "signals from outside":
            await other.signal(Waiter.go)
        elif kind == "cancels":
            child.cancel()
        elif kind == "cancels from outside":
            await other.cancel()
        else:
            return kind
        try:
            return await child
        except ChildWorkflowError as error:
            return type(error.cause).__name__


@workflow.defn
class Again:
    @workflow.run
    async def run(self, left: int) -> int:
        if left > 0:
            workflow.continue_as_new(left - 1)
        return 42


@workflow.defn
class Stubborn:
    @workflow.run
    async def run(self) -> int:
        if workflow.info().attempt < 3:
            raise ApplicationError("again")
        return workflow.info().attempt


@workflow.defn
class Remembers:
    @workflow.run
    async def run(self) -> str:
        workflow.upsert_memo({"place": "Köln"})
        return workflow.info().run_id


@workflow.defn
class Cancels:
    """Waits for an activity that never heartbeats, in one of the three ways to cancel it."""

    @workflow.run
    async def run(self, how: str, key: str, seconds: int = 100) -> str:
        kind = workflow.ActivityCancellationType[how]
        running = workflow.start_activity(
            silent,
            key,
            schedule_to_close_timeout=timedelta(seconds=seconds),
            cancellation_type=kind,
        )
        try:
            return await running
        except ActivityError as error:
            return type(error.cause).__name__


@workflow.defn
class CancelsOne:
    """Cancels an activity by itself, and goes on."""

    @workflow.run
    async def run(self, key: str) -> str:
        running = workflow.start_activity(
            silent,
            key,
            schedule_to_close_timeout=timedelta(seconds=100),
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        )
        await asyncio.sleep(0.3)
        running.cancel()
        try:
            await running
        except ActivityError as error:
            how = type(error.cause).__name__
        never = workflow.start_activity(
            greet, "x", task_queue="nobody-polls-here", schedule_to_close_timeout=SOON
        )
        await asyncio.sleep(0.05)
        never.cancel()
        try:
            await never
        except ActivityError as error:
            how += " " + type(error.cause).__name__
        return how


@workflow.defn
class CleansUp:
    """Is cancelled, and has something to do before it ends."""

    @workflow.run
    async def run(self) -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            await asyncio.shield(
                workflow.execute_activity(greet, "cleaner", start_to_close_timeout=SOON)
            )


@workflow.defn
class Counts:
    """Is started by a schedule: knows what the run before it had counted to."""

    @workflow.run
    async def run(self) -> int:
        last = workflow.get_last_completion_result(int) or 0
        if last == 1 and not workflow.has_last_completion_result():
            raise AssertionError("a result that is not there")
        if last == 1 and workflow.get_last_failure() is None:
            raise ApplicationError("once", non_retryable=True)
        return last + 1


@workflow.defn
class Relay:
    """Goes on as another run whenever it is told to, until it has heard enough."""

    def __init__(self) -> None:
        self.is_over = False
        self.heard = 0

    @workflow.run
    async def run(self, before: int) -> int:
        self.heard += before
        await workflow.wait_condition(lambda: self.is_over)
        if self.heard < 4:
            workflow.continue_as_new(self.heard)
        return self.heard

    @workflow.signal
    def go_on(self) -> None:
        self.is_over = True

    @workflow.update
    def hear(self, line: str) -> str:
        self.heard += 1
        return line


@workflow.defn
class Broken:
    """Code that does not work until somebody has mended it."""

    @workflow.run
    async def run(self) -> str:
        if "mended" not in seen:
            raise RuntimeError("this is a bug")
        return "works"

    @workflow.query
    def state(self) -> str:
        return "here"


@workflow.defn
class Waits:
    @workflow.run
    async def run(self) -> str:
        return await workflow.execute_activity(
            greet,
            "nobody",
            activity_id="waits",
            task_queue="nobody-polls-here",
            start_to_close_timeout=SOON,
        )


WORKFLOWS = [
    Hello, Chat, Timers, Sleeper, Retries, Fails, TimesOut, Unpolled, Beats, Local, Elsewhere,
    Child, Waiter, Parent, Again, Stubborn, Remembers, Cancels, CancelsOne, CleansUp,
    Counts, Relay, Broken, Waits,
]
ACTIVITIES = [greet, flaky, fatal, silent, beating, takes, elsewhere]
