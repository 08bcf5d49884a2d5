import { describe, expect, test } from 'vitest';
import type { ApiObject } from '../../resources/contract.ts';
import { ReviewError, type ReviewRequest, readReview, reviewBody } from './conversion-review.ts';

const original: ApiObject = {
  apiVersion: 'shop.example/v1',
  kind: 'Cake',
  metadata: { name: 'a', namespace: 'n', uid: 'u', labels: { old: '1' }, resourceVersion: '7' },
  spec: { a: 1 },
};
const request: ReviewRequest = {
  uid: 'r',
  reviewVersion: 'v1',
  group: 'apiextensions.example',
  desiredApiVersion: 'shop.example/v2',
  objects: [original],
};
const converted = { ...original, apiVersion: 'shop.example/v2', spec: { b: 1 } };

function review(response: object): object {
  return {
    kind: 'ConversionReview',
    apiVersion: 'apiextensions.example/v1',
    response: { uid: 'r', result: { status: 'Success' }, convertedObjects: [converted], ...response },
  };
}

const withMetadata = (metadata: object): object => review({ convertedObjects: [{ ...converted, metadata }] });

describe('readReview', () => {
  test('takes the object, and of its metadata labels and annotations alone', () => {
    const metadata = {
      name: 'a',
      namespace: 'n',
      uid: 'u',
      labels: { new: '1' },
      annotations: { note: 'x' },
      resourceVersion: '99',
      finalizers: ['x'],
    };
    expect(readReview(withMetadata(metadata), request)).toEqual([
      {
        ...converted,
        metadata: {
          name: 'a',
          namespace: 'n',
          uid: 'u',
          resourceVersion: '7',
          labels: { new: '1' },
          annotations: { note: 'x' },
        },
      },
    ]);
  });

  test.each<readonly [string, unknown, string]>([
    ['a text', 'x', 'is not an object'],
    ['another kind', { ...review({}), kind: 'Review' }, 'expected apiextensions.example/v1'],
    ['another version', { ...review({}), apiVersion: 'apiextensions.example/v2' }, 'expected'],
    ['no response', { ...review({}), response: undefined }, 'no response'],
    ['the review to something else', review({ uid: 'q' }), 'expected r'],
    ['a failure', review({ result: { status: 'Failure', message: 'no flour' } }), 'no flour'],
    ['a failure without words', review({ result: {} }), 'was not "Success"'],
    ['too few objects', review({ convertedObjects: [] }), 'expected 1 converted objects, got 0'],
    ['no list of objects', review({ convertedObjects: null }), 'got 0'],
    ['no objects', review({ convertedObjects: ['x'] }), 'convertedObjects[0] is not an object'],
    ['the old version', review({ convertedObjects: [original] }), 'expected shop.example/v2'],
    [
      'another kind of object',
      review({ convertedObjects: [{ ...converted, kind: 'Pie' }] }),
      'expected Cake',
    ],
    ['no metadata', withMetadata([]), 'no metadata'],
    ['another name', withMetadata({ ...original.metadata, name: 'b' }), 'a different metadata.name'],
    ['another uid', withMetadata({ ...original.metadata, uid: 'b' }), 'a different metadata.uid'],
    [
      'labels that are none',
      withMetadata({ ...original.metadata, labels: { a: 1 } }),
      'labels[a] must be a string',
    ],
    ['no labels but a list', withMetadata({ ...original.metadata, labels: [] }), 'labels must be an object'],
  ])('refuses %s', (_, given, message) => {
    expect(() => readReview(given, request)).toThrow(ReviewError);
    expect(() => readReview(given, request)).toThrow(message);
  });
});

test('reviewBody has the form that upstream’s webhooks read', () => {
  expect(reviewBody(request)).toEqual({
    kind: 'ConversionReview',
    apiVersion: 'apiextensions.example/v1',
    request: { uid: 'r', desiredAPIVersion: 'shop.example/v2', objects: [original] },
  });
});
