/** Drivers of text readers in the rules of custom resources. */
import { escapeName } from '#plane/custom/schema/cel/declare.ts';
import { compileExpression } from '#plane/custom/schema/cel/expression.ts';
import { MAX_LENGTH } from '#plane/custom/schema/cel/lexer.ts';
import { STRING } from '#plane/custom/schema/cel/types.ts';
import type { Driver } from './driver.ts';

const UNLIMITED = Number.MAX_SAFE_INTEGER;

const evaluate = (rule: string): ((text: string) => unknown) => {
  const program = compileExpression(rule, { self: STRING });
  return (text) => program.evaluate([text], UNLIMITED);
};

/** Each function on texts, on the value of a field. */
const RULES = [
  "self.contains('ab')",
  "self.startsWith('ab') || self.endsWith('ab')",
  "self.split(',').size()",
  "self.replace('a', 'bc')",
  'self.lowerAscii() + self.upperAscii()',
  "self.indexOf('ab') + self.lastIndexOf('ab')",
  'self.trim()',
  'self.substring(1, 2)',
  'self.charAt(1)',
  'size(self)',
  "self.matches('^a+$')",
  'self in [self]',
  'self < self',
  'int(self)',
  'uint(self)',
  'double(self)',
  'bytes(self)',
  'duration(self)',
  'timestamp(self)',
  "timestamp('2026-01-01T00:00:00Z').getHours(self)",
];

export const RULE_DRIVERS: readonly Driver[] = [
  {
    name: 'rules of custom resources',
    covers: ['control-plane-lite/custom/schema/cel/quoted.ts'],
    run: (text) => compileExpression(text, { self: STRING }),
    frames: [
      ['"', '"'],
      ["r'''", "'''"],
      ['b"', '"'],
      ['self == ', '"a"'],
    ],
    pumps: ['\\u0041', '\\x41', '\\n', 'self+', '1+', 'a.', '!', '-', '[', 'self.size()+'],
    longest: MAX_LENGTH,
    fairNs: 3000,
  },
  {
    name: 'names of fields in rules',
    covers: ['control-plane-lite/custom/schema/cel/declare.ts'],
    run: escapeName,
    pumps: ['__', '_', 'a.', 'a-'],
  },
  ...RULES.map((rule) => ({
    name: `a value in the rule ${rule}`,
    covers: [
      'control-plane-lite/custom/schema/cel/library.ts',
      'control-plane-lite/custom/schema/cel/operators.ts',
      'control-plane-lite/custom/schema/cel/times.ts',
    ],
    run: evaluate(rule),
    frames: [
      ['1', ''],
      ['1.', 's'],
    ] as const,
    pumps: ['ab', 'a,', '1h'],
    fairNs: 1500,
  })),
];
