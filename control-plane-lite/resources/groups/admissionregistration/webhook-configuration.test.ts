import { describe, expect, it, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import {
  type Changes,
  type ErrorRow,
  errorsOf,
  type KindSubject,
  objectWith,
  rowOf,
  updateFaultsOf,
} from '../kind.fixture.ts';
import { mutatingWebhookConfiguration, validatingWebhookConfiguration } from './webhook-configuration.ts';

describe.each([
  ['MutatingWebhookConfiguration', mutatingWebhookConfiguration],
  ['ValidatingWebhookConfiguration', validatingWebhookConfiguration],
] as const)('a %s', (kind, entry) => {
  const rule = { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] };
  const hook = {
    name: 'a.b.c',
    clientConfig: { url: 'https://example.com/hook' },
    rules: [rule],
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
  };
  const subject: KindSubject = {
    typeRef: `admissionregistration.${VOCABULARIES.plat.apiGroupDomain}/v1.${kind}`,
    entry,
    base: { metadata: { name: 'hooks', creationTimestamp: '2026-11-21T11:59:00Z' }, webhooks: [hook] },
  };
  const withHook = (changes: object): Changes => ({ webhooks: [{ ...hook, ...changes }] });
  const withRule = (changes: object): Changes => withHook({ rules: [{ ...rule, ...changes }] });
  const withUrl = (url: string): Changes => withHook({ clientConfig: { url } });
  const withService = (service: object): Changes =>
    withHook({ clientConfig: { service: { name: 's', namespace: 'n', ...service } } });
  const AT = 'webhooks[0]';
  const RULE = `${AT}.rules[0]`;
  const URL_AT = `${AT}.clientConfig.url`;
  const SERVICE = `${AT}.clientConfig.service`;

  test.each<ErrorRow>([
    ['is right', {}, []],
    ['without webhooks', { webhooks: undefined }, []],
    ['with a webhook twice', { webhooks: [hook, hook] }, ['webhooks[1].name Duplicate']],
    ['without name', withHook({ name: '' }), [`${AT}.name Required`]],
    ['with a short name', withHook({ name: 'a.b' }), [`${AT}.name Invalid`]],
    ['with a broken name', withHook({ name: 'a.b.c_' }), [`${AT}.name Invalid`]],
    ['that does it all', withHook({ sideEffects: 'Some' }), [`${AT}.sideEffects NotSupported`]],
    ['that waits for no time', withHook({ timeoutSeconds: 0 }), [`${AT}.timeoutSeconds Invalid`]],
    ['that waits for long', withHook({ timeoutSeconds: 31 }), [`${AT}.timeoutSeconds Invalid`]],
    [
      'with broken selectors',
      withHook({
        namespaceSelector: { matchLabels: { a: '-' } },
        objectSelector: { matchLabels: { a: '-' } },
      }),
      [`${AT}.namespaceSelector.matchLabels[a] Invalid`, `${AT}.objectSelector.matchLabels[a] Invalid`],
    ],
    ['of no version', withHook({ admissionReviewVersions: [] }), [`${AT}.admissionReviewVersions Required`]],
    [
      'of a later version',
      withHook({ admissionReviewVersions: ['v7'] }),
      [`${AT}.admissionReviewVersions Invalid`],
    ],
    [
      'of versions twice',
      withHook({ admissionReviewVersions: ['v1', 'v1', '1'] }),
      [`${AT}.admissionReviewVersions[1] Invalid`, `${AT}.admissionReviewVersions[2] Invalid`],
    ],
    ['nowhere', withHook({ clientConfig: {} }), [`${AT}.clientConfig Required`]],
    [
      'at two places',
      withHook({ clientConfig: { url: 'https://a', service: { name: 's', namespace: 'n' } } }),
      [`${AT}.clientConfig Required`],
    ],
    ['at a broken address', withUrl('example'), [`${URL_AT} Required`]],
    ['at an open address', withUrl('http://example.com'), [`${URL_AT} Invalid`]],
    [
      'at an address with extras',
      withUrl('https://me:secret@example.com/?a=b#c'),
      [`${URL_AT} Invalid`, `${URL_AT} Invalid`, `${URL_AT} Invalid`],
    ],
    ['at a service', withService({ path: '/a/b/', port: 8443 }), []],
    ['at the root of a service', withService({ path: '/' }), []],
    [
      'at no service',
      withService({ name: '', namespace: '' }),
      [`${SERVICE}.name Required`, `${SERVICE}.namespace Required`],
    ],
    [
      'at a broken path',
      withService({ path: 'a/b//_', port: 0 }),
      [
        `${SERVICE}.path Invalid`,
        `${SERVICE}.path Invalid`,
        `${SERVICE}.path Invalid`,
        `${SERVICE}.path Invalid`,
        `${SERVICE}.port Invalid`,
      ],
    ],
    [
      'for nothing',
      withHook({ rules: [{}] }),
      [
        `${RULE}.operations Required`,
        `${RULE}.apiGroups Required`,
        `${RULE}.apiVersions Required`,
        `${RULE}.resources Required`,
      ],
    ],
    [
      'for everything',
      withRule({ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] }),
      [],
    ],
    [
      'for everything and more',
      withRule({
        operations: ['*', 'CREATE'],
        apiGroups: ['*', ''],
        apiVersions: ['*', 'v1', ''],
        resources: ['*', 'pods'],
      }),
      [
        `${RULE}.operations Invalid`,
        `${RULE}.apiGroups Invalid`,
        `${RULE}.apiVersions Invalid`,
        `${RULE}.apiVersions[2] Required`,
        `${RULE}.resources Invalid`,
      ],
    ],
    ['for parts', withRule({ resources: ['pods', 'pods/status', '*/scale', 'nodes/*'] }), []],
    [
      'for parts twice',
      withRule({ resources: ['pods/*', 'pods/status', '*/scale', 'nodes/scale', ''] }),
      [`${RULE}.resources[1] Invalid`, `${RULE}.resources[3] Invalid`, `${RULE}.resources[4] Required`],
    ],
    ['for all parts and more', withRule({ resources: ['*/*', 'pods'] }), [`${RULE}.resources Invalid`]],
    ['for resources and their parts', withRule({ resources: ['*', 'pods/status'] }), []],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));

  it('may be changed though it never spoke our versions', () => {
    const old = withHook({ admissionReviewVersions: ['v7'] });
    expect(updateFaultsOf(subject, { ...old, 'metadata.labels': { a: 'b' } }, old)).toEqual([]);
    expect(updateFaultsOf(subject, old)).toEqual([`${AT}.admissionReviewVersions Invalid`]);
    expect(updateFaultsOf(subject, withHook({ name: '' }))).toEqual([`${AT}.name Required`]);
  });

  it('has a new generation when webhooks change, and a row', () => {
    const changed = (changes: Changes): boolean | undefined =>
      entry.strategy.generationChanged?.(objectWith(subject, changes), objectWith(subject));
    expect(changed({ 'metadata.labels': { a: 'b' } })).toBe(false);
    expect(changed({ webhooks: [] })).toBe(true);
    expect(rowOf(subject)).toEqual(['hooks', 1, '60s']);
  });
});
