// What every user of the SDK meets.

import { deepStrictEqual, rejects } from 'node:assert';
import { WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import { QueryNotRegisteredError } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import * as flows from './flows';
import { QUEUE, Stage, gives, line, start, worker } from './stage';

export async function hello(stage: Stage): Promise<void> {
  await gives(stage, 'Hello, Ada!', 'hello', flows.hello, 'Ada');
}

/** They arrive in order, and a closed run refuses them. */
export async function signals(stage: Stage): Promise<void> {
  const run = await start(stage, 'signals', flows.chat, []);
  const wanted = Array.from({ length: 20 }, (_, number) => `line ${number}`);
  for (const line of wanted) await run.signal(flows.say, line);
  await run.signal(flows.end);
  deepStrictEqual(await run.result(), wanted);
  await rejects(run.signal(flows.say, 'late'), WorkflowNotFoundError);
}

/** They are answered by runs that wait, and by closed ones. */
export async function queries(stage: Stage): Promise<void> {
  const run = await start(stage, 'queries', flows.chat, []);
  await run.signal(flows.say, 'one');
  for (let count = 0; count < 5; count++) deepStrictEqual(await run.query(flows.log), ['one']);
  await rejects(run.query('nothing'), QueryNotRegisteredError);
  await run.signal(flows.end);
  deepStrictEqual(await run.result(), ['one']);
  deepStrictEqual(await run.query(flows.log), ['one']);
}

export async function updates(stage: Stage): Promise<void> {
  const run = await start(stage, 'updates', flows.chat, []);
  for (const [index, word] of ['one', 'two'].entries()) {
    const refused = run.executeUpdate(flows.add, { args: ['no'] });
    await rejects(refused, WorkflowUpdateFailedError);
    deepStrictEqual(await run.executeUpdate(flows.add, { args: [word] }), index + 1);
  }
  await run.signal(flows.end);
  deepStrictEqual(await run.result(), ['one', 'two']);
}

export async function children(stage: Stage): Promise<void> {
  await gives(stage, 'my child says: Hello, papa!', 'parent', flows.parent);
}

export async function timers(stage: Stage): Promise<void> {
  await gives(stage, 'early', 'timers', flows.timers);
}

export async function continues(stage: Stage): Promise<void> {
  await gives(stage, 3, 'continues', flows.continues, 3, 0);
}

export async function local(stage: Stage): Promise<void> {
  await gives(stage, 'Hello, neighbour!', 'local', flows.neighbour);
}

export async function retries(stage: Stage): Promise<void> {
  await gives(stage, 3, 'retries', flows.retries);
}

export async function markers(stage: Stage): Promise<void> {
  await gives(stage, 'true true', 'markers', flows.markers);
}

export async function scopes(stage: Stage): Promise<void> {
  const wanted = 'cancelled; cancelled, Hello, shield!; cancelled';
  await gives(stage, wanted, 'scopes', flows.scopes);
}

export async function signalWithStart(stage: Stage): Promise<void> {
  const options = { workflowId: 'both', taskQueue: QUEUE, signal: flows.say };
  for (const word of ['first', 'second']) {
    await stage.client.workflow.signalWithStart(flows.chat, { ...options, signalArgs: [word] });
  }
  const run = stage.client.workflow.getHandle<typeof flows.chat>('both');
  await run.signal(flows.end);
  deepStrictEqual(await run.result(), ['first', 'second']);
}

/** Three runs share a cache with room for one, so each of them is replayed again and again. */
export async function evicted(stage: Stage): Promise<void> {
  const queue = 'small cache';
  const small = await worker(stage, queue, { maxCachedWorkflows: 1 });
  await small.runUntil(async () => {
    const names = ['evicted 0', 'evicted 1', 'evicted 2'];
    const runs = [];
    for (const name of names) runs.push(await start(stage, name, flows.chat, [], queue));
    const wanted: string[] = [];
    for (const round of [0, 1, 2]) {
      wanted.push(`round ${round}`);
      for (const run of runs) {
        await run.signal(flows.say, `round ${round}`);
        deepStrictEqual(await run.query(flows.log), wanted);
      }
    }
    for (const run of runs) {
      await run.signal(flows.end);
      deepStrictEqual(await run.result(), wanted);
    }
  });
}

/** The SDK's own replayer reads every history. */
export async function replay(stage: Stage): Promise<void> {
  const { workflowBundle, client } = stage;
  let replayed = 0;
  for await (const { workflowId, runId } of client.workflow.list()) {
    const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    await Worker.runReplayHistory({ workflowBundle }, history, workflowId);
    replayed += 1;
  }
  line({ replayed });
}
