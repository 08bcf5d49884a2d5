import { describe, expect, test } from 'vitest';
import { UsageError } from '../errors.ts';
import { parseTargets } from './targets.ts';

describe('operands of get', () => {
  test.each([
    [['pods'], [{ kind: 'Pod', names: [] }]],
    [['po', 'web', 'api'], [{ kind: 'Pod', names: ['web', 'api'] }]],
    [
      ['pods,cm,pod'],
      [
        { kind: 'Pod', names: [] },
        { kind: 'ConfigMap', names: [] },
      ],
    ],
    [
      ['pod/web', 'cm/app', 'pod/api'],
      [
        { kind: 'Pod', names: ['web', 'api'] },
        { kind: 'ConfigMap', names: ['app'] },
      ],
    ],
  ])('%j', (operands, targets) => {
    expect(parseTargets(operands)).toEqual(targets);
  });

  test.each([
    [[], /requires a TYPE/],
    [[','], /requires a TYPE/],
    [['pods,cm', 'web'], /single TYPE/],
    [['pod/web', 'api'], /"api" must be TYPE\/NAME/],
    [['pod/'], /must be TYPE\/NAME/],
    [['podz'], /did you mean pods/],
  ])('%j is invalid', (operands, message) => {
    expect(() => parseTargets(operands)).toThrow(UsageError);
    expect(() => parseTargets(operands)).toThrow(message);
  });
});
