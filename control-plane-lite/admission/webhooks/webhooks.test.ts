import { describe, expect, test } from 'vitest';
import type { RuleWithOperations } from '#api/gen/admissionregistration-v1.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { yieldToEventLoop } from '../../kit/yield.ts';
import { createHookCaller } from './call.ts';
import { matchesRule } from './match.ts';
import { AdmissionReviewError, readReview } from './review.ts';

const words = VOCABULARIES.plat;

describe('matchesRule', () => {
  const base: RuleWithOperations = {
    operations: ['CREATE'],
    apiGroups: ['apps'],
    apiVersions: ['v1'],
    resources: ['deployments'],
  };
  test.each<[string, Partial<RuleWithOperations>, string, boolean]>([
    ['resources that it names', {}, '', true],
    ['no subresource of it', {}, 'scale', false],
    ['every operation', { operations: ['*'] }, '', true],
    ['no other operation', { operations: ['DELETE'] }, '', false],
    ['every group and version', { apiGroups: ['*'], apiVersions: ['*'] }, '', true],
    ['no other group', { apiGroups: [''] }, '', false],
    ['every resource', { resources: ['*'] }, '', true],
    ['but not their subresources', { resources: ['*'] }, 'scale', false],
    ['a subresource', { resources: ['deployments/scale'] }, 'scale', true],
    ['every subresource of it', { resources: ['deployments/*'] }, 'scale', true],
    ['a subresource of all', { resources: ['*/scale'] }, 'scale', true],
    ['everything', { resources: ['*/*'] }, 'scale', true],
    ['namespaced resources', { scope: 'Namespaced' }, '', true],
    ['no cluster-scoped resources', { scope: 'Cluster' }, '', false],
  ])('%s', (_, change, subresource, matches) => {
    const info = { group: 'apps', version: 'v1', plural: 'deployments', namespaced: true };
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only its names count
    const resource = { info } as Parameters<typeof matchesRule>[1]['resource'];
    expect(matchesRule({ ...base, ...change }, { operation: 'CREATE', resource, subresource })).toBe(matches);
  });
});

describe('readReview', () => {
  const sent = { uid: 'u', version: 'v1' };
  const review = (response: object, change: object = {}): unknown => ({
    apiVersion: `admission.${words.apiGroupDomain}/v1`,
    kind: 'AdmissionReview',
    response,
    ...change,
  });
  const operations = '[{"op":"add","path":"/a","value":9007199254740993}]';
  const patch = Buffer.from(operations).toString('base64');

  test('parses a response', async () => {
    const response = {
      uid: 'u',
      allowed: true,
      patchType: 'JSONPatch',
      patch,
      warnings: ['w'],
      auditAnnotations: { a: 'b' },
    };
    expect(await readReview(review(response), sent, words, yieldToEventLoop)).toEqual({
      allowed: true,
      code: undefined,
      message: '',
      reason: '',
      patch: [{ op: 'add', path: '/a', value: 2n ** 53n + 1n }],
      isLarge: false,
      warnings: ['w'],
      annotations: { a: 'b' },
    });
  });

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['another version', review({ uid: 'u', allowed: true }, { apiVersion: 'v1' })],
    ['another kind', review({ uid: 'u', allowed: true }, { kind: 'Review' })],
    ['no response', review({}, { response: undefined })],
    ['another question', review({ uid: 'x', allowed: true })],
    ['neither yes nor no', review({ uid: 'u' })],
    ['a patch of another type', review({ uid: 'u', allowed: true, patch })],
    ['a patch that is none', review({ uid: 'u', allowed: true, patchType: 'JSONPatch', patch: '!' })],
  ])('refuses %s', async (_, given) => {
    await expect(readReview(given, sent, words, yieldToEventLoop)).rejects.toThrow(AdmissionReviewError);
  });
});

describe('call', () => {
  test('does not call a webhook with side effects for a dry run', async () => {
    const caller = createHookCaller({
      vocabulary: words,
      log: silentLogger,
      signal: AbortSignal.abort(),
      addressOf: () => {
        throw new Error('must not be called');
      },
    });
    const hook = {
      name: 'a.b.c',
      client: { service: { namespace: 'n', name: 's' } },
      rules: [],
      equivalent: true,
      ignoresFailure: true,
      namespaces: [],
      objects: [],
      takesDryRuns: false,
      timeoutMs: 1,
      reviewVersions: ['v1'],
      again: false,
    };
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- no more of it is looked at
    const request = { dryRun: true } as Parameters<typeof caller.call>[1];
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it is not looked at
    const seen = {} as Parameters<typeof caller.call>[2];
    await expect(caller.call(hook, request, seen)).rejects.toMatchObject({
      reason: 'BadRequest',
      message: 'admission webhook "a.b.c" does not support dry run',
    });
  });
});
