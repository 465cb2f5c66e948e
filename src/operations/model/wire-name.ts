import { hasTrait, type Member, type Model, type Protocol, textTrait } from './model.js';

/**
 * Returns the name of a member in requests. A list or map whose entries have no element around them keeps the name of its member, because
 * the name in the request is the name of one entry: `Object` for `Objects`.
 * @param isBound true for a member of an input, which may be in the query or a header
 */
export function wireName({ service, shape }: Model, { name, target, traits }: Member, isBound: boolean): string {
  const { protocol } = service;
  const trait = (id: string) => textTrait(traits, `smithy.api#${id}`);
  const bound = isBound && boundProtocols.includes(protocol) ? (trait('httpHeader') ?? trait('httpQuery')) : undefined;
  if (bound !== undefined) return bound;
  const isMany = ['list', 'map'].includes(shape(target).kind);
  switch (protocol) {
    case 'awsJson1_0':
    case 'awsJson1_1':
      return name;
    case 'restJson1':
      return trait('jsonName') ?? name;
    case 'restXml':
    case 'awsQuery':
      return isMany && hasTrait(traits, 'smithy.api#xmlFlattened') ? name : (trait('xmlName') ?? name);
    case 'ec2Query':
      return isMany ? name : (textTrait(traits, 'aws.protocols#ec2QueryName') ?? capitalized(trait('xmlName') ?? name));
  }
}

/** Protocols that put members into the query and into headers. */
const boundProtocols: readonly Protocol[] = ['restJson1', 'restXml'];

const capitalized = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);
