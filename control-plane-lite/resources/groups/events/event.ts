/** Events of the newer API. They are stored as core events, whose fields have other names. Version 1beta1 has
 *  the fields of version 1 and the validation of the core group. Source: events/v1, events/v1beta1. */

import { isDeepStrictEqual } from 'node:util';
import type { Event as CoreEvent } from '#api/gen/core-v1.ts';
import type { Event } from '#api/gen/events-v1.ts';
import { qualifiedNameErrors } from '#api/meta/names.ts';
import { isEmptyValue } from '#api/schema/decode-plan.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiObject, Cell, Conversion, KindEntry, StrategyContext } from '../../contract.ts';
import { formatSince } from '../../rows.ts';
import { kindStrategy, type RowContext, validateImmutable } from '../kind.ts';

const LONGEST_WORD = 128;
const LONGEST_NOTE = 1024;
const TYPES = ['Normal', 'Warning'];
const DEPRECATED = [
  'deprecatedSource',
  'deprecatedFirstTimestamp',
  'deprecatedLastTimestamp',
  'deprecatedCount',
] as const;

/** Members of both, by their names here and in the core group. */
const NAMES: readonly (readonly [here: string, core: string])[] = [
  ['note', 'message'],
  ['regarding', 'involvedObject'],
  ['reportingController', 'reportingComponent'],
  ['deprecatedSource', 'source'],
  ['deprecatedFirstTimestamp', 'firstTimestamp'],
  ['deprecatedLastTimestamp', 'lastTimestamp'],
  ['deprecatedCount', 'count'],
];
const TO_CORE: ReadonlyMap<string, string> = new Map(NAMES);
const FROM_CORE: ReadonlyMap<string, string> = new Map(NAMES.map(([here, core]) => [core, here]));

function renamed(draft: ApiObject, names: ReadonlyMap<string, string>, apiVersion: string): ApiObject {
  const made: ApiObject = { apiVersion, kind: draft.kind, metadata: draft.metadata };
  for (const [member, value] of Object.entries(draft)) {
    if (member !== 'apiVersion') made[names.get(member) ?? member] = value;
  }
  return made;
}

/** Between events of this group and those of the core group, which are stored. */
export function createEventConversion({ apiGroupDomain }: Vocabulary, version: 'v1' | 'v1beta1'): Conversion {
  return {
    toStorage: (draft) => renamed({ regarding: {}, ...draft }, TO_CORE, 'v1'),
    fromStorage: (draft) => renamed(draft, FROM_CORE, `events.${apiGroupDomain}/${version}`),
  };
}

function validateWord(errors: FieldErrors, text: string | undefined, path: string): void {
  if (text === undefined || text === '') errors.required(path);
  else if (text.length > LONGEST_WORD)
    errors.invalid(path, '', `can have at most ${LONGEST_WORD} characters`);
}

/** Events of the newer API have a time; others came by the core group, and only where they are is checked. */
const isNewer = ({ eventTime }: Event): boolean => eventTime !== undefined && eventTime !== '';

/** Of the newer form, whatever the event's form is. */
function validateTexts(errors: FieldErrors, event: Event): void {
  const { reportingController = '', note = '' } = event;
  if (reportingController === '') errors.required('reportingController');
  else
    errors.invalidAll('reportingController', reportingController, qualifiedNameErrors(reportingController));
  validateWord(errors, event.reportingInstance, 'reportingInstance');
  validateWord(errors, event.action, 'action');
  validateWord(errors, event.reason, 'reason');
  if (note.length > LONGEST_NOTE) errors.invalid('note', '', `can have at most ${LONGEST_NOTE} characters`);
}

function validateEvent(errors: FieldErrors, event: Event, systemNamespace: string): void {
  const namespace = event.metadata?.namespace ?? '';
  const about = event.regarding?.namespace ?? '';
  const ofSystem = isNewer(event) && namespace === systemNamespace;
  if (about === '' ? namespace !== 'default' && !ofSystem : about !== namespace) {
    errors.invalid('regarding.namespace', about, 'does not match event.namespace');
  }
  if (isNewer(event)) validateTexts(errors, event);
}

/** A series begins with the second event. */
function validateSeries(errors: FieldErrors, { series }: Event): void {
  if (series === undefined) return;
  if ((series.count ?? 0) < 2) errors.invalid('series.count', '', 'should be at least 2');
  if ((series.lastObservedTime ?? '') === '') errors.required('series.lastObservedTime');
}

