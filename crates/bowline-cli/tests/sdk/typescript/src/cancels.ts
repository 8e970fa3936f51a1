// Cancels of each kind, and a worker that is lost.

import { deepStrictEqual, ok, rejects } from 'node:assert';
import { WorkflowFailedError, WorkflowHandle } from '@temporalio/client';
import { CancelledFailure, TerminatedFailure } from '@temporalio/common';
import * as flows from './flows';
import { QUEUE, Stage, start, stopped, until } from './stage';

/** An activity that never heartbeats is told at once, with the settings that all have. */
export async function pushed(stage: Stage): Promise<void> {
  const run = await start(stage, 'pushed', flows.cancels, ['pushed']);
  await stopped('pushed', () => run.cancel());
  deepStrictEqual(await run.result(), 'cancelled');
}

async function endsWith(run: WorkflowHandle, cause: new (...args: never[]) => Error) {
  await rejects(run.result(), (error) => {
    return error instanceof WorkflowFailedError && error.cause instanceof cause;
  });
}

/** The same, where no workflow code runs any more. */
export async function terminated(stage: Stage): Promise<void> {
  const run = await start(stage, 'terminated', flows.cancels, ['terminated']);
  await stopped('terminated', () => run.terminate('enough'));
  await endsWith(run, TerminatedFailure);
}

/** A worker without a control channel hears it from the answer to a heartbeat. */
export async function heartbeats(stage: Stage): Promise<void> {
  const run = await start(stage, 'heartbeats', flows.heartbeats, ['beating', 'heartbeats']);
  await stopped('heartbeats', () => run.cancel());
  deepStrictEqual(await run.result(), 'cancelled');
}

/** The workflow itself cancels one that runs, then one that never started. */
export async function byWorkflow(stage: Stage): Promise<void> {
  const run = await start(stage, 'by workflow', flows.cancelsOne, ['by workflow']);
  await stopped('by workflow', () => run.signal('go'));
  deepStrictEqual(await run.result(), 'cancelled cancelled');
}

/** A cancelled workflow takes its timer back, and does one thing more before it ends. */
export async function cleansUp(stage: Stage): Promise<void> {
  const run = await start(stage, 'cleaner', flows.cleansUp, []);
  const kinds = async () => (await run.fetchHistory()).events ?? [];
  await until(async () => (await kinds()).some((event) => event.timerStartedEventAttributes));
  await run.cancel();
  await run.cancel();
  await endsWith(run, CancelledFailure);
  const events = await kinds();
  ok(events.some((event) => event.timerCanceledEventAttributes), 'its timer is taken back');
  ok(events.some((event) => event.activityTaskCompletedEventAttributes), 'it has cleaned up');
}

/** Leaves two runs with a worker that is about to be killed: one waits, one has an activity. */
export async function begin(stage: Stage): Promise<void> {
  const chat = await start(stage, 'chat', flows.chat, []);
  await chat.signal(flows.say, 'before');
  deepStrictEqual(await chat.query(flows.log), ['before']);
  const beats = await start(stage, 'beats', flows.heartbeats, ['halfWay', '']);
  await until(async () => {
    const { pendingActivities } = (await beats.describe()).raw;
    return pendingActivities?.some((activity) => activity.heartbeatDetails);
  });
}

/** Another worker has gone on with both. */
export async function finish(stage: Stage): Promise<void> {
  const chat = stage.client.workflow.getHandle<typeof flows.chat>('chat');
  await chat.signal(flows.say, 'after');
  await chat.signal(flows.end);
  deepStrictEqual(await chat.result(), ['before', 'after']);
  const beats = stage.client.workflow.getHandle<typeof flows.heartbeats>('beats');
  deepStrictEqual(await beats.result(), 'went on from half-way');
  const run = await start(stage, 'hello', flows.hello, ['again'], QUEUE);
  deepStrictEqual(await run.result(), 'Hello, again!');
}
