import { once } from 'node:events';
import { startSandbox } from '../../sandbox/sandbox.js';
import { exact, own, say } from '../util/safe-text.js';
import { type Command, portOf, validConfig } from './command.js';
import { printLine } from './layout.js';

/** `cloudops-mcp sandbox` runs the sandbox without an MCP server, so that several programs can share it. */
export const sandboxCommand: Command = {
  usage: '[--port N] [--state FILE] [--seed TEXT] [--fault PLAN] [--json]',
  about: 'run the sandbox alone, for servers and S3 clients',
  details: 'It prints the settings that point them at it.',
  example: 'sandbox --port 8081',
  serves: true,
  options: { port: 'value', state: 'value', seed: 'value', fault: 'value', json: 'switch' },
  run: async (invocation) => {
    const { stdout, now, abortOnSignal } = invocation.terminal;
    const { values } = validConfig(invocation);
    const { port = '0', state, seed, fault, json } = invocation.options;
    const sandbox = await startSandbox({
      now,
      port: portOf(port),
      stateFile: state ?? values.SANDBOX_STATE,
      seed: seed ?? values.SANDBOX_SEED,
      fault: fault ?? values.SANDBOX_FAULT,
    });
    const stop = abortOnSignal();
    const { credentials, endpoints } = sandbox.cloud;
    const variables = {
      CLOUDOPS_ACCESS_KEY_ID: credentials.accessKeyId,
      CLOUDOPS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
      CLOUDOPS_STORAGE_URL: endpoints.storage,
      CLOUDOPS_CATALOG_URL: endpoints.catalog,
      CLOUDOPS_DEVOPS_URL: endpoints.devops,
      // For the AWS CLI and SDKs.
      AWS_ACCESS_KEY_ID: credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
      AWS_ENDPOINT_URL_S3: endpoints.storage,
      AWS_REGION: 'jp-east-1',
      AWS_DEFAULT_REGION: 'jp-east-1',
      AWS_REQUEST_CHECKSUM_CALCULATION: 'when_required',
    };
    if (json === undefined)
      for (const [name, value] of Object.entries(variables))
        printLine(stdout, say`export ${own(name)}=${exact(value)}`);
    else stdout.write(`${JSON.stringify(variables)}\n`);
    if (!stop.aborted) await once(stop, 'abort');
    await sandbox.close();
    return 0;
  },
};
