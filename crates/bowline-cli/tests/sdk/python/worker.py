"""A worker and nothing else, until it is killed. Says when it has begun, and what it has run."""

import asyncio
import sys

from stage import worker
from temporalio.client import Client


async def main() -> None:
    client = await Client.connect(sys.argv[1])
    async with worker(client):
        print("working", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
