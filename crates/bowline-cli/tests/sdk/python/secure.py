"""Hello over an encrypted connection, with what the command line says: an API key, a certificate."""

import sys
from pathlib import Path

from flows import Hello, greet
from stage import run
from temporalio.client import Client, TLSConfig
from temporalio.worker import Worker


async def main() -> None:
    address, root, key, *own = sys.argv[1:]
    certificate, secret = [Path(file).read_bytes() for file in own] or (None, None)
    tls = TLSConfig(
        server_root_ca_cert=Path(root).read_bytes(),
        domain="localhost",
        client_cert=certificate,
        client_private_key=secret,
    )
    client = await Client.connect(address, tls=tls, api_key=key or None)
    async with Worker(client, task_queue="hello", workflows=[Hello], activities=[greet]):
        print(await client.execute_workflow(Hello.run, "world", id="hello", task_queue="hello"))


if __name__ == "__main__":
    run(main())
