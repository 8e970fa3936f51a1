"""Three servers by name. What one is told another must know: each case, with the SDK's own worker
at one server and its client at another, or call by call where the SDK would stay with one."""

import asyncio
import logging
import sys
import time
import urllib.request
from datetime import timedelta

from bad_input import SPACE, Raw, complete, schedule
from flows import Chat
from stage import QUEUE, run, until, worker
from temporalio.api.common.v1 import Payload, Payloads, WorkflowExecution
from temporalio.api.enums.v1 import EventType, QueryResultType, TaskQueueKind
from temporalio.api.nexusservices.workerservice.v1 import ExecuteCommandsRequest
from temporalio.api.query.v1 import WorkflowQuery, WorkflowQueryResult
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import *
from temporalio.client import Client, WorkflowUpdateFailedError, WorkflowUpdateStage
from temporalio.runtime import Runtime, TelemetryConfig
from temporalio.service import RPCStatusCode

GONE = RPCStatusCode.NOT_FOUND
VALUE = Payloads(payloads=[Payload(metadata={"encoding": b"json/plain"}, data=b'"yes"')])


async def turn_and_activity(a: Raw, b: Raw, c: Raw) -> None:
    """A turn is taken at one server and answered at another; so is an activity."""
    await c.start("split")
    turn = await a.turn()
    waiting = asyncio.create_task(events(c, "split", after=len(turn.history.events)))
    await b.answer(turn.task_token, [schedule("a", queue="split")])
    await a.answer(turn.task_token, [complete()], GONE)
    kinds = await waiting
    assert EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED in kinds, "who waits at a third is told"
    taken = await activity(a, "split")
    beat = RecordActivityTaskHeartbeatRequest(**SPACE, task_token=taken.task_token, details=VALUE)
    assert not (await b.call("record_activity_task_heartbeat", beat)).cancel_requested
    done = RespondActivityTaskCompletedRequest(**SPACE, task_token=taken.task_token)
    await c.call("respond_activity_task_completed", done)
    await b.call("respond_activity_task_completed", done, GONE)
    turn = await b.turn()
    await c.answer(turn.task_token, [complete()])
    close = await b.call("get_workflow_execution_history", GetWorkflowExecutionHistoryRequest(
        **SPACE, execution=WorkflowExecution(workflow_id="split"), wait_new_event=True,
        history_event_filter_type=2,
    ))
    last = close.history.events[-1].event_type
    assert last == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, last


async def events(raw: Raw, name: str, after: int) -> list[int]:
    """Waits for history to grow beyond so many events."""
    named = WorkflowExecution(workflow_id=name)
    request = GetWorkflowExecutionHistoryRequest(**SPACE, execution=named, wait_new_event=True)
    kinds = []
    while len(kinds) <= after:
        answer = await raw.call("get_workflow_execution_history", request)
        kinds += [event.event_type for event in answer.history.events]
        request.next_page_token = answer.next_page_token
    return kinds


async def activity(raw: Raw, queue: str, **more: object) -> PollActivityTaskQueueResponse:
    poll = PollActivityTaskQueueRequest(
        **SPACE, task_queue=TaskQueue(name=queue), identity="raw", **more
    )
    return await raw.call("poll_activity_task_queue", poll)


async def raw_queries(a: Raw, b: Raw, c: Raw) -> None:
    """Asked at one server, taken at another, answered at a third; alone, and beside a turn."""
    await a.start("asked")
    question = QueryWorkflowRequest(
        **SPACE, execution=WorkflowExecution(workflow_id="asked"),
        query=WorkflowQuery(query_type="state"),
    )
    # While a turn is due it waits for one, and rides along.
    beside = asyncio.create_task(b.call("query_workflow", question))
    turn = await turn_with_queries(a)
    assert len(turn.queries) == 1, turn.queries
    result = WorkflowQueryResult(
        result_type=QueryResultType.QUERY_RESULT_TYPE_ANSWERED, answer=VALUE
    )
    answer = RespondWorkflowTaskCompletedRequest(
        **SPACE, task_token=turn.task_token, identity="raw",
        query_results={id: result for id in turn.queries},
    )
    await c.call("respond_workflow_task_completed", answer)
    assert (await beside).query_result == VALUE
    # At rest it comes alone.
    alone = asyncio.create_task(b.call("query_workflow", question))
    turn = await a.turn()
    assert turn.query.query_type == "state", turn
    answer = RespondQueryTaskCompletedRequest(
        **SPACE, task_token=turn.task_token, query_result=VALUE,
        completed_type=QueryResultType.QUERY_RESULT_TYPE_ANSWERED,
    )
    await c.call("respond_query_task_completed", answer)
    assert (await alone).query_result == VALUE
    await a.call("respond_query_task_completed", answer, GONE)
    await terminate(a, "asked")


async def turn_with_queries(raw: Raw) -> PollWorkflowTaskQueueResponse:
    """A question that has come to one server is known to all a moment later. One that is not known
    yet when a turn is taken waits for the next, so there is always a next one."""
    while not (turn := await raw.turn()).queries:
        answer = RespondWorkflowTaskCompletedRequest(
            **SPACE, task_token=turn.task_token, identity="raw",
            force_create_new_workflow_task=True,
        )
        await raw.call("respond_workflow_task_completed", answer)
    return turn


