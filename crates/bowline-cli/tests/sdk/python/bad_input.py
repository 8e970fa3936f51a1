"""A client that says wrong things, over the SDK's own connection. Nothing may change by it."""

import asyncio
import sys
from datetime import timedelta

from stage import run
from temporalio.api.command.v1 import (
    Command, CompleteWorkflowExecutionCommandAttributes, ScheduleActivityTaskCommandAttributes,
)
from temporalio.api.common.v1 import ActivityType, Payload, Payloads, WorkflowExecution
from temporalio.api.common.v1 import WorkflowType
from temporalio.api.enums.v1 import CommandType, EventType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import *
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

BAD = RPCStatusCode.INVALID_ARGUMENT
GONE = RPCStatusCode.NOT_FOUND
SPACE = {"namespace": "default"}
QUEUE = TaskQueue(name="raw")
LIMIT = timedelta(seconds=10)


class Raw:
    """Calls as they are on the wire, each with the status that it must have."""

    def __init__(self, client: Client) -> None:
        self.service = client.workflow_service

    async def call(self, name: str, request: object, status: RPCStatusCode | None = None) -> object:
        try:
            answer = await getattr(self.service, name)(request, timeout=LIMIT)
        except RPCError as error:
            assert error.status == status, f"{name}: {error.status.name} {error}"
            return None
        assert status is None, f"{name} was answered, and should be {status.name}"
        return answer

    async def start(self, name: str) -> None:
        await self.call("start_workflow_execution", start(name))

    async def turn(self) -> object:
        request = PollWorkflowTaskQueueRequest(**SPACE, task_queue=QUEUE, identity="raw")
        return await self.call("poll_workflow_task_queue", request)

    async def answer(self, token: bytes, commands: list, status: object = None) -> None:
        request = RespondWorkflowTaskCompletedRequest(
            **SPACE, task_token=token, commands=commands, identity="raw"
        )
        await self.call("respond_workflow_task_completed", request, status)

    async def history(self, name: str) -> list[int]:
        request = GetWorkflowExecutionHistoryRequest(
            **SPACE, execution=WorkflowExecution(workflow_id=name)
        )
        answer = await self.call("get_workflow_execution_history", request)
        return [event.event_type for event in answer.history.events]


def start(name: str, **more: object) -> StartWorkflowExecutionRequest:
    fields = {
        **SPACE, "workflow_id": name, "workflow_type": WorkflowType(name="raw"),
        "task_queue": QUEUE, "request_id": f"request {name}", **more,
    }
    return StartWorkflowExecutionRequest(**fields)


def complete() -> Command:
    return Command(
        command_type=CommandType.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION,
        complete_workflow_execution_command_attributes=CompleteWorkflowExecutionCommandAttributes(),
    )


def schedule(name: str, queue: str = "raw", **more: object) -> Command:
    attributes = ScheduleActivityTaskCommandAttributes(
        activity_id=name, activity_type=ActivityType(name=name), task_queue=TaskQueue(name=queue),
        **more,
    )
    if not more:
        attributes.start_to_close_timeout.FromTimedelta(timedelta(seconds=100))
    return Command(
        command_type=CommandType.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK,
        schedule_activity_task_command_attributes=attributes,
    )


async def requests(raw: Raw) -> None:
    """What a request must say, and does not."""
    large = Payloads(payloads=[Payload(data=b"x" * (2 * 1024 * 1024 + 1))])
    for wrong in [
        start("w", namespace=""), start("w", request_id=""), start(""), start("x" * 1001),
        start("w", workflow_type=None), start("w", task_queue=None), start("w", input=large),
        start("w", cron_schedule="* * * *"),
    ]:
        await raw.call("start_workflow_execution", wrong, BAD)
    await raw.call("start_workflow_execution", start("w", namespace="elsewhere"), GONE)
    for run_id, status in [("not-a-run", BAD), ("0" * 32, GONE), ("", GONE)]:
        named = WorkflowExecution(workflow_id="nobody", run_id=run_id)
        request = DescribeWorkflowExecutionRequest(**SPACE, execution=named)
        await raw.call("describe_workflow_execution", request, status)
        request = SignalWorkflowExecutionRequest(
            **SPACE, workflow_execution=named, signal_name="s", request_id="r"
        )
        await raw.call("signal_workflow_execution", request, status)
    token = GetWorkflowExecutionHistoryRequest(
        **SPACE, execution=WorkflowExecution(workflow_id="w"), next_page_token=b"\xff" * 25
    )
    await raw.call("get_workflow_execution_history", token, BAD)
    empty = PollWorkflowTaskQueueRequest(**SPACE)
    await raw.call("poll_workflow_task_queue", empty, BAD)
    unbuilt = CreateScheduleRequest(**SPACE, schedule_id="s", request_id="r")
    await raw.call("create_schedule", unbuilt, RPCStatusCode.UNIMPLEMENTED)
    listed = await raw.call("list_workflow_executions", ListWorkflowExecutionsRequest(**SPACE))
    assert not listed.executions, "nothing was started by any of this"


