import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { ApiObject } from '../contract.ts';
import { eventKind } from './event.ts';
import { changed, createFaultsOf, NOW_MS, objectOf } from './strategy.fixture.ts';

const vocabulary = VOCABULARIES.plat;
const KIND = eventKind(3600);
const OLD = {
  metadata: { name: 'web.1', namespace: 'shop' },
  involvedObject: { kind: 'Pod', name: 'web', namespace: 'shop' },
};
const NEW = {
  ...OLD,
  eventTime: '2022-05-03T11:59:00.000000Z',
  reportingComponent: 'example.com/controller',
  reportingInstance: 'c-1',
  action: 'Start',
  reason: 'Started',
};
const eventOf = (base: object, changes: object = {}): ApiObject =>
  objectOf('core/v1.Event', changed(base, changes));

describe('Event', () => {
  test.each<[string, object, object, readonly string[]]>([
    ['is of its namespace', OLD, {}, []],
    [
      'is of no other',
      OLD,
      { metadata: { namespace: 'other' } },
      ['FieldValueInvalid involvedObject.namespace'],
    ],
    [
      'of an object without is in the default one',
      OLD,
      { metadata: { namespace: 'default' }, involvedObject: { namespace: '' } },
      [],
    ],
    [
      'of an object without is nowhere else',
      OLD,
      { involvedObject: { namespace: '' } },
      ['FieldValueInvalid involvedObject.namespace'],
    ],
    ['of the newer kind is complete', NEW, {}, []],
    [
      'of the newer kind may be of the system',
      NEW,
      { metadata: { namespace: vocabulary.systemNamespace }, involvedObject: { namespace: '' } },
      [],
    ],
    [
      'of the newer kind is in a namespace of its object',
      NEW,
      { involvedObject: { namespace: '' } },
      ['FieldValueInvalid involvedObject.namespace'],
    ],
    [
      'of the newer kind has a reporter',
      NEW,
      { reportingComponent: '' },
      ['FieldValueRequired reportingComponent'],
    ],
    [
      'of the newer kind has a proper reporter',
      NEW,
      { reportingComponent: 'a b' },
      ['FieldValueInvalid reportingComponent'],
    ],
    [
      'of the newer kind has an instance',
      NEW,
      { reportingInstance: '' },
      ['FieldValueRequired reportingInstance'],
    ],
    [
      'of the newer kind has a short instance',
      NEW,
      { reportingInstance: 'x'.repeat(129) },
      ['FieldValueInvalid reportingInstance'],
    ],
    ['of the newer kind has an action', NEW, { action: '' }, ['FieldValueRequired action']],
    ['of the newer kind has a reason', NEW, { reason: '' }, ['FieldValueRequired reason']],
    [
      'of the newer kind has a short message',
      NEW,
      { message: 'x'.repeat(1025) },
      ['FieldValueInvalid message'],
    ],
  ])('%s', (_, base, changes, errors) => {
    expect(createFaultsOf(KIND, eventOf(base, changes))).toEqual(errors);
  });

  test('fields that selectors may name', () => {
    const event = eventOf(NEW, {
      involvedObject: { uid: 'u', apiVersion: 'v1', resourceVersion: '5', fieldPath: 'spec.containers{a}' },
      type: 'Warning',
      source: { component: 'scheduler' },
    });
    const fields = Object.entries(KIND.strategy.selectableFields ?? {}).map(([name, read]) => [
      name,
      read(event),
    ]);
    expect(Object.fromEntries(fields)).toEqual({
      'involvedObject.kind': 'Pod',
      'involvedObject.namespace': 'shop',
      'involvedObject.name': 'web',
      'involvedObject.uid': 'u',
      'involvedObject.apiVersion': 'v1',
      'involvedObject.resourceVersion': '5',
      'involvedObject.fieldPath': 'spec.containers{a}',
      reason: 'Started',
      reportingComponent: 'example.com/controller',
      source: 'scheduler',
      type: 'Warning',
    });
    expect(KIND.strategy.selectableFields?.['source']?.(eventOf(NEW))).toBe('example.com/controller');
  });

  const at = (minutes: number): string => new Date(NOW_MS - minutes * 60_000).toISOString();
  test.each<[object, object, readonly (string | number)[]]>([
    [
      OLD,
      {
        type: 'Normal',
        reason: 'Pulled',
        message: ' done\n',
        firstTimestamp: at(9),
        lastTimestamp: at(3),
        count: 4,
        source: { component: 'a', host: 'h' },
      },
      ['3m', 'Normal', 'Pulled', 'pod/web', '', 'a, h', 'done', '9m', 4, 'web.1'],
    ],
    [NEW, {}, ['60s', '', 'Started', 'pod/web', '', 'example.com/controller, c-1', '', '60s', 1, 'web.1']],
    [
      NEW,
      { series: { count: 7, lastObservedTime: at(0) } },
      ['0s', '', 'Started', 'pod/web', '', 'example.com/controller, c-1', '', '60s', 7, 'web.1'],
    ],
    [
      OLD,
      { involvedObject: { kind: 'Node', name: '' } },
      ['<unknown>', '', '', 'node', '', '', '', '<unknown>', 1, 'web.1'],
    ],
  ])('shows %j %j', (base, changes, row) => {
    expect(KIND.strategy.row?.(eventOf(base, changes), { nowMs: NOW_MS, vocabulary })).toEqual(row);
  });
});
