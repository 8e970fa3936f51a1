// Activities as any user of the TypeScript SDK would write them.

import { Context, activityInfo, cancelled, heartbeat, sleep } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';

/** What activities of this process have seen, by the key that they were called with. */
export const seen = new Map<string, number>();

export async function greet(name: string): Promise<string> {
  return `Hello, ${name}!`;
}

async function untilCancelled(key: string, code: () => Promise<unknown>): Promise<void> {
  seen.set(`started ${key}`, performance.now());
  try {
    await code();
  } catch (error) {
    if (error instanceof CancelledFailure) seen.set(`cancelled ${key}`, performance.now());
    throw error;
  }
}

/** Never heartbeats, and goes on until it is told to stop. */
export async function silent(key: string): Promise<void> {
  await untilCancelled(key, cancelled);
}

/** Says that it lives, and has no other way to hear of a cancel. */
export async function beating(key: string): Promise<void> {
  await untilCancelled(key, async () => {
    for (;;) {
      heartbeat('beat');
      await sleep(50);
    }
  });
}

/** Succeeds the third time. */
export async function flaky(): Promise<number> {
  const { attempt } = activityInfo();
  if (attempt < 3) throw new Error(`attempt ${attempt} fails`);
  return attempt;
}

/** Is lost with its worker the first time, and goes on from there the second. */
export async function halfWay(): Promise<string> {
  const point: unknown = activityInfo().heartbeatDetails;
  if (point !== undefined) return `went on from ${point}`;
  heartbeat('half-way');
  await Context.current().cancelled;
  return 'cancelled';
}
