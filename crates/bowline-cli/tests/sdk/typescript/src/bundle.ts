// Bundles the workflows when the program is built, as the SDK's users do for production.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bundleWorkflowCode } from '@temporalio/worker';

bundleWorkflowCode({ workflowsPath: require.resolve('./flows') }).then(
  ({ code }) => writeFile(join(__dirname, 'flows.bundle.js'), code),
  (error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  },
);