async def until_polled(health: str) -> None:
    """Waits until a worker listens on its control channel at this server, which counts it."""
    counted = "worker_control_task_poll_count 0"
    while counted.endswith(" 0"):
        counted = await asyncio.to_thread(control_polls, health)


def control_polls(health: str) -> str:
    with urllib.request.urlopen(f"http://{health}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    return next(line for line in lines if line.startswith("worker_control_task_poll_count"))


async def terminate(raw: Raw, name: str) -> None:
    request = TerminateWorkflowExecutionRequest(
        **SPACE, workflow_execution=WorkflowExecution(workflow_id=name)
    )
    await raw.call("terminate_workflow_execution", request)


async def pushed(a: Raw, b: Raw, c: Raw) -> None:
    """A worker takes activities at one server, listens at another, and the cancel is decided at a
    third. Where it listens it has said to the first alone."""
    await a.start("pushed")
    turn = await a.turn()
    await a.answer(turn.task_token, [schedule(name, queue="pushed") for name in "xy"])
    control = TaskQueue(name="control/1", kind=TaskQueueKind.TASK_QUEUE_KIND_WORKER_COMMANDS)
    first = await activity(
        a, "pushed", worker_instance_key="w", worker_control_task_queue=control.name
    )
    second = await activity(b, "pushed", worker_instance_key="w")
    poll = PollNexusTaskQueueRequest(**SPACE, task_queue=control, identity="raw")
    listening = asyncio.create_task(b.call("poll_nexus_task_queue", poll))
    _, health_of_b, _ = sys.argv[4:7]
    await until_polled(health_of_b)
    begun = time.time()
    await terminate(c, "pushed")
    told = set()
    while len(told) < 2:
        errand = await listening
        commands = ExecuteCommandsRequest()
        commands.ParseFromString(errand.request.start_operation.payload.data)
        if not told:
            print(f"latency of a cancel to another server: {(time.time() - begun) * 1000:.1f} ms")
        told |= {command.cancel_activity.task_token for command in commands.commands}
        done = RespondNexusTaskCompletedRequest(**SPACE, task_token=errand.task_token)
        await c.call("respond_nexus_task_completed", done)
        listening = asyncio.create_task(b.call("poll_nexus_task_queue", poll))
    listening.cancel()
    assert told == {first.task_token, second.task_token}
    for number, taken in enumerate([first, second]):
        over = RespondActivityTaskCanceledRequest(**SPACE, task_token=taken.task_token)
        await [a, b][number].call("respond_activity_task_canceled", over)


async def is_known(client: Client) -> bool:
    """Whether a server knows of the worker that polls at another one, and how it is."""
    queue = DescribeTaskQueueRequest(**SPACE, task_queue=TaskQueue(name=QUEUE), task_queue_type=1)
    seen = await client.workflow_service.describe_task_queue(queue)
    listed = await client.workflow_service.list_workers(ListWorkersRequest(**SPACE))
    return bool(seen.pollers) and any(one.task_queue == QUEUE for one in listed.workers)


async def sdk(worker_at: Client, client: Client, third: Client) -> None:
    """The SDK's worker at one server, its client at another."""
    # It says how it is at once, or at the latest after this time.
    often = Runtime(telemetry=TelemetryConfig(), worker_heartbeat_interval=timedelta(seconds=1))
    at = worker_at.service_client.config.target_host
    async with worker(await Client.connect(at, runtime=often)):
        for one in [worker_at, client, third]:
            await until(lambda: is_known(one))
        chat = await client.start_workflow(Chat.run, id="chat", task_queue=QUEUE)
        assert await chat.query(Chat.log) == []
        for number in range(5):
            await chat.signal(Chat.say, str(number))
            begun = time.time()
            assert await chat.query(Chat.log) == [str(n) for n in range(number + 1)]
            print(f"latency of a query at another server: {(time.time() - begun) * 1000:.1f} ms")
        begun = time.time()
        try:
            await chat.execute_update(Chat.add, "no")
            raise AssertionError("a refused update was taken")
        except WorkflowUpdateFailedError as error:
            assert "refused" in str(error.cause), error.cause
        took = time.time() - begun
        print(f"latency of a refusal at another server: {took * 1000:.1f} ms")
        assert took < 10, "the word was lost, or never said"
        taken = await chat.start_update(
            Chat.add, "five", wait_for_stage=WorkflowUpdateStage.ACCEPTED, id="five"
        )
        elsewhere = third.get_workflow_handle("chat").get_update_handle("five", result_type=int)
        assert await elsewhere.result() == 6
        assert await taken.result() == 6
        await third.get_workflow_handle("chat").signal("end")
        assert len(await chat.result()) == 6
        assert len(await third.get_workflow_handle("chat").query("log")) == 6, "closed ones answer"


async def main() -> None:
    logging.disable(logging.WARNING)
    clients = [await Client.connect(address) for address in sys.argv[1:4]]
    raws = [Raw(client) for client in clients]
    for scene in [turn_and_activity, raw_queries, pushed]:
        await asyncio.wait_for(scene(*raws), 60)
        print(f"{scene.__name__}: played")
    await asyncio.wait_for(sdk(*clients), 60)
    print("sdk: played")


if __name__ == "__main__":
    run(main())