/** Validates a new object: the newer form, without fields of the older one. */
function validateNew(errors: FieldErrors, event: Event): void {
  validateSeries(errors, event);
  // The decoder sets missing fields to their empty form.
  if (!isNewer(event)) {
    errors.required('eventTime');
    validateTexts(errors, event);
  }
  const { type = '' } = event;
  if (!TYPES.includes(type)) errors.invalid('type', type, 'has invalid value');
  for (const member of DEPRECATED) {
    const value = event[member];
    // Typed clients write the structure itself whatever is in it.
    if (value === undefined || isEmptyValue(value)) continue;
    if (typeof value !== 'object' || !Object.values(value).every(isEmptyValue))
      errors.invalid(member, value, 'needs to be unset');
  }
}

/** The series of an event goes on. Its text may be put right: upstream takes any change up to release 1.23, which the
 *  conformance test of 1.20 relies on, and refuses one of the text since 1.24; the milder rule harms no client. What
 *  comes by the core group or by version 1beta1 may change all. */
const UNCHANGING = [
  'regarding',
  'reason',
  'type',
  'eventTime',
  'action',
  'related',
  'reportingController',
  'reportingInstance',
  'deprecatedSource',
  'deprecatedFirstTimestamp',
  'deprecatedLastTimestamp',
  'deprecatedCount',
] as const;

function validateChange(errors: FieldErrors, event: Event, old: Event): void {
  if (!isDeepStrictEqual(event.series, old.series)) validateSeries(errors, event);
  for (const member of UNCHANGING) validateImmutable(errors, event[member], old[member], member);
}

const INVOLVED = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'] as const;

/** Event of either group: objects are stored in the core group and converted for watchers of this group. */
type EitherEvent = Partial<Event> & Partial<Omit<CoreEvent, keyof Event>>;

const SELECTABLE: Readonly<Record<string, (event: EitherEvent) => string>> = {
  ...Object.fromEntries(
    INVOLVED.map((member) => [
      `regarding.${member}`,
      ({ regarding, involvedObject }: EitherEvent) => (regarding ?? involvedObject)?.[member] ?? '',
    ]),
  ),
  reason: ({ reason = '' }) => reason,
  reportingController: ({ reportingController, reportingComponent = '' }) =>
    reportingController ?? reportingComponent,
  type: ({ type = '' }) => type,
};

function eventRow(event: EitherEvent, { nowMs }: RowContext): readonly Cell[] {
  const about = event.regarding ?? event.involvedObject;
  const source = event.deprecatedSource ?? event.source;
  const firstTimestamp = event.deprecatedFirstTimestamp ?? event.firstTimestamp ?? event.eventTime;
  const lastTimestamp = event.deprecatedLastTimestamp ?? event.lastTimestamp;
  const first = formatSince(firstTimestamp, nowMs);
  const last = lastTimestamp === undefined ? first : formatSince(lastTimestamp, nowMs);
  const component = source?.component ?? event.reportingController ?? event.reportingComponent ?? '';
  const host = source?.host ?? event.reportingInstance ?? '';
  const kind = (about?.kind ?? '').toLowerCase();
  return [
    event.series === undefined ? last : formatSince(event.series.lastObservedTime, nowMs),
    event.type ?? '',
    event.reason ?? '',
    (about?.name ?? '') === '' ? kind : `${kind}/${about?.name}`,
    about?.fieldPath ?? '',
    host === '' ? component : `${component}, ${host}`,
    (event.note ?? event.message ?? '').trim(),
    first,
    String(event.series?.count ?? Math.max(event.deprecatedCount ?? event.count ?? 0, 1)),
    event.metadata?.name ?? '',
  ];
}

const READ = kindStrategy<EitherEvent>({ selectableFields: SELECTABLE, row: eventRow });

const validate = (errors: FieldErrors, object: Event, { vocabulary }: StrategyContext): void =>
  validateEvent(errors, object, vocabulary.systemNamespace);

export const event = (vocabulary: Vocabulary): KindEntry => ({
  strategy: {
    ...kindStrategy<Event>({
      createOnUpdate: true,
      validate,
      validateCreate: validateNew,
      validateUpdate: validateChange,
    }),
    ...READ,
  },
  storedAs: { group: '', version: 'v1', conversion: createEventConversion(vocabulary, 'v1') },
  decidesInServed: true,
});

export const eventV1beta1 = (vocabulary: Vocabulary): KindEntry => ({
  strategy: { ...kindStrategy<Event>({ createOnUpdate: true, validate }), ...READ },
  storedAs: { group: '', version: 'v1', conversion: createEventConversion(vocabulary, 'v1beta1') },
  decidesInServed: true,
});
