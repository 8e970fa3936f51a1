// What scenes are made of.

import { deepStrictEqual } from 'node:assert';
import { setTimeout as wait } from 'node:timers/promises';
import type { Client, Workflow, WorkflowHandleWithStartDetails } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import * as activities from './activities';
import { seen } from './activities';

export const QUEUE = 'typescript';

/** What a scene works with. */
export interface Stage {
  client: Client;
  connection: NativeConnection;
  workflowBundle: { codePath: string };
}

export type Scene = (stage: Stage) => Promise<void>;

export async function worker(stage: Stage, taskQueue: string, more: object = {}): Promise<Worker> {
  const { connection, workflowBundle } = stage;
  return await Worker.create({ connection, workflowBundle, activities, taskQueue, ...more });
}

export async function start<T extends Workflow>(
  stage: Stage,
  workflowId: string,
  flow: T,
  args: Parameters<T>,
  taskQueue = QUEUE,
): Promise<WorkflowHandleWithStartDetails<T>> {
  const options = { workflowId, taskQueue, args };
  return await stage.client.workflow.start<T>(flow, options as never);
}

/** Starts a workflow and compares its result. */
export async function gives<T extends Workflow>(
  stage: Stage,
  wanted: unknown,
  workflowId: string,
  flow: T,
  ...args: Parameters<T>
): Promise<void> {
  deepStrictEqual(await (await start(stage, workflowId, flow, args)).result(), wanted);
}

/** Waits until something is so. */
export async function until<T>(what: () => T | Promise<T>): Promise<NonNullable<T>> {
  for (;;) {
    const found = await what();
    if (found) return found;
    await wait(1);
  }
}

/** Waits for what an activity of this process has to see. */
export async function sees(key: string): Promise<number> {
  return await until(() => seen.get(key));
}

export function line(told: object): void {
  process.stdout.write(`${JSON.stringify(told)}\n`);
}

/** How long an activity waits for the word, once the request was answered. */
export async function stopped(name: string, stop: () => Promise<unknown>): Promise<void> {
  await sees(`started ${name}`);
  await stop();
  const asked = performance.now();
  line({ latency_of: name, ms: (await sees(`cancelled ${name}`)) - asked });
}
