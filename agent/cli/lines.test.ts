import { describe, expect, test } from 'vitest';
import { readJsonLines, readLines } from './client/json-lines.ts';
import { formatRejection, shownIdentity } from './manifests/apply-text.ts';
import { formatProblems } from './views/problem-lines.ts';

async function* chunksOf(...texts: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield typeof text === 'string' ? Buffer.from(text) : text;
}

describe('readLines', () => {
  test('joins chunks, splits characters and yields a last line without a break', async () => {
    const bytes = Buffer.from('größe\nx');
    const lines = await Array.fromAsync(
      readLines(chunksOf('a', 'b\n\nc', '\n', bytes.subarray(0, 3), bytes.subarray(3))),
    );
    expect(lines).toEqual(['ab', '', 'c', 'größe', 'x']);
  });
});

describe('readJsonLines', () => {
  test('reads one value per line', async () => {
    expect(await Array.fromAsync(readJsonLines(chunksOf('{"a":1}\n', '{"b"', ':2}\n')))).toEqual([
      { a: 1 },
      { b: 2 },
    ]);
  });
});

describe('formatProblems', () => {
  const origin = { source: 'file', location: '/m/web.yaml', document: '2' };

  test('shows file, document, field, value and reason', () => {
    const errors = [
      { kind: 'FieldValueInvalid', field: 'spec.x', badValue: 'y', detail: 'must be z' },
    ] as const;
    expect(
      formatProblems({ rejected: [{ origin, identity: 'Pod default/web', errors }], conflicts: [] }),
    ).toBe('rejected: Pod default/web in /m/web.yaml, document 2\n  spec.x: Invalid value: "y": must be z\n');
  });

  test('shows which of two manifests is used', () => {
    const winner = { source: 'file', location: '/m/a.yaml', document: '1' };
    expect(
      formatProblems({ rejected: [], conflicts: [{ identity: 'Pod default/web', winner, loser: origin }] }),
    ).toBe('ignored: Pod default/web in /m/web.yaml, document 2; /m/a.yaml, document 1 takes precedence\n');
  });

  test('is empty without problems', () => {
    expect(formatProblems({ rejected: [], conflicts: [] })).toBe('');
  });
});

describe('shownIdentity', () => {
  test.each([
    ['Pod default/web', 'pod/web'],
    ['ConfigMap shop/app', 'configmap/app in shop'],
    ['PersistentVolume disk', 'persistentvolume/disk'],
    ['object', 'object/'],
  ])('shows %s as %s', (identity, text) => {
    expect(shownIdentity(identity)).toBe(text);
  });
});

describe('formatRejection', () => {
  test('puts every error on its own line', () => {
    const errors = [
      { kind: 'FieldValueRequired', field: 'spec.a', detail: '' },
      { kind: 'FieldUnknown', field: 'spec.b', detail: 'no such field' },
    ] as const;
    const text = formatRejection('x.yaml', {
      identity: 'Pod default/web',
      document: '1',
      outcome: 'rejected',
      errors,
    });
    expect(text).toBe(
      'x.yaml, document 1: Pod default/web rejected\n  spec.a: Required value\n  spec.b: Unknown field: no such field\n',
    );
  });
});
