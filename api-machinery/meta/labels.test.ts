import { describe, expect, it } from 'vitest';
import { formatLabels, validateAnnotations, validateLabels } from './labels.ts';

describe('labels', () => {
  it('are written in the order of their keys', () => {
    expect(formatLabels({ b: '1', a: '' })).toBe('a=,b=1');
    expect(formatLabels({})).toBe('');
  });

  it('are checked by key and value', () => {
    const errors = validateLabels({ good: 'x', 'bad key': 'x', k: 'bad value' }, 'metadata.labels');
    expect(errors.map((error) => error.field)).toEqual(['metadata.labels', 'metadata.labels[k]']);
  });
});

describe('validateAnnotations', () => {
  it('accepts keys in either case and any value', () => {
    expect(validateAnnotations({ 'X.io/A': 'any text: {"a":1}\n' }, 'metadata.annotations')).toEqual([]);
  });

  it('reports bad keys and too much', () => {
    const errors = validateAnnotations({ 'a b': 'x'.repeat(300_000) }, 'metadata.annotations');
    expect(errors.map((error) => error.kind)).toEqual(['FieldValueInvalid', 'FieldValueTooLong']);
  });
});
