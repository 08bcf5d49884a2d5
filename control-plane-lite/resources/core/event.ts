/** Events: short-lived, with rules of their own for those of the newer API (they have an `eventTime`).
 *  Source: upstream's event validation for v1 and printer, release 1.24. */

import type { Event } from '#api/gen/core-v1.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { qualifiedNameErrors } from '#api/meta/names.ts';
import { createBoundedFieldErrors, type FieldErrors } from '#api/schema/validation/field-errors.ts';
import type { ApiObject, Cell, KindEntry, StrategyContext } from '../contract.ts';
import { formatSince } from '../rows.ts';
import { typed } from '../view.ts';

const MAX_WORD = 128;
const MAX_MESSAGE = 1024;
const DEFAULT_NAMESPACE = 'default';

const MISMATCH = 'does not match event.namespace';

/** A word that events of the newer API must have. */
function validateWord(errors: FieldErrors, text: string, path: string): void {
  if (text === '') errors.required(path);
  else if (text.length > MAX_WORD) errors.invalid(path, '', `can have at most ${MAX_WORD} characters`);
}

function validateNewer(errors: FieldErrors, event: Event, systemNamespace: string): void {
  const { involvedObject, reportingComponent = '', message = '' } = event;
  const namespace = event.metadata.namespace ?? '';
  const about = involvedObject.namespace ?? '';
  if (about === '' && namespace !== DEFAULT_NAMESPACE && namespace !== systemNamespace) {
    errors.invalid('involvedObject.namespace', about, MISMATCH);
  }
  if (reportingComponent === '') errors.required('reportingComponent');
  else errors.invalidAll('reportingComponent', reportingComponent, qualifiedNameErrors(reportingComponent));
  validateWord(errors, event.reportingInstance ?? '', 'reportingInstance');
  validateWord(errors, event.action ?? '', 'action');
  validateWord(errors, event.reason ?? '', 'reason');
  if (message.length > MAX_MESSAGE) {
    errors.invalid('message', '', `can have at most ${MAX_MESSAGE} characters`);
  }
}

function validate(object: ApiObject, { vocabulary }: StrategyContext): readonly FieldError[] {
  const errors = createBoundedFieldErrors();
  const event = typed<Event>(object);
  if (event.eventTime !== undefined) {
    validateNewer(errors, event, vocabulary.systemNamespace);
    return errors.all;
  }
  const namespace = event.metadata.namespace ?? '';
  const about = event.involvedObject.namespace ?? '';
  // Events of objects without a namespace are in the default one.
  const expected = about === '' ? DEFAULT_NAMESPACE : about;
  if (namespace !== '' && namespace !== expected) {
    errors.invalid('involvedObject.namespace', about, MISMATCH);
  }
  return errors.all;
}

function sourceText({ source = {}, reportingComponent = '', reportingInstance = '' }: Event): string {
  const component = (source.component ?? '') === '' ? reportingComponent : source.component;
  const host = (source.host ?? '') === '' ? reportingInstance : source.host;
  return host === '' ? `${component}` : `${component}, ${host}`;
}

function row(event: Event, nowMs: number): readonly Cell[] {
  const { involvedObject, series, firstTimestamp, lastTimestamp, eventTime } = event;
  const first = formatSince(firstTimestamp ?? eventTime, nowMs);
  const last = lastTimestamp === undefined ? first : formatSince(lastTimestamp, nowMs);
  const kind = (involvedObject.kind ?? '').toLowerCase();
  const name = involvedObject.name ?? '';
  return [
    series === undefined ? last : formatSince(series.lastObservedTime, nowMs),
    event.type ?? '',
    event.reason ?? '',
    name === '' ? kind : `${kind}/${name}`,
    involvedObject.fieldPath ?? '',
    sourceText(event),
    (event.message ?? '').trim(),
    first,
    series === undefined ? Math.max(event.count ?? 0, 1) : (series.count ?? 0),
    event.metadata.name ?? '',
  ];
}

const INVOLVED = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'] as const;

const SELECTABLE: Readonly<Record<string, (object: ApiObject) => string>> = {
  ...Object.fromEntries(
    INVOLVED.map((member) => [
      `involvedObject.${member}`,
      (object: ApiObject) => typed<Event>(object).involvedObject[member] ?? '',
    ]),
  ),
  reason: (object) => typed<Event>(object).reason ?? '',
  reportingComponent: (object) => typed<Event>(object).reportingComponent ?? '',
  source: (object) => {
    const { source, reportingComponent = '' } = typed<Event>(object);
    const component = source?.component ?? '';
    return component === '' ? reportingComponent : component;
  },
  type: (object) => typed<Event>(object).type ?? '',
};

/** `ttlSeconds`: lifetime of an event after its last change; upstream's `--event-ttl`. */
export function eventKind(ttlSeconds: number): KindEntry {
  return {
    strategy: {
      createOnUpdate: true,
      ttlSeconds,
      validate,
      selectableFields: SELECTABLE,
      row: (object, { nowMs }) => row(typed<Event>(object), nowMs),
    },
  };
}
