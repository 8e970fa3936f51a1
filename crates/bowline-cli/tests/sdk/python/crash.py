"""A client whose worker, or server, dies in the middle."""

import asyncio
import sys

from flows import Beats, Cancels, Chat, Hello
from stage import QUEUE, replay_all, run, until
from temporalio.client import Client


async def begin(client: Client, limit: str = "30") -> None:
    """Runs in every state: at rest, after an update, with running activities that have so many
    seconds."""
    chat = await client.start_workflow(Chat.run, id="chat", task_queue=QUEUE)
    await chat.signal(Chat.say, "before")
    assert await chat.query(Chat.log) == ["before"]
    assert await chat.execute_update(Chat.add, "updated") == 2
    await client.start_workflow(Beats.run, "beats", id="beats", task_queue=QUEUE)
    for name in ["held", "doomed"]:
        how = ["WAIT_CANCELLATION_COMPLETED", name, int(limit)]
        await client.start_workflow(Cancels.run, args=how, id=name, task_queue=QUEUE)
    for name in ["beats", "held", "doomed"]:
        await until(lambda: is_running(client, name))


async def is_running(client: Client, name: str) -> bool:
    """Whether a worker has the activity."""
    described = await client.get_workflow_handle(name).describe()
    return any(one.state == 2 for one in described.raw_description.pending_activities)


async def request(client: Client) -> None:
    """Acknowledged, while nobody can act upon it."""
    await client.get_workflow_handle("chat").signal("say", "between")
    await client.get_workflow_handle("held").cancel()
    await client.get_workflow_handle("doomed").terminate()


async def finish(client: Client, held: str) -> None:
    """Everything that was acknowledged has happened, once."""
    chat = client.get_workflow_handle_for(Chat.run, "chat")
    await chat.signal(Chat.say, "after")
    lines = await chat.query(Chat.log)
    assert lines == ["before", "updated", "between", "after"], lines
    await chat.signal(Chat.end)
    assert await chat.result() == lines
    beats = client.get_workflow_handle_for(Beats.run, "beats")
    assert await beats.result() == "went on from half-way"
    how = await client.get_workflow_handle_for(Cancels.run, "held").result()
    assert how == held, how
    said = await client.execute_workflow(Hello.run, "again", id="hello", task_queue=QUEUE)
    assert said == "Hello, again!"
    print(f"{await replay_all(client)} histories replayed")


async def main() -> None:
    client = await Client.connect(sys.argv[1])
    scenes = {"begin": begin, "request": request, "finish": finish}
    await asyncio.wait_for(scenes[sys.argv[2]](client, *sys.argv[3:]), 120)


if __name__ == "__main__":
    run(main())
