import { describe, expect, it, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { ApiObject } from '../../contract.ts';
import {
  contextWith,
  type ErrorRow,
  errorsOf,
  type KindSubject,
  objectWith,
  rowOf,
  updateFaultsOf,
} from '../kind.fixture.ts';
import { createEventConversion, event } from './event.ts';

const vocabulary = VOCABULARIES.plat;
const subject: KindSubject = {
  typeRef: `events.${vocabulary.apiGroupDomain}/v1.Event`,
  entry: event(vocabulary),
  base: {
    metadata: { name: 'e', namespace: 'default' },
    eventTime: '2026-11-21T11:59:00.000000Z',
    reportingController: 'example.com/agent',
    reportingInstance: 'agent-1',
    action: 'Start',
    reason: 'Started',
    type: 'Normal',
    note: 'all well',
    regarding: { kind: 'Pod', namespace: 'default', name: 'p', fieldPath: 'spec' },
  },
};
const long = 'x'.repeat(129);

describe('an event', () => {
  test.each<ErrorRow>([
    ['is right', {}, []],
    ['without time', { eventTime: undefined }, ['eventTime Required']],
    ['without a controller', { reportingController: '' }, ['reportingController Required']],
    ['of a broken name', { reportingController: '-' }, ['reportingController Invalid']],
    [
      'without words',
      { reportingInstance: '', action: '', reason: '' },
      ['reportingInstance Required', 'action Required', 'reason Required'],
    ],
    [
      'with long words',
      { reportingInstance: long, action: long, reason: long },
      ['reportingInstance Invalid', 'action Invalid', 'reason Invalid'],
    ],
    ['of another type', { type: 'Moon' }, ['type Invalid']],
    ['with a long note', { note: 'x'.repeat(1025) }, ['note Invalid']],
    ['about another namespace', { 'regarding.namespace': 'other' }, ['regarding.namespace Invalid']],
    ['about something without namespace', { 'regarding.namespace': undefined }, []],
    [
      'about that, elsewhere',
      { 'regarding.namespace': undefined, 'metadata.namespace': 'other' },
      ['regarding.namespace Invalid'],
    ],
    [
      'with members of the past',
      {
        deprecatedCount: 1,
        deprecatedFirstTimestamp: '2026-11-21T11:59:00Z',
        deprecatedLastTimestamp: '2026-11-21T11:59:00Z',
        deprecatedSource: { component: 'a' },
      },
      [
        'deprecatedSource Invalid',
        'deprecatedFirstTimestamp Invalid',
        'deprecatedLastTimestamp Invalid',
        'deprecatedCount Invalid',
      ],
    ],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));

  test.each<ErrorRow>([
    ['its series', { series: { count: 2, lastObservedTime: '2026-11-21T11:59:50.000000Z' } }, []],
    [
      'its series to one',
      { series: { count: 1 } },
      ['series.count Invalid', 'series.lastObservedTime Required'],
    ],
    ['its labels', { 'metadata.labels': { a: 'b' } }, []],
    ['its note', { note: 'other' }, []],
    ['its reason', { reason: 'Other' }, ['reason Invalid']],
    ['what it is about', { 'regarding.name': 'q' }, ['regarding Invalid']],
    ['its time and type', { eventTime: undefined, type: 'Warning' }, ['type Invalid', 'eventTime Invalid']],
  ])('changing %s', (_, changes, expected) => expect(updateFaultsOf(subject, changes)).toEqual(expected));

  it('of the core group needs no time when it is changed', () => {
    const older = objectWith(subject, { eventTime: undefined, action: '', deprecatedCount: 3 });
    expect(subject.entry.strategy.validate?.(older, contextWith())).toEqual([]);
  });

  const conversion = createEventConversion(vocabulary, 'v1');
  const inCore = async (changes = {}): Promise<ApiObject> =>
    conversion.toStorage(objectWith(subject, changes));
  const old = {
    deprecatedCount: 2,
    deprecatedFirstTimestamp: '2026-11-21T11:58:00Z',
    deprecatedLastTimestamp: '2026-11-21T11:59:30Z',
    deprecatedSource: { component: 'a', host: 'h' },
  };

  it('has other names in the core group', async () => {
    expect(await inCore(old)).toEqual({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'e', namespace: 'default' },
      eventTime: '2026-11-21T11:59:00.000000Z',
      reportingComponent: 'example.com/agent',
      reportingInstance: 'agent-1',
      action: 'Start',
      reason: 'Started',
      type: 'Normal',
      message: 'all well',
      involvedObject: { kind: 'Pod', namespace: 'default', name: 'p', fieldPath: 'spec' },
      count: 2,
      firstTimestamp: '2026-11-21T11:58:00Z',
      lastTimestamp: '2026-11-21T11:59:30Z',
      source: { component: 'a', host: 'h' },
    });
    expect(await conversion.fromStorage(await inCore(old))).toEqual(objectWith(subject, old));
    expect(await inCore({ regarding: undefined })).toMatchObject({ involvedObject: {} });
  });

  it('is named for the API group in the words of the server', async () => {
    const upstream = createEventConversion(VOCABULARIES.kubernetes, 'v1');
    const { apiGroupDomain } = VOCABULARIES.kubernetes;
    expect(await upstream.fromStorage(await inCore())).toMatchObject({
      apiVersion: `events.${apiGroupDomain}/v1`,
    });
  });

  it('can be selected by the same fields in both forms', async () => {
    const fields = subject.entry.strategy.selectableFields ?? {};
    expect(Object.keys(fields)).toHaveLength(10);
    for (const object of [objectWith(subject), await inCore()]) {
      expect(fields['regarding.name']?.(object)).toBe('p');
      expect(fields['regarding.uid']?.(object)).toBe('');
      expect(fields['reportingController']?.(object)).toBe('example.com/agent');
      expect(fields['reason']?.(object)).toBe('Started');
      expect(fields['type']?.(object)).toBe('Normal');
    }
  });

  it('has the same row in both forms', async () => {
    const row = rowOf(subject);
    expect(row).toEqual([
      '60s',
      'Normal',
      'Started',
      'pod/p',
      'spec',
      'example.com/agent, agent-1',
      'all well',
      '60s',
      '1',
      'e',
    ]);
    const context = { nowMs: Date.parse('2026-11-21T12:00:00Z'), vocabulary };
    expect(subject.entry.strategy.row?.(await inCore(), context)).toEqual(row);
    expect(rowOf(subject, old).slice(5)).toEqual(['a, h', 'all well', '2m', '2', 'e']);
    const series = { count: 7, lastObservedTime: '2026-11-21T11:59:50.000000Z' };
    const cells = rowOf(subject, { series });
    expect([cells[0], ...cells.slice(7)]).toEqual(['10s', '60s', '7', 'e']);
  });
});
