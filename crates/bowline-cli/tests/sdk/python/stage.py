"""What every script does: connect, work, play one scene, and replay every history there is."""

import asyncio
import inspect
import logging
import os
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from temporalio.client import Client, WorkflowHandle
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner, Worker

from flows import ACTIVITIES, WORKFLOWS

QUEUE = "sdk"


async def until(what: Callable[[], Any], limit: float = 30) -> Any:
    """Waits until something is so."""
    end = time.time() + limit
    while time.time() < end:
        answer = what()
        if inspect.isawaitable(answer):
            answer = await answer
        if answer:
            return answer
        await asyncio.sleep(0.01)
    raise AssertionError(f"did not happen: {inspect.getsource(what)}")


async def until_status(handle: WorkflowHandle, name: str) -> None:
    async def has() -> bool:
        return (await handle.describe()).status.name == name

    await until(has)


def worker(client: Client, **options: Any) -> Worker:
    # Scenes share what their activities have seen, so workflow code is not in a sandbox.
    return Worker(
        client,
        task_queue=QUEUE,
        workflows=WORKFLOWS,
        activities=ACTIVITIES,
        workflow_runner=UnsandboxedWorkflowRunner(),
        **options,
    )


async def replay_all(client: Client) -> int:
    """The SDK's own replayer must agree with every history."""
    replayer = Replayer(workflows=WORKFLOWS, workflow_runner=UnsandboxedWorkflowRunner())
    count = 0
    async for run in client.list_workflows(""):
        history = await client.get_workflow_handle(run.id, run_id=run.run_id).fetch_history()
        await replayer.replay_workflow(history)
        count += 1
    return count


def run(main: Awaitable[None]) -> None:
    """Runs a script to its end, and leaves at once: the interpreter's own tidying up may meet a
    thread of the SDK that is still going, which ends the process as a failure."""

    async def whole() -> None:
        await main

    asyncio.run(whole())
    sys.stdout.flush()
    os._exit(0)


def play(scenes: dict[str, Callable[[Client], Awaitable[None]]]) -> None:
    """Plays the scene that the command line names."""
    # Failures that a scene wants are not worth a page of text each.
    logging.disable(logging.WARNING)
    address, name = sys.argv[1], sys.argv[2]

    async def main() -> None:
        client = await Client.connect(address)
        # A connection of its own: where there are many servers, it ends at another one.
        async with worker(await Client.connect(address)):
            await asyncio.wait_for(scenes[name](client), 120)
        print(f"{name}: played, {await replay_all(client)} histories replayed")

    run(main())
