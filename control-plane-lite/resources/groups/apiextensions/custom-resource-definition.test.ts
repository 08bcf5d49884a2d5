import { describe, expect, it, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import {
  type Changes,
  contextWith,
  created,
  type ErrorRow,
  errorsOf,
  type KindSubject,
  objectWith,
  throughPart,
  updateFaultsOf,
} from '../kind.fixture.ts';
import { createCustomResourceDefinition } from './custom-resource-definition.ts';

const { plat, kubernetes } = VOCABULARIES;
const version = (name: string, storage: boolean, more: object = {}): object => ({
  name,
  storage,
  served: true,
  schema: { openAPIV3Schema: { type: 'object' } },
  ...more,
});
const subject: KindSubject = {
  typeRef: `apiextensions.${plat.apiGroupDomain}/v1.CustomResourceDefinition`,
  entry: createCustomResourceDefinition(),
  base: {
    metadata: { name: 'tabs.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'tabs', kind: 'Tab' },
      versions: [version('v1', true)],
    },
  },
};
const withVersion = (more: object): Changes => ({ 'spec.versions': [version('v1', true, more)] });
const withColumn = (column: object): Changes =>
  withVersion({ additionalPrinterColumns: [{ name: 'A', type: 'string', jsonPath: '.spec.a', ...column }] });
const withScale = (scale: object): Changes =>
  withVersion({
    subresources: {
      scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas', ...scale },
    },
  });
const withWebhook = (webhook: object | undefined, strategy = 'Webhook'): Changes => ({
  'spec.conversion': { strategy, ...(webhook && { webhook }) },
});
const VERSION = 'spec.versions[0]';
const COLUMN = `${VERSION}.additionalPrinterColumns[0]`;
const SCALE = `${VERSION}.subresources.scale`;
const WEBHOOK = 'spec.conversion.webhook';
const clientConfig = { url: 'https://example.com' };

describe('a custom resource definition', () => {
  test.each<ErrorRow>([
    ['is right', {}, []],
    ['with another name', { 'metadata.name': 'tab.example.com' }, ['metadata.name Invalid']],
    ['of no group', { 'spec.group': '', 'metadata.name': 'tabs.' }, ['spec.group Required']],
    [
      'of a short group',
      { 'spec.group': 'example', 'metadata.name': 'tabs.example' },
      ['spec.group Invalid'],
    ],
    ['of a broken group', { 'spec.group': '_.a', 'metadata.name': 'tabs._.a' }, ['spec.group Invalid']],
    ['of no scope', { 'spec.scope': '' }, ['spec.scope NotSupported']],
    [
      'that keeps what it does not know',
      { 'spec.preserveUnknownFields': true },
      ['spec.preserveUnknownFields Invalid'],
    ],
    [
      'with names',
      {
        'spec.names': {
          plural: 'tabs',
          singular: 'tab',
          kind: 'Tab',
          listKind: 'Tabs',
          shortNames: ['t'],
          categories: ['all'],
        },
      },
      [],
    ],
    [
      'without names',
      { 'spec.names': { plural: '', kind: '' }, 'metadata.name': '.example.com' },
      ['spec.names.plural Required', 'spec.names.kind Required'],
    ],
    [
      'with broken names',
      {
        'metadata.name': 'Tabs.example.com',
        'spec.names': {
          plural: 'Tabs',
          singular: 'Tab',
          kind: 'T_',
          listKind: 'T_',
          shortNames: ['T'],
          categories: ['_'],
        },
      },
      [
        'spec.names.plural Invalid',
        'spec.names.singular Invalid',
        'spec.names.kind Invalid',
        'spec.names.listKind Invalid',
        'spec.names.listKind Invalid',
        'spec.names.shortNames[0] Invalid',
        'spec.names.categories[0] Invalid',
      ],
    ],
    ['of two versions', { 'spec.versions': [version('v1', true), version('v2', false)] }, []],
    [
      'stored nowhere',
      { 'spec.versions': [version('v1', false)] },
      ['spec.versions Invalid', 'status.storedVersions Invalid'],
    ],
    [
      'stored twice',
      { 'spec.versions': [version('v1', true), version('v2', true)] },
      ['spec.versions Invalid'],
    ],
    [
      'of a version twice',
      { 'spec.versions': [version('v1', true), version('v1', false)] },
      ['spec.versions Invalid'],
    ],
    ['of a broken version', { 'spec.versions': [version('1', true)] }, [`${VERSION}.name Invalid`]],
    ['without schema', withVersion({ schema: undefined }), [`${VERSION}.schema.openAPIV3Schema Required`]],
    ['with a warning', withVersion({ deprecated: true, deprecationWarning: 'use v2' }), []],
    [
      'with a warning of nothing',
      withVersion({ deprecationWarning: '' }),
      [`${VERSION}.deprecationWarning Invalid`, `${VERSION}.deprecationWarning Invalid`],
    ],
    [
      'with a long warning',
      withVersion({ deprecated: true, deprecationWarning: `${'x'.repeat(256)}\u0007` }),
      [`${VERSION}.deprecationWarning TooLong`, `${VERSION}.deprecationWarning Invalid`],
    ],
    ['with a column', withColumn({ format: 'date-time', jsonPath: '.a[?(@.b=="c")].d' }), []],
    [
      'with an empty column',
      withColumn({ name: '', type: '', jsonPath: '' }),
      [`${COLUMN}.name Required`, `${COLUMN}.type Required`, `${COLUMN}.jsonPath Required`],
    ],
    [
      'with a broken column',
      withColumn({ type: 'object', format: 'x', jsonPath: 'spec' }),
      [`${COLUMN}.type Invalid`, `${COLUMN}.format Invalid`, `${COLUMN}.jsonPath Invalid`],
    ],
    ['with a scale', withScale({ labelSelectorPath: '.status.selector' }), []],
    [
      'with an empty scale',
      withScale({ specReplicasPath: '', statusReplicasPath: '' }),
      [`${SCALE}.specReplicasPath Required`, `${SCALE}.statusReplicasPath Required`],
    ],
    [
      'with a broken scale',
      withScale({
        specReplicasPath: '.status.a',
        statusReplicasPath: '.status[*]',
        labelSelectorPath: '.metadata.a',
      }),
      [
        `${SCALE}.specReplicasPath Invalid`,
        `${SCALE}.statusReplicasPath Invalid`,
        `${SCALE}.labelSelectorPath Invalid`,
      ],
    ],
    ['converted', withWebhook({ clientConfig, conversionReviewVersions: ['v1'] }), []],
    [
      'without a converter',
      withWebhook(undefined),
      [`${WEBHOOK}.clientConfig Required`, `${WEBHOOK}.conversionReviewVersions Required`],
    ],
    [
      'with a converter but no conversion',
      withWebhook({ clientConfig, conversionReviewVersions: ['v1'] }, 'None'),
      [`${WEBHOOK} Forbidden`],
    ],
    ['converted by moon', withWebhook(undefined, 'Moon'), ['spec.conversion.strategy NotSupported']],
    ['converted somehow', withWebhook(undefined, ''), ['spec.conversion.strategy Required']],
    [
      'converted in a later version',
      withWebhook({
        clientConfig: {},
        conversionReviewVersions: ['v7', 'v7', '1'],
      }),
      [
        `${WEBHOOK}.clientConfig Required`,
        `${WEBHOOK}.conversionReviewVersions[1] Invalid`,
        `${WEBHOOK}.conversionReviewVersions[2] Invalid`,
        `${WEBHOOK}.conversionReviewVersions Invalid`,
      ],
    ],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));

  it.each([plat, kubernetes])('of a protected group needs approval (%#)', (vocabulary) => {
    const theirs: KindSubject = { ...subject, context: { vocabulary: vocabulary.name } };
    const annotation = `api-approved.${vocabulary.domain}`;
    const group = `apps.${vocabulary.apiGroupDomain}`;
    const changes = { 'spec.group': group, 'metadata.name': `tabs.${group}` };
    const approved = (text: string): readonly string[] =>
      errorsOf(theirs, { ...changes, 'metadata.annotations': { [annotation]: text } });
    expect(errorsOf(theirs, changes)).toEqual([`metadata.annotations[${annotation}] Required`]);
    expect(approved('yes')).toEqual([`metadata.annotations[${annotation}] Invalid`]);
    expect(approved('https://example.com/1')).toEqual([]);
    expect(approved('unapproved, a trial')).toEqual([]);
  });

  const ESTABLISHED = { 'status.conditions': [{ type: 'Established', status: 'True' }] };
  test.each<readonly [string, Changes, readonly string[], Changes]>([
    ['its versions', { 'spec.versions': [version('v1', true), version('v2', false)] }, [], ESTABLISHED],
    ['its group', { 'spec.group': 'a.b' }, ['spec.group Invalid'], {}],
    ['its plural', { 'spec.names.plural': 'tab' }, ['spec.names.plural Invalid'], {}],
    ['its kind', { 'spec.names.kind': 'Tap' }, [], {}],
    ['its kind when it is there', { 'spec.names.kind': 'Tap' }, ['spec.names.kind Invalid'], ESTABLISHED],
    ['its scope when it is there', { 'spec.scope': 'Cluster' }, ['spec.scope Invalid'], ESTABLISHED],
  ])('changing %s', (_, changes, expected, before) => {
    expect(updateFaultsOf(subject, changes, before)).toEqual(expected);
  });

  it('remembers every version that it was stored in', () => {
    const object = created(subject, { status: { storedVersions: ['v7'] } });
    expect(object['status']).toEqual({ storedVersions: ['v1'] });
    const next = objectWith(subject, {
      'spec.versions': [version('v1', false), version('v2', true)],
      status: { storedVersions: ['v1'] },
    });
    subject.entry.strategy.prepareForUpdate?.(next, object, contextWith());
    expect(next['status']).toEqual({ storedVersions: ['v1', 'v2'] });
  });

  test.each<ErrorRow>([
    ['is right', { 'status.storedVersions': ['v1'] }, []],
    [
      'of a version that is gone',
      { 'status.storedVersions': ['v1', 'v0'] },
      ['status.storedVersions[1] Invalid'],
    ],
    [
      'without the stored version',
      {
        'spec.versions': [version('v1', true)],
        'status.storedVersions': ['v0'],
      },
      ['status.storedVersions[0] Invalid', 'status.storedVersions Invalid'],
    ],
  ])('status %s', (_, changes, expected) => {
    expect(throughPart(subject, 'status', changes).errors).toEqual(expected);
  });

  it('has the errors of its schemas, when there was time for them', async () => {
    const error = { kind: 'FieldValueRequired', field: 'spec.versions[0].schema.type', detail: '' } as const;
    const { strategy } = createCustomResourceDefinition({ schemaErrors: () => Promise.resolve([error]) });
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- never read
    const [object, context] = [{}, {}] as Parameters<NonNullable<typeof strategy.validateInTurns>>;
    expect(await strategy.validateInTurns?.(object, context)).toEqual([error]);
  });
});
