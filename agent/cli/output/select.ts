/** Label and field selectors of commands. Pure. */
import { isObject, textOf } from '#api/kit/object.ts';
import { matchesFields, parseFieldSelector } from '#api/meta/field-selectors.ts';
import { findFirst, parseJsonPath } from '#api/meta/json-path.ts';
import { matchesLabels, parseLabelSelector, SelectorError } from '#api/meta/selectors.ts';
import { UsageError } from '../errors.ts';

const COMMON = ['metadata.name', 'metadata.namespace'] as const;

/** Selectable fields by kind, besides those of every object. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  Pod: [
    'spec.nodeName',
    'spec.restartPolicy',
    'spec.schedulerName',
    'spec.serviceAccountName',
    'spec.hostNetwork',
    'status.phase',
    'status.podIP',
    'status.nominatedNodeName',
  ],
  Event: [
    'involvedObject.kind',
    'involvedObject.namespace',
    'involvedObject.name',
    'involvedObject.uid',
    'involvedObject.apiVersion',
    'involvedObject.resourceVersion',
    'involvedObject.fieldPath',
    'reason',
    'reportingComponent',
    'source',
    'type',
  ],
  Secret: ['type'],
};

export interface SelectorTexts {
  readonly labels: string | undefined;
  readonly fields: string | undefined;
}

/** Returns whether objects of the kind are selected. @throws UsageError for an invalid selector */
export function createSelector(
  kind: string,
  { labels, fields }: SelectorTexts,
): (object: unknown) => boolean {
  const requirements = labels === undefined ? [] : parsed('--selector', () => parseLabelSelector(labels));
  const ofFields = fields === undefined ? [] : parsed('--field-selector', () => parseFieldSelector(fields));
  const known: readonly string[] = [...COMMON, ...(FIELDS[kind] ?? [])];
  for (const { field } of ofFields) {
    if (!known.includes(field)) {
      throw new UsageError(
        `--field-selector: ${JSON.stringify(field)} is not a selectable field of ${kind}; selectable: ${known.join(', ')}`,
      );
    }
  }
  const paths = new Map(ofFields.map(({ field }) => [field, parseJsonPath(pathOf(field))]));
  return (object) =>
    matchesLabels(requirements, labelsOf(object)) &&
    matchesFields(
      ofFields,
      Object.fromEntries([...paths].map(([field, path]) => [field, fieldText(findFirst(path, object))])),
    );
}

/** The source of an event is selected by its component. */
const pathOf = (field: string): string => (field === 'source' ? '.source.component' : `.${field}`);

const fieldText = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? '');

function parsed<T>(option: string, parse: () => T): T {
  try {
    return parse();
  } catch (thrown) {
    if (thrown instanceof SelectorError)
      throw new UsageError(`${option}: ${thrown.message}`, { cause: thrown });
    throw thrown;
  }
}

function labelsOf(object: unknown): Readonly<Record<string, string>> {
  const metadata = isObject(object) ? object['metadata'] : undefined;
  const labels = isObject(metadata) ? metadata['labels'] : undefined;
  if (!isObject(labels)) return {};
  return Object.fromEntries(Object.entries(labels).map(([key, value]) => [key, textOf(value)]));
}
