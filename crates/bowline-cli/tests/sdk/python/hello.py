"""A workflow with one activity, and its worker: what anybody tries first."""

import sys

from flows import Hello, greet
from stage import run
from temporalio.client import Client
from temporalio.worker import Worker


async def main() -> None:
    client = await Client.connect(sys.argv[1])
    async with Worker(client, task_queue="hello", workflows=[Hello], activities=[greet]):
        print(await client.execute_workflow(Hello.run, "world", id="hello", task_queue="hello"))


if __name__ == "__main__":
    run(main())
