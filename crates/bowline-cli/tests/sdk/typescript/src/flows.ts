// Workflows as any user of the TypeScript SDK would write them. They run in the SDK's sandbox.

import {
  ActivityCancellationType,
  CancellationScope,
  ChildWorkflowCancellationType,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  defineUpdate,
  executeChild,
  isCancellation,
  patched,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
  sleep,
  uuid4,
  workflowInfo,
} from '@temporalio/workflow';
import type * as activities from './activities';

const soon = {
  startToCloseTimeout: '1 minute',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
} as const;
const { greet, silent } = proxyActivities<typeof activities>(soon);
// The SDK waits for four fifths of it: the rest is for a machine that has much else to do.
const beats = proxyActivities<typeof activities>({ ...soon, heartbeatTimeout: '10 seconds' });
const lost = proxyActivities<typeof activities>({ ...soon, heartbeatTimeout: '4 seconds' });
const nobody = proxyActivities<typeof activities>({ ...soon, taskQueue: 'nobody' });
const local = proxyLocalActivities<typeof activities>({ startToCloseTimeout: '10 seconds' });
const { flaky } = proxyActivities<typeof activities>({
  startToCloseTimeout: '1 minute',
  retry: { initialInterval: '10 milliseconds' },
});

export const say = defineSignal<[string]>('say');
export const end = defineSignal('end');
export const log = defineQuery<string[]>('log');
export const add = defineUpdate<number, [string]>('add');

export async function hello(name: string): Promise<string> {
  return await greet(name);
}

/** Collects lines from signals and updates, and shows them, until it is told to end. */
export async function chat(): Promise<string[]> {
  const lines: string[] = [];
  let isOver = false;
  setHandler(say, (line) => void lines.push(line));
  setHandler(end, () => void (isOver = true));
  setHandler(log, () => lines);
  setHandler(add, (line) => lines.push(line), {
    validator: (line) => {
      if (line === 'no') throw new Error('refused');
    },
  });
  await condition(() => isOver);
  return lines;
}

export async function parent(): Promise<string> {
  const workflowId = `${workflowInfo().workflowId}/child`;
  return `my child says: ${await executeChild(hello, { workflowId, args: ['papa'] })}`;
}

async function how(code: Promise<unknown>): Promise<string> {
  try {
    return String(await code);
  } catch (error) {
    if (isCancellation(error)) return 'cancelled';
    throw error;
  }
}

/** Waits for an activity that never heartbeats. */
export async function cancels(key: string): Promise<string> {
  return await how(silent(key));
}

/** Waits for an activity that heartbeats: one that can be cancelled, or one that is lost. */
export async function heartbeats(name: string, key: string): Promise<string> {
  return name === 'halfWay' ? await lost.halfWay() : await how(beats.beating(key));
}

/** Cancels an activity that runs, then one that nobody can take, and goes on. */
export async function cancelsOne(key: string): Promise<string> {
  let isTold = false;
  setHandler(defineSignal('go'), () => void (isTold = true));
  const first = new CancellationScope();
  const running = first.run(() => how(silent(key)));
  await condition(() => isTold);
  first.cancel();
  const second = new CancellationScope();
  const waiting = second.run(() => how(nobody.silent(key)));
  await sleep(1);
  second.cancel();
  return `${await running} ${await waiting}`;
}

/** Is cancelled while it sleeps, and does one thing more. */
export async function cleansUp(): Promise<void> {
  try {
    await sleep('1 hour');
  } finally {
    await CancellationScope.nonCancellable(() => greet('broom'));
  }
}

/** Scopes of every kind: one that times out, one that is cancelled from outside, one within. */
export async function scopes(): Promise<string> {
  const timed = await how(CancellationScope.withTimeout(10, () => sleep('1 hour')));
  const outer = new CancellationScope();
  const inner = outer.run(async () => {
    const shielded = CancellationScope.nonCancellable(() => greet('shield'));
    const open = how(sleep('1 hour'));
    return `${await open}, ${await shielded}`;
  });
  await sleep(1);
  outer.cancel();
  const child = CancellationScope.withTimeout(500, () =>
    executeChild(cancelsAll, {
      workflowId: `${workflowInfo().workflowId}/child`,
      cancellationType: ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
    }),
  );
  return `${timed}; ${await inner}; ${await how(child)}`;
}

/** Waits until it is cancelled. */
export async function cancelsAll(): Promise<void> {
  await CancellationScope.current().cancelRequested;
}

/** Lets two timers race; the one that loses is taken back. */
export async function timers(): Promise<string> {
  const late = new CancellationScope();
  const race = [
    late.run(() => sleep('1 hour')).then(() => 'late', () => 'taken back'),
    sleep(10).then(() => 'early'),
  ];
  const winner = await Promise.race(race);
  late.cancel();
  await sleep(1);
  return winner;
}

export async function continues(left: number, made: number): Promise<number> {
  if (left === 0) return made;
  return await continueAsNew<typeof continues>(left - 1, made + 1);
}

export async function neighbour(): Promise<string> {
  return await local.greet('neighbour');
}

export async function retries(): Promise<number> {
  return await flaky();
}

/** Leaves a patch in its history, and uses what the SDK makes repeatable. */
export async function markers(): Promise<string> {
  const isNew = patched('change');
  const [id, number, time] = [uuid4(), Math.random(), Date.now()];
  await sleep(1);
  const isPlausible = id.length === 36 && number < 1 && Date.now() >= time;
  return `${isNew && patched('change')} ${isPlausible}`;
}
