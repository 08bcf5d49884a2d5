import { assert, property, string } from 'fast-check';
import { expect, test } from 'vitest';
import { containerCommand } from './container.ts';
import { expandStrictly, expandVariables } from './expand.ts';

const VARIABLES = new Map([
  ['A', 'alpha'],
  ['B', '$(A)'],
  ['EMPTY', ''],
]);
const lookup = (name: string): string | undefined => VARIABLES.get(name);

test.each([
  ['plain', 'plain'],
  ['$(A)', 'alpha'],
  ['x$(A)y$(A)z', 'xalphayalphaz'],
  ['$(EMPTY)', ''],
  ['$(NONE)', '$(NONE)'],
  ['$$(A)', '$(A)'],
  ['$$$(A)', '$alpha'],
  ['$$$$(A)', '$$(A)'],
  ['$A', '$A'],
  ['$', '$'],
  ['a$', 'a$'],
  ['$$', '$'],
  ['$(A', '$(A'],
  ['$(A$(B))', '$(A$(B))'],
  ['$()', '$()'],
  ['$(B)', '$(A)'],
  ['(A)', '(A)'],
])('expands %s to %s', (text, expected) => {
  expect(expandVariables(text, lookup)).toBe(expected);
});

test('doubling every dollar preserves any text', () => {
  assert(
    property(string(), (text) => {
      expect(expandVariables(text.replaceAll('$', '$$$$'), lookup)).toBe(text);
    }),
  );
});

test('names the variables that are missing', () => {
  expect(expandStrictly('$(A)/$(X)/$$(Y)/$(Z)', lookup)).toEqual({
    text: 'alpha/$(X)/$(Y)/$(Z)',
    missing: ['X', 'Z'],
  });
});

test('expands command and args, and leaves absent ones to the image', () => {
  expect(containerCommand({ command: ['sh', '$(A)'], args: ['$$(A)', '$(A)'] }, VARIABLES)).toEqual({
    command: ['sh', 'alpha'],
    args: ['$(A)', 'alpha'],
  });
  expect(containerCommand({}, VARIABLES)).toEqual({ command: [], args: [] });
});
