// A worker and a client of the TypeScript SDK in one process: it plays the scenes that its command
// line names, and says how each one went, one line of JSON each.
//
//   main.js ADDRESS hello signals ...    plays scenes, with a worker of its own
//   main.js ADDRESS worker               works until it is killed
//   main.js ADDRESS begin                starts what a killed worker leaves behind
//   main.js ADDRESS finish               waits for what another worker has made of it

import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import * as cancels from './cancels';
import * as features from './features';
import { QUEUE, Scene, Stage, line, worker } from './stage';

const SCENES: Record<string, Scene> = {
  ...features,
  ...cancels,
  signal_with_start: features.signalWithStart,
  by_workflow: cancels.byWorkflow,
  cleans_up: cancels.cleansUp,
};

async function play(stage: Stage, name: string): Promise<void> {
  const limit = new AbortController();
  const late = wait(120_000, undefined, { signal: limit.signal }).then(() => {
    throw new Error('did not end in two minutes');
  });
  try {
    await Promise.race([SCENES[name]!(stage), late]);
    line({ scene: name, passed: true });
  } catch (error) {
    line({ scene: name, passed: false, error: String(error) });
  } finally {
    late.catch(() => {});
    limit.abort();
  }
}

async function main(address: string, names: string[]): Promise<void> {
  // Failures that a scene wants are not worth a page of text each.
  const logger = new DefaultLogger('ERROR', () => {});
  // With heartbeats of workers off, there is no control channel either: that is one scene's own.
  const control = names[0] === 'heartbeats' ? { workerHeartbeatInterval: 0 } : {};
  Runtime.install({ logger, ...control });
  const connection = await NativeConnection.connect({ address });
  const client = new Client({ connection: await Connection.connect({ address }) });
  const workflowBundle = { codePath: join(__dirname, 'flows.bundle.js') };
  const stage = { client, connection, workflowBundle };
  const scenes = async () => {
    for (const name of names) await play(stage, name);
  };
  if (names[0] === 'begin' || names[0] === 'finish') return await scenes();
  const own = await worker(stage, QUEUE);
  if (names[0] !== 'worker') return await own.runUntil(scenes);
  process.stdout.write('working\n');
  await own.run();
}

const [address, ...names] = process.argv.slice(2);
main(address!, names).then(
  () => process.exit(0),
  (error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  },
);
