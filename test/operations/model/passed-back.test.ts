import { expect, test } from 'vitest';
import { argumentsOf, structureOf } from '../../../src/operations/model/arguments.js';
import { createPassedBackFinder } from '../../../src/operations/model/passed-back.js';
import { smallModel } from './small-model.js';

/** The texts of an answer that agents pass back as arguments of an operation in the same file. */

const text = { type: 'string' };
const list = (target: string) => ({ type: 'list', member: { target } });
const structure = (members: Readonly<Record<string, string>>) => ({
  type: 'structure',
  members: Object.fromEntries(Object.entries(members).map(([name, target]) => [name, { target }])),
});
const model = smallModel(
  {
    List: { output: { Name: 'small#Bucket', Contents: 'small#Objects', LabelNames: 'small#Labels' } },
    Delete: {
      input: { Bucket: 'small#Bucket', Delete: 'small#Deletion', LabelNames: 'small#Labels', OwnerId: 'String' },
    },
  },
  {
    'small#Bucket': text,
    'small#Key': text,
    'small#Title': text,
    'small#OwnerId': text,
    'small#Description': text,
    'small#Labels': list('small#Title'),
    'small#Objects': list('small#Object'),
    'small#Object': structure({
      Key: 'small#Key',
      Title: 'small#Title',
      OwnerId: 'small#OwnerId',
      Size: 'smithy.api#Long',
      Description: 'small#Description',
    }),
    'small#Deletion': structure({ Objects: 'small#Deleted' }),
    'small#Deleted': list('small#DeletedObject'),
    'small#DeletedObject': structure({
      Key: 'small#Key',
      Title: 'small#Key',
      Size: 'smithy.api#Long',
      Description: 'small#Description',
    }),
  },
);
const answer = structureOf(model, model.operation('List').output).fields();

test('have the name and the shape of an argument at any depth, or the plain String in place of the shape', () => {
  const find = createPassedBackFinder(argumentsOf(model, model.operation('Delete').input));
  expect(find(answer)).toEqual(['Key', 'OwnerId', 'LabelNames']);
});

test('are none if no operation of the file takes them', () => {
  expect(createPassedBackFinder(argumentsOf(model, model.operation('List').input))(answer)).toEqual([]);
});
