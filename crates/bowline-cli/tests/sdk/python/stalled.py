"""A query that waits at a server which stands still, and a worker that comes later, to another."""

import asyncio
import sys
from datetime import timedelta

from flows import Chat
from stage import run
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

QUEUE = "stalled"


async def ask(client: Client) -> None:
    chat = await client.start_workflow(Chat.run, id="stalled", task_queue=QUEUE)
    asking = asyncio.create_task(chat.query(Chat.log, rpc_timeout=timedelta(seconds=100)))
    # The query is on its way before anybody hears of it.
    await asyncio.sleep(0.5)
    print("asked", flush=True)
    assert await asking == []
    print("answered", flush=True)
    await chat.terminate()


async def answer(client: Client) -> None:
    runner = UnsandboxedWorkflowRunner()
    async with Worker(client, task_queue=QUEUE, workflows=[Chat], workflow_runner=runner):
        print("working", flush=True)
        await asyncio.Event().wait()


async def main() -> None:
    client = await Client.connect(sys.argv[1])
    await asyncio.wait_for({"ask": ask, "answer": answer}[sys.argv[2]](client), 120)


if __name__ == "__main__":
    run(main())