async def turns(raw: Raw) -> None:
    """Wrong answers to a turn, with right and wrong tokens."""
    await raw.start("turns")
    turn = await raw.turn()
    before = await raw.history("turns")
    flipped = bytes([turn.task_token[0] ^ 1]) + turn.task_token[1:]
    for token in [b"", b"garbage", flipped, turn.task_token[:-1]]:
        await raw.answer(token, [complete()], BAD)
    await raw.answer(turn.task_token, [complete(), complete()], BAD)
    assert await raw.history("turns") == before, "nothing of a wrong answer is taken"
    unknown = Command(command_type=99)
    await raw.answer(turn.task_token, [unknown], BAD)
    failed = EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED
    assert await raw.history("turns") == before + [failed], "the turn has failed, and no more"
    turn = await raw.turn()
    await raw.answer(turn.task_token, [schedule("a", queue="raw-activities")])
    await raw.answer(turn.task_token, [complete()], GONE)
    failed = RespondWorkflowTaskFailedRequest(**SPACE, task_token=turn.task_token)
    await raw.call("respond_workflow_task_failed", failed, GONE)


async def activities(raw: Raw) -> None:
    """Wrong words about an attempt, then words of an attempt that is over."""
    place = TaskQueue(name="raw-activities")
    poll = PollActivityTaskQueueRequest(**SPACE, task_queue=place, identity="raw")
    token = (await raw.call("poll_activity_task_queue", poll)).task_token
    done = lambda token: RespondActivityTaskCompletedRequest(**SPACE, task_token=token)
    await raw.call("respond_activity_task_completed", done(b"garbage"), BAD)
    await raw.answer(token, [complete()], GONE)
    early = RespondActivityTaskCanceledRequest(**SPACE, task_token=token)
    await raw.call("respond_activity_task_canceled", early, BAD)
    beat = RecordActivityTaskHeartbeatRequest(**SPACE, task_token=token)
    assert not (await raw.call("record_activity_task_heartbeat", beat)).cancel_requested
    await raw.call("respond_activity_task_completed", done(token))
    for name, late in [
        ("respond_activity_task_completed", done(token)),
        ("respond_activity_task_failed", RespondActivityTaskFailedRequest(
            **SPACE, task_token=token)),
        ("respond_activity_task_canceled", early),
        ("record_activity_task_heartbeat", beat),
    ]:
        await raw.call(name, late, GONE)
    turn = await raw.turn()
    await raw.call("respond_activity_task_completed", done(turn.task_token), GONE)
    await raw.answer(turn.task_token, [complete()])


async def commands(raw: Raw) -> None:
    """A command that the rules refuse fails its turn, and names its fault; the next one counts."""
    await raw.start("commands")
    for number, wrong in enumerate([
        [schedule("")], [schedule("a"), schedule("a")], [schedule("a", header=None)],
    ]):
        turn = await raw.turn()
        await raw.answer(turn.task_token, wrong, BAD)
        if number == 0:
            kinds = await raw.history("commands")
            assert EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED in kinds, "the first is written"
        # A later attempt that is refused stays out until its time is up.
        fail = RespondWorkflowTaskFailedRequest(**SPACE, task_token=turn.task_token)
        await raw.call("respond_workflow_task_failed", fail, GONE if number == 0 else None)
    turn = await raw.turn()
    assert turn.attempt > 1, turn.attempt
    await raw.answer(turn.task_token, [complete()])


async def main() -> None:
    client = await Client.connect(sys.argv[1])
    assert await client.service_client.check_health()
    raw = Raw(client)
    for scene in [requests, turns, activities, commands]:
        await asyncio.wait_for(scene(raw), 60)
        print(f"{scene.__name__}: nothing was changed")


if __name__ == "__main__":
    run(main())
