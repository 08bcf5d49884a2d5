import { describe, expect, it } from 'vitest';
import { formatLabels, validateAnnotations, validateLabels } from './labels.ts';

describe('labels', () => {
  it('are formatted in the order of their keys', () => {
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

  it('reports bad keys and excessive size', () => {
    const errors = validateAnnotations({ 'a b': 'x'.repeat(300_000) }, 'metadata.annotations');
    expect(errors.map((error) => error.kind)).toEqual(['FieldValueInvalid', 'FieldValueTooLong']);
  });
});

it('reports the first bad keys of very many', () => {
  const bad = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`a b${index}`, 'c d']));
  expect(validateLabels(bad, '').length).toBeLessThan(300);
  expect(validateAnnotations(bad, '').length).toBeLessThan(300);
});
