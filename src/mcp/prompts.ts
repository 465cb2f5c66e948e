import { type GetPromptResult, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import type { Operation } from '../tools/define-operation.js';
import {
  defaultZones,
  deploymentModels,
  devopsInstanceTypes,
  devopsZones,
  nodeInstanceTypes,
} from '../tools/schema/enumerations.js';
import { quote } from '../util/quote.js';

/** An argument of a prompt. Clients send its value as text. */
interface PromptArgument {
  readonly description: string;
  readonly required?: boolean;
  readonly values?: readonly string[];
}

/** A task that a person can start by name. */
interface Prompt {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly args: Readonly<Record<string, PromptArgument>>;
  /** The name of the tool that performs the task. */
  readonly tool: string;
  readonly steps: readonly string[];
}

const region = { description: 'Region', values: Object.keys(defaultZones) };

/** The steps of any change. They do not speak as the user ("show me"), because the skill for agents has the same steps. */
export const confirmFirst: readonly string[] = [
  'Ask for everything that is missing and that you cannot know; never guess names, IDs, versions or keys.',
  'Call the tool with planOnly: true, and show its plan: what will happen, the request, the defaults and the warnings.',
  'Carry it out only after a clear yes to exactly that plan.',
  'Afterwards report the outcome and the request IDs. If the outcome is unknown, do not call again.',
];

export const prompts: readonly Prompt[] = [
  {
    name: 'check_upload',
    title: 'Check an upload',
    description: 'How far a multipart upload is, what is missing, and when it will be done',
    args: {
      bucket: { description: 'Bucket', required: true },
      object: { description: 'Object key', required: true },
      uploadId: { description: 'Upload ID', required: true },
      expectedBytes: { description: 'Size of the whole object in bytes' },
      expectedParts: { description: 'Number of parts of the whole object' },
    },
    tool: 'list_parts',
    steps: [
      'Call the tool with these arguments and the view "summary".',
      'Report in a few sentences how far the upload is, what is missing, how fast it goes and when it will be done.',
      'Say so if it has stopped, if parts are too small to complete it, or if numbers are missing.',
    ],
  },
  {
    name: 'plan_restore',
    title: 'Plan a restore',
    description: 'Restore a DevOps server from a backup: ask, plan, show, then act',
    args: {
      backupId: { description: 'Backup ID, 32 characters', required: true },
      instanceId: { description: 'Name of the new server', required: true },
      region,
      availabilityZone: { description: 'Zone', values: devopsZones },
      instanceType: { description: 'Server type', values: devopsInstanceTypes },
      diskSize: { description: 'Disk in GB', values: ['100', '200', '300', '400'] },
    },
    tool: 'restore_instance',
    steps: confirmFirst,
  },
  {
    name: 'plan_upgrade',
    title: 'Plan an upgrade',
    description: 'Upgrade a Kubernetes cluster: ask, plan, show, then act',
    args: {
      resourceGroupName: { description: 'Resource group', required: true },
      clusterName: { description: 'Cluster', required: true },
      version: { description: 'Version to upgrade to' },
    },
    tool: 'upgrade_kube_version',
    steps: confirmFirst,
  },
  {
    name: 'plan_resource_group',
    title: 'Plan a resource group',
    description: 'Set up a Kubernetes resource group: ask for what is missing, plan, show, then act',
    args: {
      resourceGroupName: { description: 'Resource group', required: true },
      deploymentModel: { description: 'Deployment model', values: deploymentModels },
      region,
      nodeInstanceType: { description: 'Instance type of control plane and nodes', values: nodeInstanceTypes },
      controlPlaneNodes: { description: 'Control plane nodes', values: ['1', '3', '5'] },
    },
    tool: 'provision_kube_resource_group',
    steps: ['Read cloudops://reference/provision_kube_resource_group for all arguments and rules.', ...confirmFirst],
  },
];

/** Returns the message that starts the task, with the arguments of the prompt that have a value. */
export function promptText(
  { title, tool, steps, args }: Prompt,
  values: Readonly<Record<string, string | undefined>>,
): string {
  const lines = [`${title} with the tool ${tool}.`, ''];
  for (const name of Object.keys(args)) {
    const value = values[name] ?? '';
    if (value !== '') lines.push(`- ${name}: ${quote(value, 2000)}`);
  }
  lines.push('', ...steps.map((step, index) => `${index + 1}. ${step}`));
  return lines.join('\n');
}

/** The prompts whose tools are among the operations. */
const promptsFor = (operations: readonly Operation[]): readonly Prompt[] =>
  prompts.filter(({ tool }) => operations.some(({ name }) => name === tool));

/** Returns the listings of the prompts whose tools are offered. */
export const listPrompts = (operations: readonly Operation[]) =>
  promptsFor(operations).map(({ name, title, description, args }) => ({
    name,
    title,
    description,
    arguments: Object.entries(args).map(([argument, { description, required = false }]) => ({
      name: argument,
      description,
      required,
    })),
  }));

/**
 * Returns the messages of a prompt.
 * @throws ProtocolError if the prompt is not offered, or lacks a required argument
 */
export function getPrompt(
  operations: readonly Operation[],
  name: string,
  values: Readonly<Record<string, string>>,
): GetPromptResult {
  const prompt = findPrompt(operations, name);
  const missing = Object.keys(prompt.args).filter((arg) => prompt.args[arg]?.required && values[arg] === undefined);
  if (missing.length > 0) throw invalid(`Invalid arguments for prompt ${name}: ${missing.join(', ')} missing.`);
  return { messages: [{ role: 'user', content: { type: 'text', text: promptText(prompt, values) } }] };
}

/** Returns values to suggest for an argument of a prompt. */
export function promptValues(operations: readonly Operation[], name: string, argument: string): readonly string[] {
  const { args } = findPrompt(operations, name);
  return Object.hasOwn(args, argument) ? (args[argument]?.values ?? []) : [];
}

function findPrompt(operations: readonly Operation[], name: string): Prompt {
  const prompt = promptsFor(operations).find((candidate) => candidate.name === name);
  if (prompt === undefined) throw invalid(`Prompt ${name} not found`);
  return prompt;
}

const invalid = (message: string) => new ProtocolError(ProtocolErrorCode.InvalidParams, message);
