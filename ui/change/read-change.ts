import {
  type ChangeOutcome,
  changeKey,
  outcomeKey,
  outcomeKinds,
  type ProposedChange,
  riskNames,
  type ShownTable,
} from '../../src/mcp/views/view-contract.js';
import { type Fields, fieldsOf, numberOf, readText, textsOf, timeOf } from '../shared/read-fields.js';

/** Reads a proposed change from `_meta`. Returns undefined if the change is missing or not complete enough for a decision. */
export function readProposedChange(meta: unknown): ProposedChange | undefined {
  const change = fieldsOf(fieldsOf(meta)[changeKey]);
  const { sentence, issuedAt, expiresAt, accept, decline, ticket, typePrompt } = textFields(change);
  // A person needs these fields to decide. Without a ticket, the view shows the plan without buttons.
  if (sentence === undefined || accept === undefined || decline === undefined) return undefined;
  if (expiresAt === undefined || timeOf(expiresAt) === undefined) return undefined;

  return {
    sentence,
    risks: riskNames.filter((risk) => textsOf(change.risks).includes(risk)),
    isSandbox: change.isSandbox === true,
    where: textsOf(change.where),
    effects: textsOf(change.effects),
    warnings: textsOf(change.warnings),
    notChecked: textsOf(change.notChecked),
    defaults: namedValues(change.defaults),
    tables: tablesIn(change.tables),
    request: readText(change.request) ?? '',
    expiresAt,
    accept,
    decline,
    otherWays: textsOf(change.otherWays),
    issuedAt,
    ticket,
    typePrompt,
  };
}

const tablesIn = (values: unknown): ShownTable[] =>
  (Array.isArray(values) ? values : []).map(fieldsOf).map(({ title, columns, rows, more }) => ({
    title: readText(title) ?? '',
    columns: textsOf(columns),
    rows: (Array.isArray(rows) ? rows : []).map(textsOf),
    more: numberOf(more) ?? 0,
  }));

const namedValues = (values: unknown): ProposedChange['defaults'] =>
  (Array.isArray(values) ? values : []).flatMap((setting) => {
    const { name, value } = textFields(fieldsOf(setting));
    return name === undefined || value === undefined ? [] : [{ name, value }];
  });

/** Reads the outcome of a change from `_meta`. Returns undefined if the outcome is missing or has no kind or sentence. */
export function readOutcome(meta: unknown): ChangeOutcome | undefined {
  const outcome = fieldsOf(fieldsOf(meta)[outcomeKey]);
  const kind = outcomeKinds.find((candidate) => candidate === outcome.kind);
  const { sentence, next, earlier, sentAt, code } = textFields(outcome);
  if (kind === undefined || sentence === undefined) return undefined;

  const [things] = tablesIn([outcome.things]);
  const requestIds = Object.entries(fieldsOf(outcome.requestIds)).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );

  return {
    kind,
    sentence,
    details: textsOf(outcome.details),
    requestIds: Object.fromEntries(requestIds),
    isSandbox: outcome.isSandbox === true,
    where: Array.isArray(outcome.where) ? textsOf(outcome.where) : undefined,
    next,
    things: things?.rows.length === 0 ? undefined : things,
    sentAt,
    code,
    isOfPlan: outcome.isOfPlan === true,
    earlier,
  };
}

/** Reads all fields of an object as texts. Other values count as absent. */
const textFields = (fields: Fields): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, readText(value)]));
