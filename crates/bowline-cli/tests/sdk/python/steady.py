"""Many runs under way while servers come and go. Nobody may notice, and nothing may time out."""

import asyncio
import logging
import sys

from stage import run
from temporalio import workflow
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client
from temporalio.service import RetryConfig
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from flows import SOON, greet

# A machine that has much else to do needs more than ten seconds to start a server again.
PATIENT = RetryConfig(max_elapsed_time_millis=90_000, max_interval_millis=1_000, max_retries=200)
TIMED_OUT = {
    EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT,
    EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT,
}


@workflow.defn
class Steps:
    """One activity after the other, and a timer now and then."""

    @workflow.run
    async def run(self, name: str) -> int:
        for step in range(6):
            await workflow.execute_activity(greet, f"{name} {step}", start_to_close_timeout=SOON)
            if step == 3:
                await asyncio.sleep(0.1)
        return 6


async def main() -> None:
    logging.disable(logging.WARNING)
    client = await Client.connect(sys.argv[1], retry_config=PATIENT)
    parts = {"workflows": [Steps], "activities": [greet]}
    runner = UnsandboxedWorkflowRunner()
    at = await Client.connect(sys.argv[1], retry_config=PATIENT)
    async with Worker(at, task_queue="steady", workflow_runner=runner, **parts):
        for round in range(3):
            runs = [f"{round} {number}" for number in range(12)]
            starts = [client.start_workflow(Steps.run, id, id=id, task_queue="steady") for id in runs]
            handles = await asyncio.gather(*starts)
            await handles[0].result()
            print(f"round {round}", flush=True)
            results = await asyncio.wait_for(asyncio.gather(*(h.result() for h in handles)), 100)
            assert results == [6] * len(runs), results
    for round in range(3):
        history = await client.get_workflow_handle(f"{round} 7").fetch_history()
        late = [event.event_type for event in history.events if event.event_type in TIMED_OUT]
        assert not late, late
    print("steady", flush=True)


if __name__ == "__main__":
    run(main())
